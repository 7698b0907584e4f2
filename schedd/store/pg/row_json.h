// The JSON columns of jobs: pod sets, batch details, admission, conditions, placement, and amounts.
// Values to text and back.
//
// Pure functions. A column that cannot be read is kDataLoss: this program did not write the row.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schedd/model/job.h"

namespace muster::pg {

std::string PodSetsText(const PodSets& pod_sets);
std::string BatchText(const BatchDetails& batch);
std::string AdmissionText(const Admission& admission);
std::string ConditionsText(const std::vector<Condition>& conditions);

std::string JobPlacementText(const JobPlacement& placement);

std::string AmountsText(const ResourceList& amounts);

Result<PodSetsPtr> ParsePodSets(std::string_view text);
Result<std::shared_ptr<const BatchDetails>> ParseBatch(std::string_view text);
Result<AdmissionPtr> ParseAdmission(std::string_view text);
Result<std::shared_ptr<const std::vector<Condition>>> ParseConditions(std::string_view text);

Result<JobPlacementPtr> ParseJobPlacement(std::string_view text);

Result<ResourceList> ParseAmounts(std::string_view text);

/// Lets the jobs of one load share equal pod sets, admissions and placements: most jobs look alike.
/// Not thread-safe.
class Interner {
 public:
  Result<PodSetsPtr> PodSetsOf(std::string_view text);
  Result<AdmissionPtr> AdmissionOf(std::string_view text);
  Result<JobPlacementPtr> PlacementOf(std::string_view text);

 private:
  std::unordered_map<std::string, PodSetsPtr> pod_sets_;
  std::unordered_map<std::string, AdmissionPtr> admissions_;
  std::unordered_map<std::string, JobPlacementPtr> placements_;
};

}  // namespace muster::pg
