// The compiled form of a workload's flavor search, and the trace of one search over it: what
// flavor_plan decides with and flavor_report writes about. Internal to the two. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_score.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// One resource that some pod sets decided together request.
struct FlavorNeed {
  struct Part {
    std::size_t pod_set = 0;
    std::int64_t per_pod = 0;
  };
  std::string resource;
  std::int64_t amount = 0;  // of all pods, by the demand's counts
  std::vector<Part> parts;
  bool decides = true;  // false: a later step gives this resource its flavor
};

struct FlavorOption {
  enum class Refusal : std::uint8_t { kNone, kNotAllowed, kMismatch };
  std::string flavor;
  Refusal refusal = Refusal::kNone;
  std::string why;                         // the sentence of a refusal
  std::vector<FlavorResourceIndex> pairs;  // by need; -1: no quota knows it
};

/// One scan over the flavors of a resource group, for all needs that it covers.
struct FlavorStep {
  std::size_t group = 0;    // index of the resource group
  bool uncovered = false;   // no group has the one need of this step
  std::size_t trigger = 0;  // the need that made it necessary
  std::vector<FlavorNeed> needs;
  std::vector<FlavorOption> options;
};

/// Pod sets that get the same flavors: those of one topology group, else one alone.
struct FlavorBatch {
  std::vector<std::size_t> pod_sets;
  std::vector<FlavorStep> steps;
};

/// How one need fared with one flavor. Of equal traces equal reports are written.
struct NeedTrace {
  std::int64_t amount = 0;   // wanted by this batch
  std::int64_t assumed = 0;  // taken by earlier batches
  Grade grade = Grade::kNoFit;
  std::int32_t level = 0;
  std::int64_t potential = 0;  // the most that its queue could have
  std::int64_t available = 0;  // what is left of it; looked at only if it does not fit
  bool exceeds = false;        // more than there ever is
  bool other_flavor = false;   // the replaced slice runs on another flavor:
  const std::string* replaced_flavor = nullptr;  // this one, of the request's slice; null: none
  bool operator==(const NeedTrace&) const = default;
};

struct OptionTrace {
  std::size_t option = 0;
  bool pinned_out = false;  // not a flavor of the first nomination
  FlavorScore score;
  std::vector<NeedTrace> needs;  // empty if it was refused
  bool operator==(const OptionTrace&) const = default;
};

struct StepTrace {
  std::size_t batch = 0, step = 0;
  bool held = false;  // the flavors of a reservation stay; nothing was looked at
  std::vector<OptionTrace> options;
  std::int32_t chosen = -1;  // position in `options`
  std::int32_t tried_idx = 0;
  bool operator==(const StepTrace&) const = default;
};
using FlavorTrace = std::vector<StepTrace>;

}  // namespace muster::core
