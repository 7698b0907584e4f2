// KnownMembers: the facts that member clusters have reported, which members do not answer, and
// which were removed from the configuration. A recovery keeps them, because a member reports facts
// only when they change. On the engine thread only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/model/job.h"

namespace muster {

/// A member cluster that does not answer. `since` is shown to users; `since_mono` is what timeouts
/// count from; before `lost_from` nothing is done, because the member may answer again.
struct LostMember {
  WallTime since;
  Monotonic since_mono;
  Monotonic lost_from;
};

class KnownMembers {
 public:
  /// `clock` must outlive it.
  explicit KnownMembers(const Clock& clock) : clock_(clock) {}

  const std::map<std::string, ClusterFacts>& facts() const { return facts_; }
  /// The facts of a member; empty facts if it has reported none.
  const ClusterFacts& FactsOf(const std::string& cluster) { return facts_[cluster]; }
  /// Replaces the facts that the member reported before.
  void SetFacts(ClusterFacts facts);
  /// Marks `told` as unhealthy, with a message, if another member already has the same cluster
  /// under its name: one cluster with two names would be counted and listed twice (rule P5). To be
  /// called before SetFacts.
  void RefuseSecondName(ClusterFacts* told);

  const std::map<std::string, LostMember>& lost() const { return lost_; }
  /// Null if the member answers.
  const LostMember* FindLost(const std::string& cluster) const;
  bool Answers(const std::string& cluster) const { return !lost_.contains(cluster); }
  /// True if the member has been silent for longer than EngineOptions::lost_after_ms.
  bool IsLost(const std::string& cluster) const;
  bool IsOnLostMember(const JobRecord& job) const { return IsLost(job.cluster); }
  /// Notes since when a member does not answer. If that is noted already, the earlier times count.
  void SetLost(const std::string& cluster, const LostMember& member);
  /// The member answers; true if it did not before.
  bool SetFound(const std::string& cluster) { return lost_.erase(cluster) > 0; }

  /// The member was removed from the configuration: later reports about it are ignored, and its
  /// cluster may come back under any name.
  void Remove(const std::string& cluster);
  /// The configuration has a member of this name.
  void Declare(const std::string& cluster);
  /// A recovery has read which members the configuration has. What Declare and Remove were told may
  /// not have been committed, and another daemon may have led in between.
  void Follow(const std::set<std::string>& declared);
  bool IsRemoved(const std::string& cluster) const { return removed_.contains(cluster); }

 private:
  const Clock& clock_;
  std::map<std::string, ClusterFacts> facts_;
  std::map<std::string, LostMember> lost_;
  // The names of the configuration, as far as it is known.
  std::set<std::string> declared_;
  // With what was last known of them: a removal that is not committed must lose nothing.
  std::map<std::string, ClusterFacts> removed_;
  // Members whose cluster is a member under another name already.
  std::set<std::string> second_names_;
};

}  // namespace muster
