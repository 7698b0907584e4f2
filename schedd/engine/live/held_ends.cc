#include "schedd/engine/live/held_ends.h"

#include "schedd/dispatch/step/step.h"
#include "schedd/model/member_labels.h"

namespace muster {

void HeldEnds::See(const Observation& seen, const Rows& rows) {
  const auto row = rows.find(seen.key);
  // A copy under our labels says nothing of our own object.
  if (row != rows.end() && !dispatch::IsOurs(row->second, seen)) return;
  const bool holds = row != rows.end() && row->second.state == DispatchState::kTerminal &&
                     seen.held && seen.phase != RemotePhase::kMissing;
  if (holds) {
    held_.insert(seen.key);
  } else {
    held_.erase(seen.key);
  }
}

void HeldEnds::TakeList(const std::string& cluster, const std::set<DispatchKey>& there) {
  EraseOf(cluster, there);
  listed_.insert(cluster);
  abandoned_.erase(cluster);
}

void HeldEnds::ForgetMember(const std::string& cluster) {
  EraseOf(cluster, {});
  listed_.erase(cluster);
  abandoned_.erase(cluster);
}

void HeldEnds::EraseOf(const std::string& cluster, const std::set<DispatchKey>& but) {
  std::erase_if(
      held_, [&](const DispatchKey& key) { return key.cluster == cluster && !but.contains(key); });
}

Status HeldEnds::CheckRemoval(const std::string& cluster, const Rows& rows, bool answers) const {
  if (abandoned_.contains(cluster)) return Done{};
  const bool told = listed_.contains(cluster);
  std::size_t count = 0;
  JobId first;
  for (const auto& [key, row] : rows) {
    if (key.cluster != cluster || IsLive(row.state)) continue;
    const bool over = row.state == DispatchState::kTerminal && told && !held_.contains(key);
    if (!over && count++ == 0) first = row.job;
  }
  if (count == 0) return Done{};
  std::string sentence = "member cluster " + cluster + (told ? " holds " : " may hold ") +
                         "objects of " + std::to_string(count) +
                         (count == 1 ? " ended attempt" : " ended attempts") + ", such as of job " +
                         std::to_string(first.value) + ", until Muster lets them go: ";
  sentence += answers ? "try again in a moment" : "it does not answer";
  sentence +=
      "; muster cluster remove --force removes it all the same, and they keep the finalizer ";
  sentence += kRecordFinalizer;
  return Error{Code::kFailedPrecondition, std::move(sentence)};
}

}  // namespace muster
