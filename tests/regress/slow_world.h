// SlowWorld: an EngineWorld whose store writes only when the scenario says so, one write at a time.
#pragma once

#include <string>
#include <utility>

#include "tests/unit/engine/batch_world.h"

namespace muster::test {

/// Namespace, flavor, ClusterQueue `cq` with these CPUs, LocalQueue `queue`, and member `east` with
/// eight.
struct SlowWorld {
  explicit SlowWorld(EngineOptions options = {}, std::int64_t cpus = 4)
      : world(1, std::move(options), {.manual = true}) {
    world.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", cpus * 1000}}}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    Drain();
  }
  /// Posts a submission; nothing is carried out yet.
  void Post(const ScriptSpec& spec) {
    SubmitCommand command;
    command.jobs.push_back(ScriptSubmission(spec));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world.engine->Post(std::move(command));
  }
  void Submit(const ScriptSpec& spec) {
    Post(spec);
    Drain();
  }
  /// Posts a verb; nothing is carried out yet.
  void Post(
      JobVerb verb, JobId id, Callback<JobPtr> done = [](Result<JobPtr>) {}) {
    world.engine->Post(JobCommand{{"alice", "test"}, verb, id, std::move(done)});
  }
  /// Writes until nothing waits.
  void Drain() {
    do {
      world.Settle();
    } while (world.store.DrainOne());
  }
  EngineWorld world;
};

}  // namespace muster::test
