// Transformations are computed in 128-bit trillionths, so that outputs of several inputs are summed
// without rounding and rounded up once. Additions and multiplications saturate: an amount beyond
// the range stays at its end and becomes "unlimited".
//
// Excluded resources are dropped first; then each transformed input adds its outputs; with strategy
// Retain the input stays too.
#include "schedd/model/requests.h"

#include <algorithm>
#include <limits>
#include <map>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

using Wide = __int128;
constexpr Wide kMost = std::numeric_limits<Wide>::max();
constexpr Wide kThousand = 1000;
// Sums are in trillionths of a unit: thousandths of an amount times billionths of a factor.
constexpr Wide kTrillion = kThousand * kThousand * kThousand * kThousand;

// Saturates at both ends.
Wide Times(Wide a, Wide b) {
  Wide product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kMost : -kMost;
}

Wide Plus(Wide a, Wide b) {
  Wide sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kMost : -kMost;
}

// An amount in thousandths of the unit that people write (cores, bytes, devices).
Wide Milli(const ResourceAmount& entry) {
  return Times(entry.amount, IsMilliResource(entry.resource) ? 1 : kThousand);
}

// Trillionths to an amount of `resource`: rounded up, between 0 and kUnlimited.
std::int64_t ToAmount(std::string_view resource, Wide trillionths) {
  if (trillionths <= 0) return 0;
  const Wide step = IsMilliResource(resource) ? kTrillion / kThousand : kTrillion;
  const Wide amount = trillionths / step + (trillionths % step != 0 ? 1 : 0);
  return amount >= kUnlimited ? kUnlimited : static_cast<std::int64_t>(amount);
}

const ResourceAmount* Find(const ResourceList& list, std::string_view resource) {
  for (const auto& entry : list) {
    if (entry.resource == resource) return &entry;
  }
  return nullptr;
}

// A resource has at most one transformation.
const ResourceTransformation* RuleFor(const AdmissionSettings& settings,
                                      std::string_view resource) {
  for (const auto& rule : settings.transformations) {
    if (rule.input == resource) return &rule;
  }
  return nullptr;
}

// Adds the outputs of one input. With multiplyBy the input is multiplied by the requested amount of
// that resource; if the pod requests none of it, the input counts once.
void AddOutputs(const ResourceTransformation& rule, const ResourceAmount& input,
                const ResourceList& all, std::map<std::string, Wide>* sums) {
  Wide quantity = Milli(input);
  if (!rule.multiply_by.empty()) {
    if (const auto* times = Find(all, rule.multiply_by); times != nullptr)
      quantity = Times(quantity, Milli(*times)) / kThousand;
  }
  for (const auto& [output, factor] : rule.outputs) {
    const auto billionths = ParseBillionths(factor);
    Wide& sum = (*sums)[output];
    if (billionths.ok()) sum = Plus(sum, Times(quantity, *billionths));
  }
}

// The request after all transformations, sorted by resource because `sums` is.
ResourceList Transformed(const ResourceList& list, const AdmissionSettings& settings) {
  std::map<std::string, Wide> sums;
  for (const auto& entry : list) {
    if (const auto* rule = RuleFor(settings, entry.resource); rule != nullptr)
      AddOutputs(*rule, entry, list, &sums);
  }
  // Outputs may be negative (an allowance). Their sum never reduces what the pod requests under the
  // output's own name.
  for (auto& [resource, sum] : sums) sum = std::max<Wide>(sum, 0);
  for (const auto& entry : list) {
    const ResourceTransformation* rule = RuleFor(settings, entry.resource);
    if (rule != nullptr && rule->replace) continue;
    Wide& sum = sums[entry.resource];
    sum = Plus(sum, Times(Milli(entry), kTrillion / kThousand));
  }
  ResourceList transformed;
  for (const auto& [resource, sum] : sums)
    transformed.push_back({resource, ToAmount(resource, sum)});
  return transformed;
}

bool IsExcluded(const AdmissionSettings& settings, std::string_view resource) {
  const auto& prefixes = settings.excluded_resource_prefixes;
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return resource.starts_with(prefix); });
}

const PodSet* FindPodSet(const JobRecord& job, const std::string& name) {
  for (const auto& pod_set : *job.pod_sets) {
    if (pod_set.name == name) return &pod_set;
  }
  return nullptr;
}

// Pods of an admitted pod set that still count. If more pods are left than were admitted, the job
// runs with fewer pods than it declares, and only the admitted ones count.
std::int32_t PodsCharged(const JobRecord& job, const PodSetAssignment& reserved,
                         const AdmissionSettings& settings) {
  const PodSet* pod_set = FindPodSet(job, reserved.name);
  return pod_set == nullptr ? reserved.count
                            : std::min(reserved.count, PodsLeft(job, *pod_set, settings));
}

}  // namespace

ResourceList QuotaRequest(const ResourceList& of_pod, const AdmissionSettings& settings) {
  ResourceList kept;
  for (const auto& entry : of_pod) {
    if (!IsExcluded(settings, entry.resource)) kept.push_back(entry);
  }
  const bool any = std::any_of(kept.begin(), kept.end(), [&](const ResourceAmount& entry) {
    return RuleFor(settings, entry.resource) != nullptr;
  });
  return any ? Transformed(kept, settings) : kept;
}

void SetRequests(const ResourceList& of_pod, const AdmissionSettings& settings, PodSet* pod_set) {
  pod_set->requests = QuotaRequest(of_pod, settings);
  pod_set->node_requests =
      pod_set->requests == of_pod ? nullptr : std::make_shared<const ResourceList>(of_pod);
}

std::int32_t PodsLeft(const JobRecord& job, const PodSet& pod_set,
                      const AdmissionSettings& settings) {
  if (job.admission_state == nullptr || !settings.reclaimable_pods) return pod_set.count;
  for (const auto& reclaimable : job.admission_state->reclaimable) {
    if (reclaimable.pod_set == pod_set.name) return std::max(0, pod_set.count - reclaimable.count);
  }
  return pod_set.count;
}

// A copy is made only if some pod set counts with fewer pods than were admitted.
AdmissionPtr ChargedAdmission(const JobRecord& job, const AdmissionSettings& settings) {
  if (job.admission == nullptr || job.pod_sets == nullptr) return job.admission;
  std::shared_ptr<Admission> charged;
  for (std::size_t i = 0; i < job.admission->pod_sets.size(); ++i) {
    const PodSetAssignment& admitted = job.admission->pod_sets[i];
    const std::int32_t count = PodsCharged(job, admitted, settings);
    if (count == admitted.count) continue;
    if (charged == nullptr) charged = std::make_shared<Admission>(*job.admission);
    PodSetAssignment& scaled = charged->pod_sets[i];
    scaled.count = count;
    for (auto& entry : scaled.usage) {
      if (entry.amount != kUnlimited) entry.amount = entry.amount / admitted.count * count;
    }
  }
  return charged == nullptr ? job.admission : charged;
}

std::vector<PodSetTotal> TotalRequests(const JobRecord& job, const AdmissionSettings& settings) {
  std::vector<PodSetTotal> totals;
  if (const AdmissionPtr charged = ChargedAdmission(job, settings)) {
    for (std::size_t i = 0; i < charged->pod_sets.size(); ++i) {
      const PodSetAssignment& counted = charged->pod_sets[i];
      totals.push_back({counted.name, counted.count, counted.usage, &job.admission->pod_sets[i]});
    }
    return totals;
  }
  for (const auto& pod_set : *job.pod_sets) {
    const std::int32_t left = PodsLeft(job, pod_set, settings);
    totals.push_back({pod_set.name, left, Scaled(pod_set.requests, left)});
  }
  return totals;
}

}  // namespace muster
