// Assignment: what the flavor search found for one workload: flavors, modes, topology, what is
// charged, how far the scan got and, where it does not fit, why (rules A27 to A33). Plain values.
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

enum class FlavorMode : std::uint8_t { kNoFit, kPreempt, kFit };

/// The flavor chosen for one resource of one pod set.
struct FlavorAssignment {
  std::string flavor;
  FlavorMode mode = FlavorMode::kNoFit;
  /// Index of the last flavor looked at; -1: it was the last of its group, start over next time.
  std::int32_t tried_flavor_idx = -1;
  std::int32_t borrowing_level = 0;
};

/// One flavor that was looked at, for events and explain.
struct FlavorAttempt {
  std::string flavor;
  FlavorMode mode = FlavorMode::kNoFit;
  std::int32_t borrowing_level = 0;
  Reason no_fit_reason = Reason::kNone;
  /// The least that preemption could do for any of its resources; unset if that was not asked.
  std::optional<PreemptionOutlook::Possibility> preemption;
  std::vector<std::string> reasons;  // sorted, each once
};

struct PodSetFlavors {
  std::string name;
  std::int32_t count = 0;
  ResourceList requests;                            // of all its pods
  std::map<std::string, FlavorAssignment> flavors;  // by resource; incomplete if it does not fit
  std::vector<std::string> reasons;                 // sorted; why not (or not yet)
  bool uncovered = false;                           // it asks for a resource that no group has
  std::string error;                                // internal failure; "" if none
  TopologyAssignmentPtr topology;
  bool topology_delayed = false;
  std::vector<FlavorAttempt> attempts;  // by flavor name

  /// The worst of its flavors; kNoFit after an error or without the flavors that it needs.
  FlavorMode Mode() const;
};

/// Where each scan ended, by pod set and resource: the flavors to go on with next time.
using ScanPosition = std::vector<std::map<std::string, std::int32_t>>;

struct Assignment {
  std::vector<PodSetFlavors> pod_sets;  // in the workload's order, as far as they were decided
  std::int32_t borrowing_level = 0;
  Charges usage;  // what it adds (net of a replaced slice)
  ScanPosition last_tried;
  Reason no_fit_reason = Reason::kNone;  // the reason to show when it does not fit
  std::string message;  // what Message() says, if that was worked out before; "" if not
  std::string cluster;  // the member cluster whose machines its topology names; "": none is named
  /// What topology made of it, if that is not what quota says.
  std::optional<FlavorMode> topology_mode;

  /// The worst mode of any pod set, or what topology said; kNoFit without pod sets.
  FlavorMode Mode() const;
  /// "couldn't assign flavors to pod set main: ..., ..."; "" if it fits.
  std::string Message() const;
  /// "main: spot(NoFit;borrow=1;reason) | ...": what was considered, for events (rule A33); ""
  /// if nothing but fits without borrowing.
  std::string AttemptsText() const;
  /// Null if there is none.
  const PodSetFlavors* Find(const std::string& pod_set) const;
  /// The pairs whose mode is kPreempt: what a victim search must free.
  std::vector<FlavorResourceIndex> Contested(const QuotaTree& tree) const;
  /// The admission to store.
  AdmissionPtr ToAdmission(const std::string& cluster_queue) const;
};

using AssignmentPtr = std::shared_ptr<const Assignment>;

}  // namespace muster::core
