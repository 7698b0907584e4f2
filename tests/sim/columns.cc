// The columns are those of JobOfRow (schedd/store/pg/job_rows.cc), in the same two parts: table
// jobs, which is written at acceptance and by respecified jobs, and table job_state.
#include "tests/sim/columns.h"

#include "schedd/store/pg/admission_json.h"
#include "schedd/store/pg/row_json.h"

namespace muster::sim {

template <class T, class ToText, class Parse>
Columns::Ptr<T> Columns::Through(Known<T>* known, const Ptr<T>& value, ToText to_text,
                                 Parse parse) {
  if (value == nullptr) return nullptr;
  const auto found = known->find(value);
  if (found != known->end()) return found->second;
  Result<Ptr<T>> read = parse(to_text(*value));
  if (!read.ok()) stage_.Break("I1: " + read.error().detail);
  known->emplace(value, *read);
  known->emplace(*read, *read);
  return std::move(read).value();
}

// The columns that an update of the row sets (statement respecify_jobs).
void Columns::Specify(const JobRecord& job, JobRecord* row) {
  row->pod_sets = Through(&pod_sets_, job.pod_sets, pg::PodSetsText, pg::ParsePodSets);
  row->batch = Through(&batches_, job.batch, pg::BatchText, pg::ParseBatch);
  row->placement =
      Through(&placements_, job.placement, pg::JobPlacementText, pg::ParseJobPlacement);
  row->time_limit_s = job.time_limit_s;
  row->display_name = job.display_name;
  row->local_queue = job.local_queue;
  row->priority_class = job.priority_class;
}

JobPtr Columns::Accepted(const JobPtr& job) {
  auto row = std::make_shared<JobRecord>();
  Specify(*job, row.get());
  row->id = job->id;
  row->uid = job->uid;
  row->ns = job->ns;
  row->shape = job->shape;
  row->name = job->name;
  row->user = job->user;
  row->account = job->account;
  row->cluster_queue = job->cluster_queue;
  row->priority = job->priority;
  row->ttl_after_finished_s = job->ttl_after_finished_s;
  row->submit_time = job->submit_time;
  row->accept_seq = job->accept_seq;
  submitted_[job->uid] = row;
  return Row(*row, *job);
}

// Both parts together. Priority and queue may have changed since acceptance: then the state has
// them.
JobPtr Columns::Row(const JobRecord& submitted, const JobRecord& state) {
  auto job = std::make_shared<JobRecord>(submitted);
  job->state = state.state;
  job->suspended_by_user = state.suspended_by_user;
  job->deletion_requested = state.deletion_requested;
  job->reason = ReasonOf(ReasonName(state.reason));
  job->message = state.message;
  job->cluster = state.cluster;
  job->attempt = state.attempt;
  job->admission = Through(&admissions_, state.admission, pg::AdmissionText, pg::ParseAdmission);
  job->admit_time = state.admit_time;
  job->start_time = state.start_time;
  job->end_time = state.end_time;
  job->exit_code = state.exit_code;
  job->exit_signal = state.exit_signal;
  job->requeues = state.requeues;
  job->conditions =
      Through(&conditions_, state.conditions, pg::ConditionsText, pg::ParseConditions);
  job->resource_version = state.resource_version;
  job->ready_pods = state.ready_pods;
  job->succeeded_pods = state.succeeded_pods;
  job->failed_pods = state.failed_pods;
  const std::string admission = pg::AdmissionStateText(state);
  if (admission.empty()) return job;
  const Status taken = pg::TakeAdmissionState(admission, job.get());
  if (!taken.ok()) stage_.Break("I1: " + taken.error().detail);
  return job;
}

void Columns::ReadBack(PlanCommit* commit) {
  for (JobPtr& task : commit->new_jobs) task = Accepted(task);
  std::map<Uid, JobPtr> respecified;
  for (const JobPtr& job : commit->respecified) respecified[job->uid] = job;
  for (JobPtr& job : commit->jobs) {
    const auto submitted = submitted_.find(job->uid);
    if (submitted == submitted_.end())
      stage_.Break("I1: job " + std::to_string(job->id.value) + " changes and was not accepted");
    JobRecord row = *submitted->second;
    const auto anew = respecified.find(job->uid);
    if (anew != respecified.end()) Specify(*anew->second, &row);
    job = Row(row, *job);
  }
  for (AttemptRecord& attempt : commit->attempts)
    attempt.admission =
        Through(&admissions_, attempt.admission, pg::AdmissionText, pg::ParseAdmission);
}

void Columns::Keep(const PlanCommit& commit) {
  for (const JobPtr& job : commit.respecified) {
    auto row = std::make_shared<JobRecord>(*submitted_.at(job->uid));
    Specify(*job, row.get());
    submitted_[job->uid] = std::move(row);
  }
}

}  // namespace muster::sim
