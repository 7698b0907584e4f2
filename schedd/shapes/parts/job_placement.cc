// The annotations are muster.io/placement (a placement's name), muster.io/cluster (one member
// cluster), muster.io/datasets (names separated by commas), muster.io/datasets-required and
// muster.io/checkpointable ("true" or "false"). Labels are copied for the selectors of placements,
// apart from those that are fields of the job.
#include "schedd/shapes/parts/job_placement.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kPlacementKey = "muster.io/placement";
constexpr std::string_view kDatasetsKey = "muster.io/datasets";
constexpr std::size_t kDatasetBytes = 253;

// Printable characters without spaces.
bool IsDatasetName(std::string_view name) {
  return !name.empty() && name.size() <= kDatasetBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

bool IsMemberName(std::string_view name) { return name.size() <= 63 && IsDnsSubdomain(name); }

bool IsQueueingLabel(std::string_view key) {
  return key == kQueueKey || key == kPriorityKey || key == kMaxExecTimeKey;
}

std::string ReadPlacementName(const Field& annotations) {
  const Field field = annotations.Named(kPlacementKey);
  const auto text = field.String();
  if (!text) return "";
  if (text->size() > kPlacementNameBytes || !IsDnsSubdomain(*text))
    field.Fail("must be the name of a placement: a DNS subdomain of at most 63 bytes");
  return std::string(*text);
}

std::vector<std::string> ReadDatasets(const Field& annotations, std::size_t most) {
  const Field field = annotations.Named(kDatasetsKey);
  std::vector<std::string> names =
      ReadNameList(field, &IsDatasetName,
                   "must be names separated by commas, each of 1 to 253 printable characters");
  if (names.size() > most) field.Fail("must be at most " + std::to_string(most) + " names");
  return names;
}

// Null for a job without any of these, so that such jobs are equal to each other (rule A14).
JobPlacementPtr ReadJobPlacement(const Field& metadata) {
  JobPlacement placement;
  for (const auto& [key, field] : metadata["labels"].Members()) {
    if (!IsQueueingLabel(key)) placement.labels.emplace(key, field.StringOr(""));
  }
  const Field annotations = metadata["annotations"];
  placement.placement = ReadPlacementName(annotations);
  const Field cluster = annotations.Named(kClusterKey);
  if (const auto text = cluster.String()) {
    if (!IsMemberName(*text)) cluster.Fail(kMemberNameRule);
    placement.cluster = *text;
  }
  placement.datasets = ReadDatasets(annotations, limits::kJobDatasets);
  const Field required = annotations.Named("muster.io/datasets-required");
  placement.datasets_required = required.OneOf({"true", "false"}) == "true";
  if (placement.datasets_required && placement.datasets.empty())
    required.Fail("needs annotation muster.io/datasets, which names them");
  placement.checkpointable =
      annotations.Named("muster.io/checkpointable").OneOf({"true", "false"}) == "true";
  if (placement == JobPlacement{}) return nullptr;
  return std::make_shared<const JobPlacement>(std::move(placement));
}

}  // namespace muster::shapes
