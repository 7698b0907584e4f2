// What has not changed since the restore is known by its resource version: it is that of an event
// of the backup. A job that was held, released, or has started since has a later one, so all of
// this happens once for each job, whenever the daemon dies in between.
//
// | in the backup | then |
// |---|---|
// | waits, or holds quota without an attempt | held |
// | is being evicted, to wait again | held as soon as its attempt is gone |
// | is to be created on its member (Intent) | quarantined: an administrator lets it go on |
// | is on a member, with a uid on record | followed like any other: adopted, or Lost (rule D18) |
// | has ended | stays ended |
//
// What members show of lost history is sorted by Orphans.
#include "schedd/engine/members/restored_jobs.h"

#include "schedd/engine/context/object_names.h"
#include "schedd/telemetry/log.h"

namespace muster {

void RestoredJobs::Reset(const std::optional<RestoreMark>& restore) {
  restore_ = restore;
  to_hold_.clear();
}

std::string RestoredJobs::Since() const {
  return "the database was restored from a backup of " + FormatRfc3339(restore_->backup);
}

void RestoredJobs::Begin() {
  if (!restore_) return;
  std::vector<JobPtr> quarantined, astray;
  for (const auto& [id, job] : jobs_.all()) {
    if (!IsOfBackup(*job) || IsTerminal(job->state) || job->state == JobState::kHeld) continue;
    if (!IsDispatched(job->state)) {
      to_hold_.push_back(id);
      continue;
    }
    const DispatchRow* row = rows_.Find(CurrentKey(*job));
    if (row == nullptr || !IsLive(row->state)) {
      astray.push_back(job);
    } else if (row->state == DispatchState::kIntent) {
      quarantined.push_back(job);
    } else if (changes::IsRequeuing(*job)) {
      to_hold_.push_back(id);
    }
  }
  for (const JobPtr& job : quarantined) Quarantine(job, *rows_.Find(CurrentKey(*job)));
  // The recovery has them wait again; they are few, for a fault has made them.
  for (const JobPtr& job : astray) Hold(job);
  if (to_hold_.empty() && quarantined.empty()) return;
  const auto held = static_cast<std::int64_t>(to_hold_.size());
  Log(LogLevel::kWarning, "engine", "restored_jobs_held",
      {{"jobs", held}, {"quarantined", static_cast<std::int64_t>(quarantined.size())}});
  commits_.AddEvent("DatabaseRestored", JobId{}, "installation", "",
                    Since() + ": " + std::to_string(held) + " waiting jobs are held, " +
                        std::to_string(quarantined.size()) + " attempts are quarantined");
}

// The member may know more of this attempt than the database: that is what a refusal with kAborted
// says too. The record is written as well, so that this happens once.
void RestoredJobs::Quarantine(const JobPtr& job, const DispatchRow& row) {
  const std::string why = Since() + ", and this attempt may have run since";
  attempts_.Step(DispatchKey(row.key), dispatch::EnsureFailed{Code::kAborted, why}, nullptr);
  const JobPtr now = jobs_.Find(job->id);
  auto draft = std::make_shared<JobRecord>(*now);
  draft->message = row.key.cluster + ": " + why + "; it is quarantined";
  jobs_.Put(now, std::move(draft), "JobQuarantined");
}

bool RestoredJobs::HoldSome() {
  bool held = false;
  for (; !to_hold_.empty() && commits_.Room() > 0; held = true) {
    const JobPtr job = jobs_.Find(to_hold_.front());
    to_hold_.pop_front();
    if (job != nullptr && IsOfBackup(*job)) Hold(job);
  }
  return held;
}

// One that holds quota without an attempt gives it back first.
void RestoredJobs::Hold(JobPtr job) {
  if (IsTerminal(job->state) || job->state == JobState::kHeld) return;
  if (job->state == JobState::kReserved) {
    job = attempts_.EvictFor(job, Reason::kRequeued,
                             {std::string(ReasonName(Reason::kRequeued)), "", Since()});
  }
  if (job->state == JobState::kPending) {
    changes::Draft held = changes::Held(*job);
    held->message =
        "Held: " + Since() + ", and it may have run since; release the job to let it run";
    jobs_.Put(job, std::move(held), "JobHeld");
  } else if (HoldsQuota(job->state)) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->suspended_by_user = true;
    jobs_.Put(job, std::move(draft), "JobHeld");
  }
}

}  // namespace muster
