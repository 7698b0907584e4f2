// Workloads as JSON. A copy is named `muster-JOBUID-ATTEMPT` and has, besides the labels of an
// attempt, the label `kueue.x-k8s.io/multikueue-origin` with this installation's id, by which Kueue
// knows that another cluster's manager owns it.
#include "backends/k8s/copy_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/member_queues.h"

namespace muster::k8s {
namespace {

// One condition of a Workload's status; the defaults stand for an absent one.
struct WorkloadCondition {
  bool status = false;
  WallTime since;
  std::string reason, message;
};

WorkloadCondition ConditionOf(const Reader& workload, std::string_view type) {
  WorkloadCondition said;
  workload["status"]["conditions"].Each([&](const Reader& condition) {
    if (condition["type"].View() != type) return;
    said.status = condition["status"].View() == "True";
    said.since = condition["lastTransitionTime"].Time();
    said.reason = condition["reason"].Text(kNameBytes);
    said.message = condition["message"].Text(kMessageBytes);
  });
  return said;
}

}  // namespace

// Kueue's priority is an int32, so ours is clamped.
Result<json::object> CopyManifest(const CopyOrder& order, const std::vector<CopyPodSet>& pod_sets,
                                  std::string_view version, const std::string& instance) {
  json::array sets;
  for (const CopyPodSet& one : pod_sets) {
    auto pod_template = ParseJson(one.pod_template);
    if (!pod_template.ok() || !pod_template->is_object())
      return InvalidArgument("the template of pod set " + one.name + " cannot be read");
    sets.push_back(json::object{
        {"name", one.name}, {"count", one.count}, {"template", std::move(*pod_template)}});
  }
  const auto priority = std::clamp<std::int64_t>(order.priority, INT32_MIN, INT32_MAX);
  return json::object{{"apiVersion", std::string(kKueueGroup) + std::string(version)},
                      {"kind", "Workload"},
                      {"metadata",
                       {{"name", CopyName(order.key.job_uid, order.key.attempt)},
                        {"namespace", order.ns},
                        {"labels",
                         {{kOriginLabel, instance},
                          {kInstanceLabel, instance},
                          {kJobUidLabel, order.key.job_uid.ToString()},
                          {kAttemptLabel, std::to_string(order.key.attempt)}}}}},
                      {"spec",
                       {{"active", true},
                        {"queueName", order.local_queue},
                        {"priority", priority},
                        {"podSets", std::move(sets)}}}};
}

// The message is that of the condition that explains the present state: finished, evicted, no quota
// reserved, then admission checks.
std::optional<MemberCopy> ReadCopy(const json::object& workload, const std::string& member,
                                   const std::string& instance) {
  const Reader root(workload);
  const Reader metadata = root["metadata"];
  const auto attempt = ReadAttemptLabels(workload);
  if (!attempt || metadata["labels"][kOriginLabel].View() != instance ||
      metadata["labels"][kInstanceLabel].View() != instance) {
    return std::nullopt;
  }
  MemberCopy copy;
  copy.key = {attempt->job_uid, attempt->attempt, member};
  copy.ns = metadata["namespace"].Text(kNameBytes);
  copy.name = metadata["name"].Text(kNameBytes);
  copy.uid = metadata["uid"].Text(kNameBytes);
  if (copy.name != CopyName(copy.key.job_uid, copy.key.attempt)) return std::nullopt;
  copy.deleting = metadata["deletionTimestamp"].present();
  const WorkloadCondition reserved = ConditionOf(root, "QuotaReserved");
  const WorkloadCondition admitted = ConditionOf(root, "Admitted");
  const WorkloadCondition evicted = ConditionOf(root, "Evicted");
  const WorkloadCondition finished = ConditionOf(root, "Finished");
  copy.admitted = admitted.status;
  copy.admitted_since = admitted.since;
  copy.evicted = evicted.status;
  copy.finished = finished.status;
  copy.out_of_sync = finished.status && finished.reason == "OutOfSync";
  if (finished.status) {
    copy.message = finished.message;
  } else if (evicted.status) {
    copy.message = evicted.message;
  } else if (!reserved.status) {
    copy.message = reserved.message;
  } else if (!admitted.status) {
    copy.message = "it has reserved quota there and waits for admission checks";
  }
  return copy;
}

}  // namespace muster::k8s
