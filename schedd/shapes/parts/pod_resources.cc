// Amounts: reads and checks what a pod template asks for.
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "schedd/shapes/parts/pod_template.h"

namespace muster::shapes {
namespace {

// Resources outside Kubernetes' own names come in whole units and are never overcommitted.
bool IsExtended(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos && !resource.substr(0, slash).ends_with("kubernetes.io");
}

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
