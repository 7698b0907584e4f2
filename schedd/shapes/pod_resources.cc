// Amounts: what one pod of a template asks for.
#include <algorithm>

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/pod_template.h"

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
    if (*amount == 0 && !zero_allowed)
      field.Fail("must be greater than zero; leave the resource out to ask for none");
    if (IsExtended(resource)) {
      const auto text = QuantityText(*field.value());
      const auto milli = ParseQuantity("cpu", *text);
      if (milli.ok() && *milli % 1000 != 0) field.Fail("must be a whole number");
    }
    SetAmount(&list, resource, *amount);
  }
  return list;
}

// requests with limits standing in for the missing ones.
ResourceList ReadResources(const Field& resources) {
  resources.Object();
  resources["claims"].Refuse("dynamic resource allocation is not supported by this version");
  ResourceList requests = ReadAmounts(resources["requests"], false);
  const ResourceList limits = ReadAmounts(resources["limits"], false);
  for (const auto& limit : limits) {
    const auto same = [&](const ResourceAmount& request) {
      return request.resource == limit.resource;
    };
    const auto request = std::find_if(requests.begin(), requests.end(), same);
    if (request == requests.end()) {
      SetAmount(&requests, limit.resource, limit.amount);
    } else if (request->amount > limit.amount) {
      resources["requests"].Named(limit.resource).Fail("must be at most its limit");
    } else if (IsExtended(limit.resource) && request->amount != limit.amount) {
      resources["requests"]
          .Named(limit.resource)
          .Fail("must equal its limit: it cannot be overcommitted");
    }
  }
  for (const auto& request : requests) {
    if (IsExtended(request.resource) && AmountOf(limits, request.resource) == 0) {
      resources["limits"].Fail("must name " + request.resource +
                               " too: it cannot be overcommitted");
    }
  }
  return requests;
}

bool IsSidecar(const Field& init_container) {
  return init_container["restartPolicy"].StringOr("") == "Always";
}

}  // namespace

ResourceList ReadPodRequests(const Field& pod_spec) {
  ResourceList total;
  for (const auto& container : pod_spec["containers"].Elements()) {
    AddAmounts(&total, ReadResources(container["resources"]));
  }
  ResourceList sidecars;
  ResourceList peak;
  for (const auto& container : pod_spec["initContainers"].Elements()) {
    ResourceList asked = ReadResources(container["resources"]);
    if (IsSidecar(container)) {
      AddAmounts(&total, asked);
      AddAmounts(&sidecars, asked);
      asked = sidecars;
    } else {
      AddAmounts(&asked, sidecars);
    }
    MaxAmounts(&peak, asked);
  }
  MaxAmounts(&total, peak);
  // Pod-level resources replace what the containers sum up to.
  for (const auto& amount : ReadResources(pod_spec["resources"])) {
    const bool requested = pod_spec["resources"]["requests"].Named(amount.resource).present();
    if (requested || AmountOf(total, amount.resource) == 0)
      SetAmount(&total, amount.resource, amount.amount);
  }
  AddAmounts(&total, ReadAmounts(pod_spec["overhead"], true));
  return total;
}

}  // namespace muster::shapes
