// The compiled form of a workload's flavor search, and the trace of one search over it. FlavorWalk
// decides with them, FlavorReport writes about them. Internal to FlavorPlan. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_score.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// One resource that the pod sets of a batch request.
struct FlavorNeed {
  struct Part {
    std::size_t pod_set = 0;
    std::int64_t per_pod = 0;
  };
  std::string resource;
  std::int64_t amount = 0;  // of all pods together, by the demand's counts
  std::vector<Part> parts;
  bool decides = true;  // false: a later step gives this resource its flavor
};

/// One flavor of a step.
struct FlavorOption {
  enum class Refusal : std::uint8_t { kNone, kNotAllowed, kMismatch };
  std::string flavor;
  Refusal refusal = Refusal::kNone;
  std::string why;                         // the sentence of a refusal
  std::vector<FlavorResourceIndex> pairs;  // by need; -1: the pair has no quota
};

/// One scan over the flavors of a resource group, for all needs that the group covers.
struct FlavorStep {
  std::size_t group = 0;    // index of the resource group
  bool uncovered = false;   // no group covers the one need of this step
  std::size_t trigger = 0;  // the need that was visited first and started the scan
  std::vector<FlavorNeed> needs;
  std::vector<FlavorOption> options;
};

/// Pod sets that get the same flavors: those of one topology group, or one pod set alone.
struct FlavorBatch {
  std::vector<std::size_t> pod_sets;
  std::vector<FlavorStep> steps;
};

/// How one option serves one need. Equal traces give equal reports.
struct NeedTrace {
  std::int64_t amount = 0;   // wanted by this batch
  std::int64_t assumed = 0;  // taken by earlier batches
  Grade grade = Grade::kNoFit;
  std::int32_t level = 0;
  std::int64_t potential = 0;  // the most that its queue could have
  std::int64_t available = 0;  // what is free of it; set only if the need does not fit
  bool exceeds = false;        // it asks for more than the queue could ever have
  bool other_flavor = false;   // the replaced slice does not run on this flavor
  /// With other_flavor: the flavor that the replaced slice runs on; null: none.
  const std::string* replaced_flavor = nullptr;
  bool operator==(const NeedTrace&) const = default;
};

/// One option that the scan looked at.
struct OptionTrace {
  std::size_t option = 0;
  bool pinned_out = false;  // skipped: not the flavor of the first nomination
  FlavorScore score;
  std::vector<NeedTrace> needs;  // empty for a skipped or refused option
  bool operator==(const OptionTrace&) const = default;
};

/// One scan.
struct StepTrace {
  std::size_t batch = 0, step = 0;
  bool held = false;  // no scan: the flavors of a reservation stay
  std::vector<OptionTrace> options;
  std::int32_t chosen = -1;  // position in `options`
  std::int32_t tried_idx = 0;
  bool operator==(const StepTrace&) const = default;
};
using FlavorTrace = std::vector<StepTrace>;

}  // namespace muster::core
