#include "schedd/shapes/kinds/preparation.h"

#include <map>

#include "schedd/model/requests.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "schedd/shapes/parts/pod_resources.h"

namespace muster::shapes {
namespace {

// The requests and limits of each pod set's pods, container by container.
std::map<std::string, PodAmounts> AmountsByPodSet(const ParsedJob& job) {
  std::map<std::string, PodAmounts> amounts;
  json::value manifest = job.manifest;
  OpsOf(job.shape).visit_templates(manifest.as_object(),
                                   [&](std::string_view pod_set, json::object& pod_template) {
    Problems problems;  // the manifest was checked when it was parsed
    const json::value copy = pod_template;
    amounts.emplace(pod_set, ReadPodAmounts(Field(copy, &problems)["spec"]));
  });
  return amounts;
}

// A batch script has no template: it is one container whose limits are its requests.
PodAmounts AmountsOfScript(const PodSet& pod_set) {
  PodAmounts amounts;
  amounts.containers.push_back({pod_set.requests, pod_set.requests});
  return amounts;
}

}  // namespace

std::string PrepareRequests(const ConfigView& config, const AdmissionSettings& settings,
                            const std::string& ns, ParsedJob* job) {
  // Without LimitRanges and RuntimeClasses the requests count as they were parsed, and the manifest
  // need not be visited.
  const LimitSummary limits = SummaryOf(config, ns);
  if (limits.empty() && config.runtime_classes.empty()) {
    for (auto& pod_set : job->pod_sets)
      SetRequests(ResourceList(pod_set.requests), settings, &pod_set);
    return "";
  }
  const std::map<std::string, PodAmounts> amounts = AmountsByPodSet(*job);
  std::vector<PodAmounts> pods;
  for (auto& pod_set : job->pod_sets) {
    const auto found = amounts.find(pod_set.name);
    PodAmounts& pod =
        pods.emplace_back(found == amounts.end() ? AmountsOfScript(pod_set) : found->second);
    AddOverhead(config, &pod);
    AddDefaults(limits, &pod);
    CopyLimits(&pod);
    SetRequests(EffectiveRequest(pod), settings, &pod_set);
  }
  return ResourceProblem(limits, pods);
}

}  // namespace muster::shapes
