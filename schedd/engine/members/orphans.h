// Orphans: objects on members that no attempt accounts for (rules D13, D14, D18). Leftovers of
// attempts that are over are removed after a grace; objects ahead of the database stop every
// removal on their member; copies of running attempts, and objects that Muster did not make, are
// never touched. On the engine thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedd/engine/jobs/job_commands.h"
#include "schedd/model/restore_mark.h"

namespace muster {

class Orphans {
 public:
  /// All must outlive it.
  Orphans(EngineContext& context, CommitPipeline& commits, const LiveConfig& config, LiveJobs& jobs,
          DispatchRows& rows, Attempts& attempts, JobCommands& commands)
      : context_(context),
        commits_(commits),
        config_(config),
        jobs_(jobs),
        rows_(rows),
        attempts_(attempts),
        commands_(commands) {}

  /// For a recovery: takes the set-aside objects as the store has them, and the numbers of lost
  /// histories.
  void Reset(std::vector<SetAsideObject> set_aside, std::vector<LostNumbers> lost_numbers);
  const SetAsideObjects& set_aside() const { return set_aside_; }

  /// A list has an object that is not the object of its row. `row`: the row of the attempt that its
  /// labels name; null if there is none. Who made it is known by its marks, not by its labels,
  /// which anybody on the member can copy. Note either sets it aside or removes it: a daemon that
  /// no longer leads may have made it after the attempt's end, and an object with our finalizer can
  /// be let go by nobody else.
  void Note(const Observation& seen, const DispatchRow* row);
  /// The object is its row's own; it may have been set aside while its uid was not on record.
  void NoteOwn(const Observation& seen);
  /// A Terminal row's object is in a list and may run again: it is removed after a grace.
  void FenceResurrected(const DispatchRow& row, const Observation& seen);
  /// Forgets objects that a complete list of the member does not have any more; objects ahead of
  /// the database stay on record. `uids`: of all objects in the list.
  void ForgetAbsent(const std::string& cluster, const std::set<std::string>& uids);
  /// An administrator has looked at the quarantined objects of a member: the collection goes on.
  void Handle(CollectCommand command);

  /// Orders the lists in which strays are looked at again, if it is time; false if it is not.
  bool FireLists();
  /// When FireLists has something to do; nullopt: no stray is known.
  std::optional<Monotonic> NextList() const;

 private:
  bool IsGivenOut(std::int64_t sequence) const;
  JobPtr JobOf(const Observation& seen);
  bool IsOfKnownAttempt(const Observation& seen);
  bool StrayLongEnough(const Observation& seen);
  bool IsElsewhere(const Observation& seen) const;
  bool IsQuarantined(const std::string& cluster) const;
  void PutAside(const Observation& seen, SetAsideReason reason);
  void Write(const SetAsideObject& object, bool remove);
  void PutAhead(const Observation& seen, const JobPtr& job);
  void HoldAhead(const JobPtr& job, const Observation& seen);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  Attempts& attempts_;
  JobCommands& commands_;
  SetAsideObjects set_aside_;
  std::vector<LostNumbers> lost_numbers_;
  /// When each stray was listed first, by (member, uid).
  std::map<std::pair<std::string, std::string>, Monotonic> strays_;
  /// When each member with strays is listed again.
  std::map<std::string, Monotonic> stray_lists_;
};

}  // namespace muster
