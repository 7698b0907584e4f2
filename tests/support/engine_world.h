// EngineWorld: one engine on a memory store with fake members, driven step by step on one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/steady_clock.h"
#include "schedd/engine/engine.h"
#include "schedd/store/memory/memory_store.h"
#include "tests/support/builders.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_members.h"

namespace muster::test {

/// Default options with other settings.
EngineOptions OptionsWith(AdmissionSettings settings);

class EngineWorld {
 public:
  explicit EngineWorld(std::uint64_t seed = 1, EngineOptions options = {},
                       MemoryStoreOptions store_options = {});

  /// Steps until the engine has nothing to do; orders to member clusters are not carried out.
  void Settle();
  /// Steps and carries out orders until neither has anything to do.
  void Run();
  /// The daemon dies, losing everything that is not committed, and starts again.
  void Restart();
  /// The same with other options.
  void Restart(EngineOptions options);

  /// Namespace, flavor `default`, ClusterQueue `cq`, LocalQueue `queue` and member `east` with
  /// these amounts. Requeued jobs of `cq` do not wait (muster.io/requeue-wait: 0s).
  void Declare(const ResourceList& nominal, const ResourceList& room);
  /// Applies the changes, settles and returns the outcome.
  Result<std::vector<AppliedObject>> Apply(std::vector<ObjectChange> changes, bool dry_run = false);
  /// Submits one job and settles; null if it was refused.
  JobPtr Submit(const JobSpec& spec);
  Result<JobPtr> Do(JobVerb verb, JobId id);
  /// SetCheck reports the state of an admission check, as its controller does; Change changes a
  /// job's spec. Both settle.
  Result<JobPtr> SetCheck(JobId id, const std::string& check, CheckState state,
                          std::optional<std::int32_t> requeue_after_s = std::nullopt);
  Result<ObjectPtr> ActivateCheck(const std::string& check);
  Result<JobPtr> Change(ChangeJobCommand command);
  Result<EditEffect> Preview(std::vector<ObjectChange> changes);

  JobPtr Job(JobId id) const { return engine->View()->jobs.Find(id); }
  JobState StateOf(JobId id) const;
  DispatchKey KeyOf(JobId id) const;
  /// The row of a job's attempt as stored; null if it is Gone.
  std::optional<DispatchRow> StoredRow(JobId id);
  std::int64_t UsedCpu(const std::string& cluster_queue = "cq") const;
  StoredWorld Stored();

  /// The host's; its jumps reach the engine as they do in the daemon.
  FakeClock clock;
  /// The engine's, anew with each start.
  std::unique_ptr<SteadyClock> steady;
  SeededRandom random;
  MemoryStore store;
  FakeMembers members;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<Engine> engine;
  std::vector<Event> events;

 private:
  void Start();
  EngineOptions options_;
  Epoch epoch_{1};
};

}  // namespace muster::test
