// What a workload asks for and counts: workload-total-requests, adjust-resources,
// validate-resources, validate-limit-range.
#include "schedd/model/requests.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

json::object AmountsJson(const ResourceList& list) {
  json::object amounts;
  for (const auto& [resource, amount] : list) amounts[resource] = amount;
  return amounts;
}

json::object DomainsJson(const TopologyAssignment& topology, const PodSet& pod_set) {
  const ResourceList& of_pod =
      pod_set.node_requests != nullptr ? *pod_set.node_requests : pod_set.requests;
  json::array domains;
  for (const auto& domain : topology.domains) {
    domains.push_back(
        json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                     {"count", domain.count},
                     {"singlePodRequests", AmountsJson(of_pod)}});
  }
  return {{"levels", json::array(topology.levels.begin(), topology.levels.end())},
          {"domainRequests", std::move(domains)}};
}

json::object TotalJson(const JobRecord& job, const PodSetTotal& total) {
  json::object item = {
      {"name", total.name}, {"count", total.count}, {"requests", AmountsJson(total.requests)}};
  if (total.reservation == nullptr) return item;
  json::object flavors;
  for (const auto& [resource, flavor] : total.reservation->flavors) flavors[resource] = flavor;
  item["flavors"] = std::move(flavors);
  for (const auto& pod_set : *job.pod_sets) {
    if (pod_set.name == total.name && total.reservation->topology != nullptr)
      item["topologyRequest"] = DomainsJson(*total.reservation->topology, pod_set);
  }
  return item;
}

void WorkloadTotalRequests(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  json::array totals;
  for (const auto& total : TotalRequests(job, world.settings))
    totals.push_back(TotalJson(job, total));
  json::object info = {{"totalRequests", std::move(totals)}};
  if (job.admission != nullptr && !job.admission->cluster_queue.empty())
    info["clusterQueue"] = job.admission->cluster_queue;
  Check(test, "info", info, report);
}

json::object ContainerJson(const shapes::ContainerAmounts& container) {
  return {{"requests", AmountsJson(container.requests)},
          {"limits", AmountsJson(container.limits)},
          {"sidecar", container.sidecar}};
}

json::array PodsJson(const std::vector<shapes::PodAmounts>& pods) {
  json::array list;
  for (const auto& pod : pods) {
    json::array init_containers, containers;
    for (const auto& container : pod.init_containers)
      init_containers.push_back(ContainerJson(container));
    for (const auto& container : pod.containers) containers.push_back(ContainerJson(container));
    list.push_back(
        json::object{{"initContainers", std::move(init_containers)},
                     {"containers", std::move(containers)},
                     {"pod", pod.pod ? json::value(ContainerJson(*pod.pod)) : json::value()},
                     {"overhead", AmountsJson(pod.overhead)}});
  }
  return list;
}

void AdjustResources(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  const shapes::LimitSummary limits = shapes::SummaryOf(world.config, job.ns);
  auto pods = LoadPods(test.Input("workload"));
  for (auto& pod : pods) {
    shapes::AddOverhead(world.config, &pod);
    shapes::AddDefaults(limits, &pod);
    shapes::CopyLimits(&pod);
  }
  const json::array wanted = PodsJson(LoadPods(test.Want("workload")));
  for (const auto& difference : Differences(wanted, PodsJson(pods), {}))
    report->Fail("workload" + difference);
}

json::array TextsJson(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

void ValidateResources(const Case& test, Report* report) {
  const auto pods = LoadPods(test.Input("workload"));
  Check(test, "errors", TextsJson(shapes::RequestsAboveLimits(pods)), report);
}

void ValidateLimitRange(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const std::string ns = TextAt(At(test.Input("workload"), "metadata"), "namespace");
  const auto pods = LoadPods(test.Input("workload"));
  Check(test, "errors",
        TextsJson(shapes::OutsideLimitRange(shapes::SummaryOf(world.config, ns), pods)), report);
}

const Registration kTotals("workload-total-requests", WorkloadTotalRequests);
const Registration kAdjust("adjust-resources", AdjustResources);
const Registration kResources("validate-resources", ValidateResources);
const Registration kLimitRange("validate-limit-range", ValidateLimitRange);

}  // namespace
}  // namespace muster::conformance
