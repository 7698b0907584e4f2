// Orphans: objects on members that no attempt accounts for (rules D14, D18): what an attempt left
// behind is removed after a while, and so is a copy once the attempt is over; what is ahead of the
// database stops the removal of anything on that member; copies of what goes on and what Muster did
// not make are never touched. On the engine thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "schedd/engine/jobs/job_commands.h"

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

  /// What is left alone on members, as the store has it.
  void Reset(std::vector<SetAsideObject> set_aside);
  const SetAsideObjects& set_aside() const { return set_aside_; }

  /// An object that is not the one of its row. Its maker is known by its marks, not by its labels:
  /// anybody on the member may copy those. `row`: of the attempt that it names, which has another
  /// object; null if there is none. A daemon that no longer leads may have made it after the
  /// attempt's end, and nobody else would ever let go of an object with our finalizer: so it goes
  /// with the attempt.
  void Note(const Observation& seen, const DispatchRow* row);
  /// It was taken for somebody else's as long as its uid was not on record.
  void NoteOwn(const Observation& seen);
  /// The member's own store was set back, and an attempt whose end is on record runs again.
  void FenceResurrected(const DispatchRow& row, const Observation& seen);
  /// What a complete list does not have any more is forgotten; what was ahead stays until an
  /// administrator has looked at it. `uids`: of all objects in the list.
  void ForgetAbsent(const std::string& cluster, const std::set<std::string>& uids);
  /// An administrator has looked at what was quarantined on a member: collection goes on.
  void Handle(CollectCommand command);

  /// Asks for the lists in which strays are looked at again; false if it is not time.
  bool FireLists();
  std::optional<Monotonic> NextList() const;

 private:
  bool IsOfKnownAttempt(const Observation& seen);
  bool StrayLongEnough(const Observation& seen);
  bool IsElsewhere(const Observation& seen) const;
  bool IsQuarantined(const std::string& cluster) const;
  void PutAside(const Observation& seen, SetAsideReason reason);
  void Write(const SetAsideObject& object, bool remove);
  void HoldAhead(const JobPtr& job, const Observation& seen);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  Attempts& attempts_;
  JobCommands& commands_;
  SetAsideObjects set_aside_;
  /// When an object that no attempt accounts for was listed first, by (cluster, uid).
  std::map<std::pair<std::string, std::string>, Monotonic> strays_;
  std::map<std::string, Monotonic> stray_lists_;  // when they are to be looked at again, by member
};

}  // namespace muster
