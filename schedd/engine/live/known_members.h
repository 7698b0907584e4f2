// KnownMembers: what the member clusters have said of themselves, which of them do not answer, and
// which are no members any more. Facts survive a recovery, because a member says them once. On the
// engine thread only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/model/job.h"

namespace muster {

/// A member cluster that does not answer.
struct LostMember {
  WallTime since;        // as people are told
  Monotonic since_mono;  // as it is counted
  Monotonic lost_from;   // until then it may answer, and nothing is done
};

class KnownMembers {
 public:
  /// `clock` must outlive it.
  explicit KnownMembers(const Clock& clock) : clock_(clock) {}

  const std::map<std::string, ClusterFacts>& facts() const { return facts_; }
  /// Empty facts if it has said none.
  const ClusterFacts& FactsOf(const std::string& cluster) { return facts_[cluster]; }
  /// Takes the place of what the member said before. A member that is another one's cluster under a
  /// second name would have it counted and listed twice: the name that came first keeps it, and the
  /// facts of the second one become unhealthy with a message that says so.
  void SetFacts(ClusterFacts facts);
  void RefuseSecondName(ClusterFacts* told);

  const std::map<std::string, LostMember>& lost() const { return lost_; }
  /// Null if it answers.
  const LostMember* FindLost(const std::string& cluster) const;
  bool Answers(const std::string& cluster) const { return !lost_.contains(cluster); }
  /// True if the member has been away for longer than it may be.
  bool IsLost(const std::string& cluster) const;
  bool IsOnLostMember(const JobRecord& job) const { return IsLost(job.cluster); }
  /// Notes since when a member does not answer. One that is noted already keeps the earlier times.
  void SetLost(const std::string& cluster, const LostMember& member);
  /// True if it was away.
  bool SetFound(const std::string& cluster) { return lost_.erase(cluster) > 0; }

  /// A member was removed from the configuration: nothing that is still told of it counts, and the
  /// same cluster may come again under any name.
  void Remove(const std::string& cluster);
  void Declare(const std::string& cluster) { removed_.erase(cluster); }
  bool IsRemoved(const std::string& cluster) const { return removed_.contains(cluster); }

 private:
  const Clock& clock_;
  std::map<std::string, ClusterFacts> facts_;
  std::map<std::string, LostMember> lost_;
  std::set<std::string> removed_;
  // Of members whose cluster is a member under another name already.
  std::set<std::string> second_names_;
};

}  // namespace muster
