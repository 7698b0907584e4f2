// FlavorWalk: one search over the compiled steps of a FlavorPlan against a usage, on integers. With
// a trace it records all that a report needs and asks the preemption oracle; without one it gives
// up where only an oracle could decide. Internal to FlavorPlan.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/flavor/flavor_plan.h"
#include "schedd/core/flavor/flavor_steps.h"

namespace muster::core {

class FlavorWalk {
 public:
  /// `job` and `trace` null: the quick walk of FlavorPlan::Choose, which uses only `resume` of the
  /// request.
  FlavorWalk(const FlavorPlan& plan, const Usage& usage, const AssignRequest& request,
             const JobRecord* job, FlavorTrace* trace);

  /// Decides batch after batch until one fails. `options` gets the option of each step, `assumed`
  /// the charges of all served batches, `level` the largest borrowing level.
  QuickVerdict::Kind Run(std::vector<std::int16_t>* options, Charges* assumed, std::int32_t* level);

  /// The reservation of a pod set, and the flavor that it gives to one resource; null if there is
  /// none (second pass).
  const PodSetAssignment* HeldPodSet(std::size_t pod_set) const;
  const std::string* Held(std::size_t pod_set, const std::string& resource) const;

 private:
  /// How a step ended.
  enum class End : std::uint8_t { kServed, kFailed, kNeedsSearch };
  /// The result of one option.
  struct Judgement {
    FlavorScore score;
    std::int32_t level = 0;  // the largest borrowing level of its needs
    bool fits = true;        // all of its needs fit, whatever the score is
    bool unknown = false;    // only an oracle could tell
  };

  End RunStep(std::size_t batch, std::size_t step);
  End Scan(const FlavorBatch& batch, const FlavorStep& step, StepTrace* trace);
  Judgement JudgeOption(const FlavorBatch& batch, const FlavorStep& step, std::size_t option,
                        OptionTrace* trace);
  /// Sets grade and level of `need` from its amount and what earlier batches took.
  void JudgeNeed(FlavorResourceIndex pair, NeedTrace* need, bool* unknown);
  // The amount that this search asks for, by the request's counts if there are any.
  std::int64_t Wanted(const FlavorNeed& need) const;
  std::int64_t Replaced(const FlavorBatch& batch, const FlavorNeed& need) const;
  void NoteReplaced(const FlavorBatch& batch, const FlavorNeed& need, const std::string& flavor,
                    NeedTrace* trace) const;
  bool PinnedOut(const FlavorBatch& batch, const FlavorStep& step, const std::string& flavor) const;
  bool IsHeld(const FlavorBatch& batch, const FlavorNeed& need) const;
  std::size_t FirstOption(const FlavorBatch& batch, const FlavorStep& step) const;
  void TakeBatch(const FlavorBatch& batch, std::size_t first_step);
  void Assume(FlavorResourceIndex pair, std::int64_t amount);

  const FlavorPlan& plan_;
  const Usage& usage_;
  const AssignRequest& request_;
  const JobRecord* job_;
  FlavorTrace* trace_;
  const Admission* held_ = nullptr;
  // By pod set: the reservation of the slice that is replaced; empty if none is.
  std::vector<const PodSetAssignment*> replaced_;
  std::vector<std::int16_t>* options_ = nullptr;
  Charges* assumed_ = nullptr;
  std::int32_t level_ = 0;
  bool all_fit_ = true;
};

}  // namespace muster::core
