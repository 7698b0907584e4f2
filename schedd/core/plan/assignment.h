// Assignment: the result of the flavor search for one workload: flavors, modes, topology, what is
// charged, where the scan of each resource ended and, if the workload does not fit, why (rules A27
// to A33). Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/preempt/preemption.h"
#include "schedd/core/quota/holders.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// kPreempt: the workload would fit if holders of quota were evicted.
enum class FlavorMode : std::uint8_t { kNoFit, kPreempt, kFit };

/// The flavor chosen for one resource of one pod set.
struct FlavorAssignment {
  std::string flavor;
  FlavorMode mode = FlavorMode::kNoFit;
  /// Index of the last flavor looked at; -1: it was the last of its group, so the next search
  /// starts over.
  std::int32_t tried_flavor_idx = -1;
  std::int32_t borrowing_level = 0;
};

/// One flavor that the search looked at, for events and explain.
struct FlavorAttempt {
  std::string flavor;
  FlavorMode mode = FlavorMode::kNoFit;
  std::int32_t borrowing_level = 0;
  Reason no_fit_reason = Reason::kNone;
  /// The worst outlook of preemption over its resources; unset if the oracle was not asked.
  std::optional<PreemptionOutlook::Possibility> preemption;
  std::vector<std::string> reasons;  // sorted, each once
};

/// The flavors of one pod set.
struct PodSetFlavors {
  std::string name;
  std::int32_t count = 0;
  ResourceList requests;                            // of all its pods together
  std::map<std::string, FlavorAssignment> flavors;  // by resource; incomplete if it does not fit
  std::vector<std::string> reasons;                 // sorted; why it does not fit, or not yet
  bool uncovered = false;                           // it asks for a resource of no resource group
  std::string error;                                // internal failure; "" if none
  TopologyAssignmentPtr topology;
  bool topology_delayed = false;
  std::vector<FlavorAttempt> attempts;  // by flavor name

  /// The worst mode of its flavors; kNoFit after an error or if a needed flavor is missing.
  FlavorMode Mode() const;
};

/// Where each flavor scan ended, by pod set and resource (tried_flavor_idx): the next search goes
/// on behind these flavors.
using ScanPosition = std::vector<std::map<std::string, std::int32_t>>;

struct Assignment {
  std::vector<PodSetFlavors> pod_sets;  // in the workload's order, as far as they were decided
  std::int32_t borrowing_level = 0;
  Charges usage;  // what it adds to the queue's usage, less what a replaced slice holds
  ScanPosition last_tried;
  Reason no_fit_reason = Reason::kNone;  // the reason to show when it does not fit
  std::string message;                   // the text of Message(), if it was made before; "" if not
  std::string cluster;  // the member cluster of the machines in its topology; "": none
  /// The mode by topology, if it differs from the mode by quota.
  std::optional<FlavorMode> topology_mode;

  /// The mode by topology if there is one, else the worst mode of any pod set; kNoFit without pod
  /// sets.
  FlavorMode Mode() const;
  /// "couldn't assign flavors to pod set main: ..., ..."; "" if it fits.
  std::string Message() const;
  /// Null if there is none.
  const PodSetFlavors* Find(const std::string& pod_set) const;
  /// The pairs whose mode is kPreempt: a search for victims must free these.
  std::vector<FlavorResourceIndex> Contested(const QuotaTree& tree) const;
  /// The admission as the job's record stores it.
  AdmissionPtr ToAdmission(const std::string& cluster_queue) const;
};

using AssignmentPtr = std::shared_ptr<const Assignment>;

}  // namespace muster::core
