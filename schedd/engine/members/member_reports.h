// MemberReports: reports of members about attempts: observations, answers to orders, complete
// lists. They wait, in order, until the open transaction has room for them. After a recovery
// nothing is decided before the Kubernetes members have listed their objects: a database that lost
// writes would otherwise start jobs elsewhere that run there (rule D18). On the engine thread only.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "schedd/engine/jobs/stand_in_queue.h"
#include "schedd/engine/live/held_ends.h"
#include "schedd/engine/members/orphans.h"

namespace muster {

class MemberReports {
 public:
  /// All must outlive it.
  MemberReports(EngineContext& context, CommitPipeline& commits, const KnownMembers& members,
                LiveJobs& jobs, DispatchRows& rows, Attempts& attempts, StandInQueue& stand_ins,
                Orphans& orphans, HeldEnds& held_ends)
      : context_(context),
        commits_(commits),
        members_(members),
        jobs_(jobs),
        rows_(rows),
        attempts_(attempts),
        stand_ins_(stand_ins),
        orphans_(orphans),
        held_ends_(held_ends) {}

  /// For a recovery: drops all reports. `unlisted`: the members whose lists decisions wait for.
  void Reset(std::set<std::string> unlisted);
  /// Queues a report (IsReport is true) for TakeSome.
  void Add(Command report) { reports_.push_back(std::move(report)); }
  /// Takes as many reports as the open transaction has room for; false if it took none.
  bool TakeSome();
  /// True while decisions have to wait for the list of a member.
  bool AwaitsLists();
  bool HasUnlisted() const { return !unlisted_.empty(); }
  /// When the waiting for lists ends in any case.
  Monotonic lists_due() const { return lists_due_; }

 private:
  bool TakeSteps(Command* report);
  void Handle(const ObservedCommand& command);
  void Handle(const EnsuredCommand& command);
  void Handle(const RemovedCommand& command);
  void Handle(const ConfirmedCommand& command);
  void Handle(const ListedCommand& command);
  void TakeListed(const Observation& seen, const std::set<DispatchKey>& unsure,
                  std::set<DispatchKey>* accounted);

  EngineContext& context_;
  CommitPipeline& commits_;
  const KnownMembers& members_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  Attempts& attempts_;
  StandInQueue& stand_ins_;
  Orphans& orphans_;
  HeldEnds& held_ends_;
  std::deque<Command> reports_;
  /// Kubernetes members that have not sent a list since the recovery.
  std::set<std::string> unlisted_;
  Monotonic lists_due_{};
};

}  // namespace muster
