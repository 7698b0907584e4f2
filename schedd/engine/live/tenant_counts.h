// TenantCounts: how many jobs of each user and of each namespace wait, and the caps on them (rule
// U75). A tenant at its cap is refused; the queue of all others stays open.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "schedd/engine/context/engine_options.h"
#include "schedd/engine/live/job_follower.h"
#include "schedd/engine/live/live_config.h"
#include "schedd/world/command.h"

namespace muster {

/// On the engine thread only.
class TenantCounts : public JobFollower {
 public:
  /// Both must outlive it.
  TenantCounts(const EngineOptions& options, const LiveConfig& config)
      : options_(options), config_(config) {}

  /// The jobs of a command that fit under the caps, from the first one on, and the refusal of the
  /// first that does not (kResourceExhausted with a retry time); no refusal if all fit.
  struct Fit {
    std::size_t jobs = 0;
    std::optional<Error> refusal;
  };
  Fit FitOf(std::span<const Submission> jobs) const;

  /// The job was taken and is not durable yet: it counts as waiting.
  void Take(const JobRecord& job);
  /// It was refused, or became durable and is about to enter memory.
  void Drop(const JobRecord& job);

  void Enter(const JobPtr& job) override;
  void Change(const JobRecord& before, const JobPtr& job) override;
  /// Forgets the jobs in memory, for a recovery; those on their way to the store still count.
  void Reset();

 private:
  struct Count {
    std::size_t waiting = 0, coming = 0;
    std::size_t all() const { return waiting + coming; }
  };
  using Counts = std::unordered_map<std::string, Count>;

  static void Step(Counts* counts, const std::string& key, std::size_t Count::*which, bool up);
  void StepBoth(const JobRecord& job, std::size_t Count::*which, bool up);
  std::optional<Error> Refusal(const JobRecord& job, std::size_t more_of_user,
                               std::size_t more_of_namespace) const;

  const EngineOptions& options_;
  const LiveConfig& config_;
  // A tenant without waiting jobs has no entry. Never iterated but to reset them.
  Counts users_, namespaces_;
};

}  // namespace muster
