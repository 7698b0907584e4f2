#include "schedd/engine/live/known_members.h"

#include <algorithm>

namespace muster {

void KnownMembers::SetFacts(ClusterFacts facts) {
  const std::string cluster = facts.cluster;
  facts_[cluster] = std::move(facts);
}

void KnownMembers::RefuseSecondName(ClusterFacts* told) {
  second_names_.erase(told->cluster);
  if (told->incarnation.empty()) return;
  for (const auto& [name, other] : facts_) {
    if (name == told->cluster || other.incarnation != told->incarnation ||
        second_names_.contains(name)) {
      continue;
    }
    second_names_.insert(told->cluster);
    told->healthy = false;
    told->message = "it is member cluster " + name + " under another name";
    return;
  }
}

const LostMember* KnownMembers::FindLost(const std::string& cluster) const {
  const auto found = lost_.find(cluster);
  return found == lost_.end() ? nullptr : &found->second;
}

bool KnownMembers::IsLost(const std::string& cluster) const {
  const LostMember* lost = FindLost(cluster);
  return lost != nullptr && clock_.Now() >= lost->lost_from;
}

void KnownMembers::SetLost(const std::string& cluster, const LostMember& member) {
  const auto [known, fresh] = lost_.try_emplace(cluster, member);
  if (fresh) return;
  known->second.since = std::min(known->second.since, member.since);
  known->second.since_mono = std::min(known->second.since_mono, member.since_mono);
}

void KnownMembers::Remove(const std::string& cluster) {
  removed_.insert(cluster);
  facts_.erase(cluster);
  lost_.erase(cluster);
  second_names_.erase(cluster);
}

}  // namespace muster
