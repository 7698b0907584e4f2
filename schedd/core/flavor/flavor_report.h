// FlavorReport: writes the trace of a flavor search out as an Assignment: flavors, modes,
// sentences, attempts, scan position (rules A31, A33). Internal to FlavorPlan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_walk.h"

namespace muster::core {

class FlavorReport {
 public:
  FlavorReport(const FlavorPlan& plan, const Usage& usage, const AssignRequest& request,
               const FlavorWalk& walk)
      : plan_(plan), usage_(usage), request_(request), walk_(walk) {}

  /// The assignment of this trace. `assumed`: what the served batches take together.
  Assignment Write(const FlavorTrace& trace, Charges assumed);
  /// Sets no_fit_reason of an assignment that does not fit (rule A33).
  static void ResolveNoFit(const ClusterQueue& queue, Assignment* assignment);

 private:
  // The result of one batch, before it is divided among its pod sets.
  struct Batch {
    std::map<std::string, FlavorAssignment> flavors;  // by resource
    std::vector<std::string> reasons;
    std::map<std::string, FlavorAttempt> attempts;  // by flavor
    bool failed = false;
    bool uncovered = false;
  };

  void WriteStep(const FlavorBatch& sets, const FlavorStep& step, const StepTrace& trace,
                 Batch* batch);
  void WriteHeld(const FlavorBatch& sets, const FlavorStep& step, Batch* batch) const;
  FlavorAttempt WriteOption(const FlavorBatch& sets, const FlavorStep& step,
                            const OptionTrace& trace, std::vector<std::string>* reasons);
  void Merge(const FlavorStep& step, const std::vector<FlavorAttempt>& attempts,
             Batch* batch) const;
  void WritePodSet(std::size_t index, const Batch& batch, Assignment* assignment) const;
  std::map<std::string, FlavorAssignment> FlavorsOf(std::size_t index, const ResourceList& requests,
                                                    const Batch& batch) const;
  std::int32_t CountOf(std::size_t index) const;
  void AddVerdict(const FlavorBatch& sets, const FlavorOption& option, std::size_t need,
                  const std::string& resource, const NeedTrace& trace);

  const FlavorPlan& plan_;
  const Usage& usage_;
  const AssignRequest& request_;
  const FlavorWalk& walk_;
};

}  // namespace muster::core
