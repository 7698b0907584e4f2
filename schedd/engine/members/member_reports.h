// MemberReports: what members say of attempts. Reports wait, in order, until a commit has room for
// them. After a recovery nothing is decided before the Kubernetes members have said what they have:
// a database that lost writes would start again elsewhere what runs there. On the engine thread
// only.
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

  /// Nothing was reported, and these members are to list what they have.
  void Reset(std::set<std::string> unlisted);
  /// A report for which IsReport is true; it is taken by a later TakeSome.
  void Add(Command report) { reports_.push_back(std::move(report)); }
  /// As many as the open transaction has room for; false if there was none.
  bool TakeSome();
  /// True while lists are waited for. A member that is away is not waited for.
  bool AwaitsLists();
  bool HasUnlisted() const { return !unlisted_.empty(); }
  Monotonic lists_due() const { return lists_due_; }

 private:
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
  /// Kubernetes members that were not listed since the recovery, and until when that is waited for.
  std::set<std::string> unlisted_;
  Monotonic lists_due_{};
};

}  // namespace muster
