// OwnersWorld: the engine's owners without its loop, on a memory store and a clock that stands. A
// test calls one owner and looks at the others' public state; nothing else moves.
#pragma once

#include <string>
#include <vector>

#include "schedd/engine/context/object_names.h"
#include "schedd/engine/owners.h"
#include "schedd/store/memory/memory_store.h"
#include "schedd/telemetry/metrics.h"
#include "tests/support/builders.h"
#include "tests/support/fake_clock.h"

namespace muster::test {

/// Keeps the orders to members as lines: "ensure east/1", "remove east/1", "list east", "forget".
class OrderRecorder final : public OrderSink {
 public:
  void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) override;
  void Remove(const DispatchKey& key, RemovePolicy policy) override;
  void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                   const std::string& uid) override;
  void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid) override;
  void List(const std::string& cluster) override;
  void Forget() override;

  std::vector<std::string> lines;
};

class OwnersWorld {
 public:
  explicit OwnersWorld(EngineOptions options = {});

  /// Namespace, flavor, ClusterQueue `cq` with 4 CPUs, LocalQueue `queue`, member `east` with 8.
  void Declare();
  /// Applies the changes, and commits them.
  Status Apply(const std::vector<ObjectChange>& changes);
  /// Accepts a job: it is durable and waits.
  JobPtr Submit(const JobSpec& spec);
  /// Decides, commits, and sends the orders that became due.
  void Cycle();
  /// Sends the open transaction, takes the store's answers, sends orders and gives answers.
  void Commit();
  /// Takes the store's answers alone.
  void TakeAnswers();
  /// What the member says of the current attempt of a job.
  void Report(const JobPtr& job, RemotePhase phase);
  JobPtr Now(const JobPtr& job) const { return owners.jobs.Find(job->id); }

  FakeClock clock;
  SeededRandom random{1};
  MemoryStore store;
  OrderRecorder orders;
  Metrics metrics;
  EngineContext context;
  Owners owners;
};

}  // namespace muster::test
