// Facts are kept by the name of the member, whether an object declares that member or not;
// WithFacts (ledger.h) joins facts and declaration. A member is in one of three states: it answers
// (not in `lost_`), it is silent (in `lost_`), or it is lost (silent for longer than lost_after_ms,
// rule D16).
#include "schedd/engine/live/known_members.h"

#include <algorithm>

namespace muster {

void KnownMembers::SetFacts(ClusterFacts facts) {
  const std::string cluster = facts.cluster;
  facts_[cluster] = std::move(facts);
}

// Two names lead to one cluster if both report the same incarnation (rule D1). The name that
// reported first keeps the cluster; `told`, the facts of the second name, become unhealthy, so that
// no job is placed there (rule P5).
void KnownMembers::RefuseSecondName(ClusterFacts* told) {
  second_names_.erase(told->cluster);
  if (told->incarnation.empty()) return;
  for (const auto& [name, other] : facts_) {
    if (name == told->cluster || other.incarnation != told->incarnation ||
        second_names_.contains(name)) {
      continue;
    }
    second_names_.insert(told->cluster);
    told->healthy = told->answers = false;
    told->message = "it is member cluster " + name + " under another name";
    return;
  }
}

const LostMember* KnownMembers::FindLost(const std::string& cluster) const {
  const auto found = lost_.find(cluster);
  return found == lost_.end() ? nullptr : &found->second;
}

// Silence within lost_after_ms is not loss.
bool KnownMembers::IsLost(const std::string& cluster) const {
  const LostMember* lost = FindLost(cluster);
  return lost != nullptr && clock_.Now() >= lost->lost_from;
}

// A recovery reads from rows since when a member is silent; the earlier of two times is right.
void KnownMembers::SetLost(const std::string& cluster, const LostMember& member) {
  const auto [known, fresh] = lost_.try_emplace(cluster, member);
  if (fresh) return;
  known->second.since = std::min(known->second.since, member.since);
  known->second.since_mono = std::min(known->second.since_mono, member.since_mono);
}

void KnownMembers::Declare(const std::string& cluster) {
  declared_.insert(cluster);
  removed_.erase(cluster);
}

// A name that left the configuration unseen would keep its cluster from every other name. A member
// that was not removed after all is heard again; it need not report what it has reported before.
void KnownMembers::Follow(const std::set<std::string>& declared) {
  for (const std::string& cluster : std::set<std::string>(declared_)) {
    if (!declared.contains(cluster)) Remove(cluster);
  }
  for (const std::string& cluster : declared) {
    const auto back = removed_.find(cluster);
    if (back != removed_.end() && !back->second.cluster.empty())
      facts_[cluster] = std::move(back->second);
    Declare(cluster);
  }
}

// Forgets the incarnation too: the same cluster may be added again under another name.
void KnownMembers::Remove(const std::string& cluster) {
  declared_.erase(cluster);
  removed_[cluster] = std::move(facts_[cluster]);
  facts_.erase(cluster);
  lost_.erase(cluster);
  second_names_.erase(cluster);
}

}  // namespace muster
