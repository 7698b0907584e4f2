// Partial admission (KEP-420, rule A34). With d pods to spare over all pod sets, the smallest cut
// in 0..d that fits is found in O(log d) searches. A cut is divided among the pod sets in
// proportion to what each can spare, rounded down, as in Kueue.
#include "schedd/core/flavor/partial_admission.h"

#include <algorithm>

namespace muster::core {
namespace {

// The pods that a pod set can do without; 0 if it has no minimum.
std::int64_t Spare(const PodSet& pod_set) {
  return pod_set.count - pod_set.min_count.value_or(pod_set.count);
}

}  // namespace

bool MayBePartial(const JobRecord& job, const AdmissionSettings& settings) {
  if (!settings.partial_admission || job.elastic || job.pod_sets == nullptr) return false;
  return std::any_of(job.pod_sets->begin(), job.pod_sets->end(),
                     [](const PodSet& pod_set) { return Spare(pod_set) > 0; });
}

std::optional<std::vector<std::int32_t>> LargestFittingCounts(
    const PodSets& pod_sets, const std::function<bool(std::span<const std::int32_t>)>& fits) {
  std::int64_t spare = 0;
  for (const PodSet& pod_set : pod_sets) spare += Spare(pod_set);
  if (spare <= 0) return std::nullopt;
  std::vector<std::int32_t> counts(pod_sets.size());
  std::optional<std::vector<std::int32_t>> best;
  // The smallest cut that fits is in [low, high).
  std::int64_t low = 0;
  std::int64_t high = spare + 1;
  while (low < high) {
    const std::int64_t cut = low + (high - low) / 2;
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
      counts[i] = pod_sets[i].count - static_cast<std::int32_t>(Spare(pod_sets[i]) * cut / spare);
    }
    if (fits(counts)) {
      best = counts;
      high = cut;
    } else {
      low = cut + 1;
    }
  }
  return best;
}

}  // namespace muster::core
