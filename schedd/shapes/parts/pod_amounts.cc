// The steps run in the order AddOverhead, AddDefaults, CopyLimits, EffectiveRequest, as in Kueue: a
// default of a LimitRange is a limit or a request like one that the user wrote, and only then does
// a limit stand in for a missing request.
//
// The sentences of the checks are Kueue's, because its users and tools know them.
#include "schedd/shapes/parts/pod_amounts.h"

#include <algorithm>

namespace muster::shapes {
namespace {

bool Has(const ResourceList& list, std::string_view resource) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ResourceAmount& entry) { return entry.resource == resource; });
}

// Adds the resources that `list` does not have from `otherwise`.
void FillFrom(const ResourceList& otherwise, ResourceList* list) {
  for (const auto& [resource, amount] : otherwise) {
    if (!Has(*list, resource)) SetAmount(list, resource, amount);
  }
}

// Keeps, for each resource, the smaller (or the larger) of the given amounts.
void Tighten(const ResourceList& more, bool smaller, ResourceList* list) {
  for (const auto& [resource, amount] : more) {
    const bool known = Has(*list, resource);
    const std::int64_t old = AmountOf(*list, resource);
    SetAmount(list, resource,
              !known ? amount : (smaller ? std::min(old, amount) : std::max(old, amount)));
  }
}

// The tightest bound wins; of defaults the first one, and LimitRanges come in the order of their
// names.
void Summarise(const LimitRange::Item& item, LimitRange::Item* summary) {
  Tighten(item.max, true, &summary->max);
  Tighten(item.min, false, &summary->min);
  FillFrom(item.default_limit, &summary->default_limit);
  FillFrom(item.default_request, &summary->default_request);
}

void AddDefaults(const LimitRange::Item& item, ContainerAmounts* container) {
  FillFrom(item.default_limit, &container->limits);
  FillFrom(item.default_request, &container->requests);
}

// The resources that both lists have and of which `list` has more.
std::vector<std::string> Greater(const ResourceList& list, const ResourceList& than) {
  std::vector<std::string> names;
  for (const auto& [resource, amount] : list) {
    if (Has(than, resource) && amount > AmountOf(than, resource)) names.push_back(resource);
  }
  return names;
}

// Appends one sentence for all resources of one container or pod; none without resources.
void Complain(const std::string& path, const std::vector<std::string>& resources,
              const char* message, std::vector<std::string>* problems) {
  if (resources.empty()) return;
  std::string list;
  for (const auto& resource : resources) list += (list.empty() ? "\"" : ",\"") + resource + "\"";
  problems->push_back(path + ": Invalid value: [" + list + "]: " + message);
}

std::string PathOf(std::size_t pod_set) {
  return "spec.podSets[" + std::to_string(pod_set) + "].template.spec";
}

// Calls visit(path, container) for init containers, then for containers.
template <class Visit>
void ForEachContainer(const std::string& path, const PodAmounts& pod, Visit visit) {
  for (std::size_t i = 0; i < pod.init_containers.size(); ++i)
    visit(path + ".initContainers[" + std::to_string(i) + "]", pod.init_containers[i]);
  for (std::size_t i = 0; i < pod.containers.size(); ++i)
    visit(path + ".containers[" + std::to_string(i) + "]", pod.containers[i]);
}

constexpr char kAboveMax[] = "requests must not be above the limitRange max";
constexpr char kBelowMin[] = "requests must not be below the limitRange min";

// A bound applies to requests and limits alike: the larger of both to max, the smaller to min.
void CheckContainer(const LimitRange::Item& range, const std::string& path,
                    const ContainerAmounts& container, std::vector<std::string>* problems) {
  ResourceList largest = container.requests;
  ResourceList smallest = container.requests;
  Tighten(container.limits, false, &largest);
  Tighten(container.limits, true, &smallest);
  Complain(path, Greater(largest, range.max), kAboveMax, problems);
  Complain(path, Greater(range.min, smallest), kBelowMin, problems);
}

// Joins several sentences like Kubernetes' aggregated errors: "[a, b]".
std::string Joined(const char* prefix, const std::vector<std::string>& problems) {
  if (problems.size() == 1) return prefix + problems[0];
  std::string text = std::string(prefix) + "[";
  for (std::size_t i = 0; i < problems.size(); ++i) text += (i == 0 ? "" : ", ") + problems[i];
  return text + "]";
}

}  // namespace

bool LimitSummary::empty() const {
  const auto silent = [](const LimitRange::Item& item) {
    return item.max.empty() && item.min.empty() && item.default_limit.empty() &&
           item.default_request.empty();
  };
  return silent(container) && silent(pod);
}

// LimitRanges are sorted by namespace and name, so one range of the map has those of `ns`.
LimitSummary SummaryOf(const ConfigView& config, const std::string& ns) {
  LimitSummary summary;
  for (auto at = config.limit_ranges.lower_bound({ns, ""});
       at != config.limit_ranges.end() && at->first.first == ns; ++at) {
    for (const auto& item : at->second.items) {
      Summarise(item, item.of_pod ? &summary.pod : &summary.container);
    }
  }
  return summary;
}

void CompleteDefaults(LimitRange* range) {
  for (auto& item : range->items) {
    if (item.of_pod) continue;
    FillFrom(item.max, &item.default_limit);
    FillFrom(item.default_limit, &item.default_request);
    FillFrom(item.min, &item.default_request);
  }
}

void AddOverhead(const ConfigView& config, PodAmounts* pod) {
  if (pod->runtime_class.empty() || !pod->overhead.empty()) return;
  const auto found = config.runtime_classes.find(pod->runtime_class);
  if (found != config.runtime_classes.end()) pod->overhead = found->second.overhead;
}

void AddDefaults(const LimitSummary& limits, PodAmounts* pod) {
  for (auto& container : pod->init_containers) AddDefaults(limits.container, &container);
  for (auto& container : pod->containers) AddDefaults(limits.container, &container);
  if (pod->pod) AddDefaults(limits.pod, &*pod->pod);
}

void CopyLimits(PodAmounts* pod) {
  for (auto& container : pod->init_containers) FillFrom(container.limits, &container.requests);
  for (auto& container : pod->containers) FillFrom(container.limits, &container.requests);
  if (pod->pod) FillFrom(pod->pod->limits, &pod->pod->requests);
}

// Init containers run one after the other, each beside the sidecars started before it; the peak of
// that phase is compared with the sum of containers and sidecars (Kubernetes, KEP-753).
ResourceList EffectiveRequest(const PodAmounts& pod) {
  ResourceList total;
  for (const auto& container : pod.containers) AddAmounts(&total, container.requests);
  ResourceList sidecars;
  ResourceList peak;
  for (const auto& container : pod.init_containers) {
    ResourceList asked = container.requests;
    if (container.sidecar) {
      AddAmounts(&total, asked);
      AddAmounts(&sidecars, asked);
      asked = sidecars;
    } else {
      AddAmounts(&asked, sidecars);
    }
    MaxAmounts(&peak, asked);
  }
  MaxAmounts(&total, peak);
  if (pod.pod) {
    for (const auto& [resource, amount] : pod.pod->requests) SetAmount(&total, resource, amount);
  }
  AddAmounts(&total, pod.overhead);
  return total;
}

std::vector<std::string> RequestsAboveLimits(const std::vector<PodAmounts>& pods) {
  std::vector<std::string> problems;
  constexpr char kAboveLimits[] = "requests must not exceed its limits";
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto check = [&](const std::string& path, const ContainerAmounts& container) {
      Complain(path, Greater(container.requests, container.limits), kAboveLimits, &problems);
    };
    ForEachContainer(PathOf(i), pods[i], check);
    if (pods[i].pod) check(PathOf(i) + ".resources", *pods[i].pod);
  }
  return problems;
}

// A LimitRange of type Pod bounds the effective request.
std::vector<std::string> OutsideLimitRange(const LimitSummary& limits,
                                           const std::vector<PodAmounts>& pods) {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    ForEachContainer(PathOf(i), pods[i],
                     [&](const std::string& path, const ContainerAmounts& container) {
      CheckContainer(limits.container, path, container, &problems);
    });
    const ResourceList total = EffectiveRequest(pods[i]);
    Complain(PathOf(i), Greater(total, limits.pod.max), kAboveMax, &problems);
    Complain(PathOf(i), Greater(limits.pod.min, total), kBelowMin, &problems);
  }
  return problems;
}

std::string ResourceProblem(const LimitSummary& limits, const std::vector<PodAmounts>& pods) {
  const auto above = RequestsAboveLimits(pods);
  if (!above.empty()) return Joined("resources validation failed: ", above);
  const auto outside = OutsideLimitRange(limits, pods);
  if (outside.empty()) return "";
  return Joined("resources didn't satisfy LimitRange constraints: ", outside);
}

}  // namespace muster::shapes
