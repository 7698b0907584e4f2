#include "schedd/shapes/preparation.h"

#include <map>

#include "schedd/model/requests.h"
#include "schedd/shapes/pod_amounts.h"
#include "schedd/shapes/shape_ops.h"

namespace muster::shapes {
namespace {

// What the pods of each pod set ask for, container by container.
std::map<std::string, PodAmounts> AmountsByPodSet(const ParsedJob& job) {
  std::map<std::string, PodAmounts> amounts;
  json::value manifest = job.manifest;
  OpsOf(job.shape).visit_templates(
      manifest.as_object(), [&](std::string_view pod_set, json::object& pod_template) {
        Problems problems;  // the manifest was checked when it was parsed
        const json::value copy = pod_template;
        amounts.emplace(pod_set, ReadPodAmounts(Field(copy, &problems)["spec"]));
      });
  return amounts;
}

// A batch script has no template: it is one container, with limits as its requests.
PodAmounts AmountsOfScript(const PodSet& pod_set) {
  PodAmounts amounts;
  amounts.containers.push_back({pod_set.requests, pod_set.requests});
  return amounts;
}

Status CheckPod(const LimitSummary& limits, const std::string& ns, const std::string& pod_set,
                const PodAmounts& pod) {
  for (const auto& problems : {RequestsAboveLimits({pod}), OutsideLimitRange(limits, {pod})}) {
    if (problems.empty()) continue;
    // "spec.podSets[0].template.spec.containers[0]: ...": from the pod spec on, as the user's
    // manifest may have its templates anywhere.
    constexpr std::string_view kPrefix = "spec.podSets[0].template.";
    return InvalidArgument("pod set " + pod_set + " with the LimitRanges of namespace " + ns +
                           ": " + problems[0].substr(kPrefix.size()));
  }
  return Done{};
}

}  // namespace

Status PrepareRequests(const ConfigView& config, const AdmissionSettings& settings,
                       const std::string& ns, ParsedJob* job) {
  const LimitSummary limits = SummaryOf(config, ns);
  std::map<std::string, PodAmounts> amounts;
  if (!limits.empty() || !config.runtime_classes.empty()) amounts = AmountsByPodSet(*job);
  for (auto& pod_set : job->pod_sets) {
    ResourceList of_pod = pod_set.requests;
    if (!limits.empty() || !config.runtime_classes.empty()) {
      const auto found = amounts.find(pod_set.name);
      PodAmounts pod = found == amounts.end() ? AmountsOfScript(pod_set) : found->second;
      AddOverhead(config, &pod);
      AddDefaults(limits, &pod);
      CopyLimits(&pod);
      const Status checked = CheckPod(limits, ns, pod_set.name, pod);
      if (!checked.ok()) return checked;
      of_pod = EffectiveRequest(pod);
    }
    SetRequests(of_pod, settings, &pod_set);
  }
  return Done{};
}

}  // namespace muster::shapes
