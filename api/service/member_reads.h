// MemberReads: keeps reads of a member cluster that does not answer from holding all the threads
// that read from members, so that the pods and logs of the other members can be read meanwhile.
#pragma once

#include <map>
#include <set>
#include <string>

#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::api {

/// Of each member it knows the reads under way. A member is stalled while one of them has waited
/// for limits::kMemberStallMs. When such a read ends without an answer, the member is silent until
/// a read is answered: then one read at a time is let through, each after a rest of
/// limits::kMemberRestMs. Reads that end sooner, as those of a member that is known to be away,
/// change nothing. Thread-safe.
class MemberReads {
 public:
  /// What `ask`, one read of the member, says: a Result. Refused at once if the member is known not
  /// to answer. Without a clock every read is begun.
  template <class Read>
  auto Ask(const Clock* clock, const std::string& cluster, const Read& ask) -> decltype(ask()) {
    if (clock == nullptr) return ask();
    const Monotonic begun = clock->Now();
    if (const Status may = Enter(cluster, begun); !may.ok()) return may.error();
    auto answer = ask();
    const bool answered = answer.ok() || answer.error().code != Code::kUnavailable;
    Leave(cluster, begun, answered, clock->Now());
    return answer;
  }
  /// Begins a read of the member; each Enter that succeeds needs one Leave with the same `now`.
  /// kUnavailable if the member is stalled or silent.
  Status Enter(const std::string& cluster, Monotonic now);
  /// Ends the read that began at `begun`. `answered`: the member said something, be it a refusal.
  void Leave(const std::string& cluster, Monotonic begun, bool answered,
             Monotonic now);

 private:
  struct Member {
    std::multiset<Monotonic> under_way;  // when they began
    bool silent = false;
    Monotonic rests_until;
  };

  Mutex mutex_;
  // Without the members of which there is nothing to know.
  std::map<std::string, Member> members_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::api
