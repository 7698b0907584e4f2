// Reads requests and limits of containers. Resource names without a domain, or of a domain below
// kubernetes.io, are Kubernetes' own; any other name (nvidia.com/gpu) is an extended resource,
// which comes in whole units and cannot be overcommitted: its request must equal its limit
// (Kubernetes, Managing Resources for Containers).
#include "schedd/shapes/parts/pod_resources.h"

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"

namespace muster::shapes {
namespace {

// True for a resource outside Kubernetes' own names.
bool IsExtended(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos && !resource.substr(0, slash).ends_with("kubernetes.io");
}

// Amounts by resource name. `zero_allowed`: an overhead of 0 is valid, a request of 0 is not. The
// check for zero uses billionths, because an amount below one base unit is rounded up.
ResourceList ReadAmounts(const Field& amounts, bool zero_allowed) {
  ResourceList list;
  for (const auto& [resource, field] : amounts.Members()) {
    if (!IsQualifiedName(resource))
      field.Fail(std::string("a resource's name ") + kQualifiedNameRule);
    if (resource == "pods") field.Fail("the name is reserved: pods are counted by themselves");
    if (!field.present()) field.Fail("must be a quantity, not null");
    const auto amount = field.Quantity(resource);
    if (!amount) continue;
    const auto billionths = ParseBillionths(*QuantityText(*field.value()));
    if (billionths.ok() && *billionths == 0 && !zero_allowed)
      field.Fail("must be greater than zero; leave the resource out to ask for none");
    if (billionths.ok() && IsExtended(resource) && *billionths % 1'000'000'000 != 0)
      field.Fail("must be a whole number");
    SetAmount(&list, resource, *amount);
  }
  return list;
}

// A missing limit reads as 0, which no limit can be.
void CheckAgainstLimits(const Field& resources, const ContainerAmounts& amounts) {
  const Field requests = resources["requests"];
  for (const auto& [resource, amount] : amounts.requests) {
    const std::int64_t limit = AmountOf(amounts.limits, resource);
    if (limit == 0) {
      if (IsExtended(resource)) {
        resources["limits"].Fail("must name " + resource + " too: it cannot be overcommitted");
      }
    } else if (amount > limit) {
      requests.Named(resource).Fail("must be at most its limit");
    } else if (IsExtended(resource) && amount != limit) {
      requests.Named(resource).Fail("must equal its limit: it cannot be overcommitted");
    }
  }
}

ContainerAmounts ReadResources(const Field& resources) {
  resources.Object();
  resources["claims"].Refuse("dynamic resource allocation is not supported by this version");
  ContainerAmounts amounts;
  amounts.requests = ReadAmounts(resources["requests"], false);
  amounts.limits = ReadAmounts(resources["limits"], false);
  CheckAgainstLimits(resources, amounts);
  return amounts;
}

}  // namespace

PodAmounts ReadPodAmounts(const Field& pod_spec) {
  PodAmounts pod;
  for (const auto& container : pod_spec["containers"].Elements())
    pod.containers.push_back(ReadResources(container["resources"]));
  for (const auto& container : pod_spec["initContainers"].Elements()) {
    pod.init_containers.push_back(ReadResources(container["resources"]));
    pod.init_containers.back().sidecar = container["restartPolicy"].StringOr("") == "Always";
  }
  if (pod_spec["resources"].Object() != nullptr) pod.pod = ReadResources(pod_spec["resources"]);
  pod.overhead = ReadAmounts(pod_spec["overhead"], true);
  pod.runtime_class = pod_spec["runtimeClassName"].StringOr("");
  return pod;
}

}  // namespace muster::shapes
