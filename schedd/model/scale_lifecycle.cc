// An elastic job that holds quota and grows gets a second workload slice, which waits in the queue
// like a job (SliceRecord) while the first one runs. When the slice is admitted, TakeOverSlice
// makes it the job's own, and the old slice is Finished. All other changes of size take effect in
// the record at once (ChangeSize). Every change goes through ChangeScale, which keeps the pod set's
// count equal to the scale.
#include "schedd/model/scale_lifecycle.h"

#include <algorithm>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/base/limits.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// Changes the scale; the first change begins with the size that the job was submitted with.
template <class Change>
void ChangeScale(JobRecord* job, const JobSize& submitted, const Change& change) {
  ChangeState(job, [&](AdmissionState* state) {
    if (!state->scale) state->scale.emplace().size = submitted;
    change(&*state->scale);
  });
  TakeScaledPods(job);
}

// The admission for fewer pods than before: the same flavors, and the first of the assigned domains
// (rule A48).
AdmissionPtr Shrunk(const Admission& admission, std::int32_t pods) {
  auto less = std::make_shared<Admission>(admission);
  for (PodSetAssignment& pod_set : less->pod_sets) {
    if (pod_set.count <= pods) continue;
    for (auto& entry : pod_set.usage) entry.amount = entry.amount / pod_set.count * pods;
    pod_set.count = pods;
    if (pod_set.topology == nullptr) continue;
    auto placed = std::make_shared<TopologyAssignment>(*pod_set.topology);
    std::int32_t left = pods;
    for (auto& domain : placed->domains) {
      domain.count = std::min(domain.count, left);
      left -= domain.count;
    }
    std::erase_if(placed->domains, [](const auto& domain) { return domain.count == 0; });
    pod_set.topology = std::move(placed);
  }
  return less;
}

}  // namespace

const ElasticScale* ScaleOf(const JobRecord& job) {
  const AdmissionState& state = StateOf(job);
  return state.scale ? &*state.scale : nullptr;
}

const JobSize* WantedSize(const JobRecord& job) {
  const ElasticScale* scale = ScaleOf(job);
  return scale == nullptr ? nullptr : &scale->wanted();
}

void TakeScaledPods(JobRecord* job) {
  const ElasticScale* scale = ScaleOf(*job);
  if (scale == nullptr || job->pod_sets == nullptr || job->pod_sets->empty()) return;
  if (job->pod_sets->front().count == scale->size.pods()) return;
  auto pod_sets = std::make_shared<PodSets>(*job->pod_sets);
  pod_sets->front().count = scale->size.pods();
  job->pod_sets = std::move(pod_sets);
}

void ChangeSize(JobRecord* job, const JobSize& submitted, const JobSize& size) {
  ChangeScale(job, submitted, [&](ElasticScale* scale) {
    ++scale->generation;
    scale->size = size;
    scale->pending.reset();
  });
  if (job->admission != nullptr) job->admission = Shrunk(*job->admission, size.pods());
}

void WantSlice(JobRecord* job, const JobSize& submitted, PendingSlice slice) {
  ChangeScale(job, submitted, [&](ElasticScale* scale) {
    ++scale->generation;
    // A slice that waits already keeps its uid and its place in the queue.
    if (scale->pending) {
      scale->pending->size = slice.size;
      scale->pending->reason = slice.reason;
      scale->pending->message.clear();
    } else {
      scale->pending = std::move(slice);
    }
  });
}

std::string TakeOverSlice(JobRecord* job, AdmissionPtr admission, WallTime now) {
  const ElasticScale* before = ScaleOf(*job);
  MUSTER_CHECK(before != nullptr && before->pending.has_value());
  const Uid uid = before->pending->uid;
  const FinishedSlice replaced{
      before->slice.set() ? before->slice : job->uid, before->size.pods(), now,
      "Replaced to accommodate a workload (UID: " + uid.ToString() +
          ", JobUID: " + job->uid.ToString() + ") due to workload slice aggregation"};
  ChangeScale(job, before->size, [&](ElasticScale* scale) {
    scale->finished.push_back(replaced);
    if (scale->finished.size() > limits::kFinishedSlices)
      scale->finished.erase(scale->finished.begin());
    scale->slice = uid;
    scale->size = scale->pending->size;
    scale->pending.reset();
  });
  job->admission = std::move(admission);
  return replaced.message;
}

void EndSlices(JobRecord* job) {
  const ElasticScale* before = ScaleOf(*job);
  if (before == nullptr || !before->pending) return;
  ChangeScale(job, before->size, [&](ElasticScale* scale) {
    if (!IsTerminal(job->state)) scale->size = scale->pending->size;
    scale->pending.reset();
  });
}

// The slice starts without the history of the job: no conditions, no attempt, its own time in the
// queue. It must get the ClusterQueue in which the job holds quota.
JobRecord SliceRecord(const JobRecord& job, JobId id) {
  const ElasticScale* scale = ScaleOf(job);
  MUSTER_CHECK(scale != nullptr && scale->pending.has_value());
  const PendingSlice& slice = *scale->pending;
  JobRecord record = job;
  record.id = id;
  record.uid = slice.uid;
  record.state = JobState::kPending;
  record.suspended_by_user = false;
  record.reason = slice.reason;
  record.message = slice.message;
  record.submit_time = slice.since;
  record.accept_seq = slice.sequence;
  record.cluster.clear();
  record.admission.reset();
  record.conditions.reset();
  auto state = std::make_shared<AdmissionState>();
  state->replaces_slice = job.ns + "/" + job.name;
  state->resource_problem = StateOf(job).resource_problem;
  record.admission_state = std::move(state);
  auto pod_sets = std::make_shared<PodSets>(*job.pod_sets);
  pod_sets->front().count = slice.size.pods();
  record.pod_sets = std::move(pod_sets);
  if (job.admission != nullptr) record.cluster_queue = job.admission->cluster_queue;
  return record;
}

}  // namespace muster
