// Objects of ended attempts that their members still hold with Muster's finalizer (rule D12). A
// result is recorded first and acknowledged then; until the member has taken the finalizer away the
// object exists. If the member were removed from the configuration just then, nobody would ever
// take it away, and the object (and its namespace) could not be deleted by anybody.
//
// Acknowledgements are not stored, so after a recovery nothing is known. Therefore CheckRemoval
// distinguishes members that have sent a complete list since (`listed_`): on these an ended attempt
// is held only if an observation said so. On others every ended attempt may be held. Rows in other
// states that are not live (Lost, Cleaning) may have an object in any case. `abandoned_` lifts all
// this for a removal by force.
#include "schedd/engine/live/held_ends.h"

#include "schedd/dispatch/step/step.h"
#include "schedd/model/member_labels.h"

namespace muster {

// Only a Terminal row can have a held end: before, the object belongs to a live attempt; after, it
// is being removed.
void HeldEnds::See(const Observation& seen, const Rows& rows) {
  const auto row = rows.find(seen.key);
  // A copy that somebody made under the labels of the attempt says nothing about the attempt's own
  // object (rule D13).
  if (row != rows.end() && !dispatch::IsOurs(row->second, seen)) return;
  const bool holds = row != rows.end() && row->second.state == DispatchState::kTerminal &&
                     seen.held && seen.phase != RemotePhase::kMissing;
  if (holds) {
    held_.insert(seen.key);
  } else {
    held_.erase(seen.key);
  }
}

// `there`: the attempts whose objects are in the list, or may be. Others of this member are held no
// longer. A member that lists again is not abandoned any more.
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

// Forgets what this member holds, but for the attempts in `but`.
void HeldEnds::EraseOf(const std::string& cluster, const std::set<DispatchKey>& but) {
  std::erase_if(
      held_, [&](const DispatchKey& key) { return key.cluster == cluster && !but.contains(key); });
}

// The sentence names one job and says what to do: wait, or remove the member by force.
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
