// Dispatcher::Impl: one worker thread that owns all state; everybody else pushes tasks into its
// queue.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <shared_mutex>
#include <thread>
#include <variant>
#include <vector>

#include "schedd/base/bounded_queue.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/text/json.h"

namespace muster::dispatch {

struct EnsureTask {
  DispatchKey key;
  JobPtr job;
  std::string expected_uid;  // "": make it; else release or resize that object
  Permit permit;             // as it was when it was ordered
};
struct RemoveTask {
  DispatchKey key;
  RemovePolicy policy;
  Permit permit;
};
struct AcknowledgeTask {
  DispatchKey key;
  RemoteObject object;
  std::string uid;
  Permit permit;
};
struct ForgetTask {};     // what was ordered before it is void
struct AskAgainTask {};   // whether the lead has been confirmed
struct ConfirmTask {
  DispatchKey key;
  RemoteObject object;
  std::string uid;
  Permit permit;
};
struct ListTask {
  std::string cluster;
};
struct FactsTask {
  std::string cluster;
};
struct EnsureDone {
  DispatchKey key;
  Result<RemoteRef> outcome;
};
struct RemoveDone {
  DispatchKey key;
  Result<Removed> outcome;
};
struct AcknowledgeDone {
  AcknowledgeTask task;
  Result<Done> outcome;
};
struct ConfirmDone {
  DispatchKey key;
  std::string uid;
  Result<Presence> outcome;
};
struct ListDone {
  std::string cluster;
  Result<std::vector<Observation>> outcome;
};
/// A release that was rendered when its object was ordered: the same manifest, read once.
struct ReadyRelease {
  JobPtr job;  // as it was then
  DispatchOrder order;
};
struct RetryTask {
  DispatchKey key;  // its lane has waited long enough
};
struct ReconcileTask {};  // time to list everything again
struct ReportTask {
  Command command;  // an observation or facts, to be posted
};
struct PostTask {};  // the engine's inbox was full: try again

using Task = std::variant<EnsureTask, RemoveTask, AcknowledgeTask, ConfirmTask, ListTask, FactsTask,
                          EnsureDone, RemoveDone, AcknowledgeDone, ConfirmDone, ListDone, RetryTask,
                          ReconcileTask, ReportTask, PostTask, ForgetTask, AskAgainTask>;

/// The calls for one key, strictly one after another.
struct Lane {
  std::deque<std::variant<EnsureTask, RemoveTask, AcknowledgeTask, ConfirmTask>> waiting;
  bool busy = false;           // a call, or the question after an unknown outcome, is under way
  bool delayed = false;        // a RetryTask is on its way
  bool backed_off = false;     // it has come: the next call may start
  int failures = 0;            // in a row
  bool remove_failed = false;  // the last of them was a Remove
  bool acknowledges = false;   // an Acknowledge waits or is under way
};

/// Ensures of one member. What waits for the member waits here, and not with a deadline in the
/// backend.
struct Outgoing {
  std::deque<EnsureTask> to_release, to_create;  // to be rendered; releases first
  std::size_t under_way = 0;                     // until their EnsureDone
};

/// Lists of one member: one at a time, asked for again if something wanted a later one.
struct Listing {
  bool busy = false, again = false;
  int failures = 0;
  std::set<DispatchKey> unsure;                        // Ensure under way at some time of this list
  std::vector<std::pair<DispatchKey, Error>> unknown;  // outcomes to be told after a list
  std::size_t settles = 0;  // how many of them the list under way answers
};

struct Dispatcher::Impl : std::enable_shared_from_this<Impl> {
  Impl(Store& store_in, const Clock& clock_in, TimerService& timers_in, Random& random_in,
       Metrics& metrics_in, DispatcherOptions options_in);

  // dispatcher.cc
  void Work();
  void Handle(Task task);
  void TellUnserved();
  /// Null if no backend serves it.
  Backend* Serving(const std::string& cluster) const;
  std::vector<std::string> Served() const;
  void Post(Command command);
  void FlushOutbox();
  void At(std::int64_t after_ms, Task task);
  std::int64_t BackoffMs(int failures);

  // lead.cc: who may not act now waits, and what may never be done any more goes.
  Permit PermitNow() const;
  bool MayBegin(const DispatchKey& key, Lane* lane);
  bool MayStart(const EnsureTask& task);
  void AskAgain();
  void AskedAgain();
  void Forget();
  void DropVoid(std::deque<EnsureTask>* queue);

  // lanes.cc: ensure, remove, acknowledge and confirm, per key.
  void Enqueue(EnsureTask task);
  void Enqueue(RemoveTask task);
  void Enqueue(AcknowledgeTask task);
  void Enqueue(ConfirmTask task);
  void Advance(const DispatchKey& key);
  void StartRemove(RemoveTask task);
  void StartAcknowledge(AcknowledgeTask task);
  void StartConfirm(ConfirmTask task);
  void Complete(EnsureDone done);
  void Complete(RemoveDone done);
  void Complete(AcknowledgeDone done);
  void Complete(ConfirmDone done);

  // render.cc: manifests to orders, many at a time.
  bool StartEnsures();
  void Begin(EnsureTask task, std::vector<EnsureTask>* to_render);
  std::optional<DispatchOrder> TakeReady(const EnsureTask& task);
  void KeepReady(const EnsureTask& task, const json::value& manifest, const WorldView& world);
  void Send(const EnsureTask& task, Backend& backend, Result<DispatchOrder> order);
  Result<DispatchOrder> MakeOrder(const EnsureTask& task, const std::string& manifest,
                                  const WorldView& world, const Backend& backend);
  Result<DispatchOrder> Rendered(const EnsureTask& task, const json::value& manifest,
                                 const WorldView& world, bool suspended) const;
  Status AddReferences(const JobRecord& job, const json::value& manifest, const WorldView& world,
                       DispatchOrder* order) const;

  // listing.cc
  void StartList(const std::string& cluster);
  void Complete(ListDone done);

  Store& store;
  const Clock& clock;
  TimerService& timers;
  Random& random;
  const DispatcherOptions options;
  Counter& calls_failed;
  Counter& gaps;

  BoundedQueue<Task> tasks;
  mutable std::shared_mutex backends_mutex;
  std::map<std::string, Backend*> backends;  // by cluster; guarded by backends_mutex
  std::vector<Backend*> all_backends;        // fixed after Start
  std::function<bool(Command)> post;
  std::function<WorldViewPtr()> view;

  // The worker's own.
  std::map<DispatchKey, Lane> lanes;
  std::map<std::string, Listing> listings;
  std::map<std::string, Outgoing> outgoing;  // by cluster
  std::map<DispatchKey, ReadyRelease> ready_releases;
  std::deque<DispatchKey> ready_order;  // of their making; may name some that are taken
  std::set<DispatchKey> held;           // lanes that wait for the lead
  bool asking = false;                  // an AskAgainTask is on its way
  Monotonic waits_since{}, asked_last{};
  bool wait_told = false;
  std::deque<Command> outbox;
  bool outbox_waits = false;
  std::atomic<bool> stopping{false};
  std::jthread worker;
};

}  // namespace muster::dispatch
