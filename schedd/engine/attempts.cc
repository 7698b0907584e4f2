// What becomes of a job's current attempt: admitted, stopped, ended, run again, removed from its
// member.
#include "schedd/engine/impl.h"
#include "schedd/engine/remote_objects.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {

void Engine::Impl::Admit(const core::Admit& admit) {
  if (admit.replaced != nullptr) return stand_ins->AdmitSlice(admit);
  const auto found = live.jobs.find(OwnerOf(admit.job->id));
  MUSTER_CHECK(found != live.jobs.end());
  const JobPtr before = found->second;
  const ClusterQueue& queue = live.config->cluster_queues.at(admit.admission->cluster_queue);
  const WallTime now = clock.WallNow();
  changes::Draft draft =
      changes::Reserved(*before, admit.admission, admit.cluster,
                        RequiredChecks(queue, admit.admission.get()), *options.settings, now);
  if (IsStandIn(admit.job->id)) {  // a variant: what it got is its parent's
    ChangeState(draft.get(), [&](AdmissionState* state) {
      state->allowed_flavors = StateOf(*admit.job).allowed_flavors;
    });
  }
  changes::SayWhyItRunsThere(draft.get(), admit.placed, now);
  metrics.OnReserved(*draft, now);
  if (IsTrue(*draft, "Admitted")) {
    changes::Dispatch(draft.get(), now);
    StartAttempt(Put(before, std::move(draft), "JobAdmitted"));
  } else {
    Put(before, std::move(draft), "JobReserved");
  }
  // One more here is one less to spread elsewhere.
  if (placed_jobs.IsCounted(before->id))
    tx.wakes.insert(waits_for_room.begin(), waits_for_room.end());
}

// The store would refuse a second row of one name, so it is looked for here: a batch script and a
// Job may bear the same one.
void Engine::Impl::StartAttempt(const JobPtr& job) {
  const DispatchRow row = IntentOf(*job);
  metrics.OnAdmitted(*job);
  const auto holder = live.names.find(NameHash(row));
  if (holder != live.names.end()) {
    const DispatchRow other = live.dispatches.at(holder->second);
    if (SameName(other, row) && (other.job != row.job || IsLive(other.state))) {
      EndJob(job, JobEvent::kFail, Reason::kFailedToStart,
             "member cluster " + job->cluster + " has a " + row.object_kind + " " + row.ns + "/" +
                 row.name + " already, of job " + std::to_string(other.job.value),
             nullptr);
      return;
    }
    // What may be left of an attempt of its own that was written off goes before this one is made.
    if (SameName(other, row)) StepRow(other.key, dispatch::Superseded{}, nullptr);
  }
  PutRow(row);
  tx.orders.push_back({dispatch::Action::kEnsure, row.key, job});
}

void Engine::Impl::StopAttempt(const JobPtr& job, Reason reason, const std::string& message,
                               bool keep_logs) {
  const JobPtr marked = Put(job, changes::Stopping(*job, reason, message), "JobStopping");
  StepRow(CurrentKey(*marked), dispatch::RevokeRequested{keep_logs}, nullptr);
}

JobPtr Engine::Impl::EndJob(const JobPtr& job, JobEvent how, Reason reason,
                            const std::string& message, const Observation* seen) {
  const char* event = how == JobEvent::kSucceed ? "JobSucceeded"
                      : how == JobEvent::kFail  ? "JobFailed"
                                                : "JobCancelled";
  const JobPtr ended =
      Put(job, changes::Ended(*job, how, reason, message, seen, clock.WallNow()), event);
  metrics.OnFinished(*ended);
  eviction_pace.Forget(ended->id);
  if (ended->deletion_requested) CleanUp(ended);
  return ended;
}

void Engine::Impl::RequeueStopped(const JobPtr& job) {
  const WallTime now = clock.WallNow();
  const WallTime not_before = NextTry(*job, now);
  Put(job, changes::BackToPending(*job, not_before, *options.settings, now), "JobRequeued");
}

bool Engine::Impl::HasRows(const Uid& uid) const {
  const auto row = live.dispatches.lower_bound(DispatchKey{uid, 0, ""});
  return row != live.dispatches.end() && row->first.job_uid == uid;
}

void Engine::Impl::CleanUp(const JobPtr& job) {
  std::vector<DispatchKey> keys;
  for (auto row = live.dispatches.lower_bound(DispatchKey{job->uid, 0, ""});
       row != live.dispatches.end() && row->first.job_uid == job->uid; ++row) {
    keys.push_back(row->first);
  }
  for (const DispatchKey& key : keys) StepRow(key, dispatch::CleanRequested{}, nullptr);
  FinishDeletion(job);
}

// The name is free only when no member can hold an object of that name any more.
void Engine::Impl::FinishDeletion(const JobPtr& job) {
  const auto found = live.jobs.find(job->id);
  if (found == live.jobs.end()) return;
  const JobPtr now = found->second;
  if (!now->deletion_requested || !IsTerminal(now->state) || HasRows(now->uid)) return;
  AddEvent("JobDeleted", now->id, ObjectName(*now), "", "");
  tx.deleted_jobs.push_back(now->id);
  Leave(now);
}

}  // namespace muster
