// Dispatcher::Impl: one worker thread owns all state; every other thread pushes tasks into its
// queue. A call's answer is a task too, so no lock guards the worker's state.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <variant>
#include <vector>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/mutex.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/text/json.h"

namespace muster::dispatch {

struct EnsureTask {
  DispatchKey key;
  JobPtr job;
  /// "": create the object. Otherwise release or resize the object with this uid.
  std::string expected_uid;
  /// The lead at the time of the order.
  Permit permit;
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
/// All orders before it are void.
struct ForgetTask {};
/// Time to check whether the lead has been confirmed.
struct AskAgainTask {};
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
struct EnsureOutcome {
  DispatchKey key;
  Result<RemoteRef> outcome;
};
struct RemoveOutcome {
  DispatchKey key;
  Result<RemovalResult> outcome;
};
struct AcknowledgeOutcome {
  AcknowledgeTask task;
  Result<Done> outcome;
};
struct ConfirmOutcome {
  DispatchKey key;
  std::string uid;
  Result<Presence> outcome;
};
struct ListOutcome {
  std::string cluster;
  Result<std::vector<Observation>> outcome;
};
/// A release that was rendered together with the creation of its object, so that the manifest is
/// read once.
struct ReadyRelease {
  /// The job as it was then.
  JobPtr job;
  DispatchOrder order;
};
/// The lane of `key` has waited out its back-off.
struct RetryTask {
  DispatchKey key;
};
/// Time to list every member again.
struct ReconcileTask {};
/// An observation or facts, to be posted to the engine.
struct ReportTask {
  Command command;
};
/// The engine's inbox was full: try again.
struct PostTask {};

using Task =
    std::variant<EnsureTask, RemoveTask, AcknowledgeTask, ConfirmTask, ListTask, FactsTask,
                 EnsureOutcome, RemoveOutcome, AcknowledgeOutcome, ConfirmOutcome, ListOutcome,
                 RetryTask, ReconcileTask, ReportTask, PostTask, ForgetTask, AskAgainTask>;

/// The calls for one key, strictly one after another.
struct Lane {
  std::deque<std::variant<EnsureTask, RemoveTask, AcknowledgeTask, ConfirmTask>> waiting;
  /// A call is under way, or the list after a call with an unknown outcome.
  bool busy = false;
  /// A RetryTask is scheduled.
  bool delayed = false;
  /// The RetryTask has come: the next call may start.
  bool backed_off = false;
  /// In a row.
  int failures = 0;
  /// The last Ensure failed. A Confirm between two of them does not end their back-off.
  bool ensure_failed = false;
  /// The last of the failures was a Remove.
  bool remove_failed = false;
  /// An Acknowledge waits or is under way.
  bool acknowledges = false;
};

/// The Ensures of one member. Orders that the member has no capacity for wait here, where they have
/// no deadline, and not in the backend.
struct EnsureQueue {
  /// To be rendered; releases first.
  std::deque<EnsureTask> to_release, to_create;
  /// Sent, or being rendered; until their EnsureOutcome.
  std::size_t under_way = 0;
};

/// The lists of one member: one at a time; a further one follows if it was asked for meanwhile.
struct MemberListing {
  bool busy = false, again = false;
  int failures = 0;
  /// Attempts with an Ensure or another call under way while the list is taken: their absence
  /// proves nothing.
  std::set<DispatchKey> unsure;
  /// Ensures with an unknown outcome, which is reported after a list.
  std::vector<std::pair<DispatchKey, Error>> unknown;
  /// How many of `unknown`, from the front, the list under way settles.
  std::size_t settles = 0;
};

struct Dispatcher::Impl : std::enable_shared_from_this<Impl> {
  Impl(Store& store_in, const Clock& clock_in, TimerService& timers_in, Random& random_in,
       Metrics& metrics_in, DispatcherOptions options_in);

  // dispatcher.cc
  void Work();
  void Turn(std::chrono::nanoseconds wait);
  void Handle(Task task);
  void TellUnserved();
  /// Null if no backend serves the cluster.
  Backend* Serving(const std::string& cluster) const;
  std::vector<std::string> Served() const;
  void Post(Command command);
  void FlushOutbox();
  void At(std::int64_t after_ms, Task task);
  std::int64_t BackoffMs(int failures);

  // lead.cc: calls wait while the lead is not confirmed, and are dropped when it is lost.
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
  void Complete(EnsureOutcome done);
  void Complete(RemoveOutcome done);
  void Complete(AcknowledgeOutcome done);
  void Complete(ConfirmOutcome done);

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
  void Complete(ListOutcome done);

  Store& store;
  const Clock& clock;
  TimerService& timers;
  Random& random;
  const DispatcherOptions options;
  Counter& calls_failed;
  Counter& gaps;

  BoundedQueue<Task> tasks;
  mutable SharedMutex backends_mutex;
  /// By cluster.
  std::map<std::string, Backend*> backends MUSTER_GUARDED_BY(backends_mutex);
  /// Fixed after Start.
  std::vector<Backend*> all_backends;
  std::function<bool(Command)> post;
  std::function<WorldViewPtr()> view;

  // All members below belong to the worker.
  std::map<DispatchKey, Lane> lanes;
  std::map<std::string, MemberListing> listings;
  /// By cluster.
  std::map<std::string, EnsureQueue> outgoing;
  std::map<DispatchKey, ReadyRelease> ready_releases;
  /// The keys of ready_releases in the order of their making; may name some that were taken since.
  std::deque<DispatchKey> ready_order;
  /// Lanes that wait for the lead.
  std::set<DispatchKey> held;
  /// An AskAgainTask is scheduled.
  bool asking = false;
  Monotonic waits_since{}, asked_last{};
  bool wait_told = false;
  std::deque<Command> outbox;
  bool outbox_waits = false;
  /// More Ensures can be started at once.
  bool more = false;
  std::atomic<bool> stopping{false};
  bool started = false;
  std::jthread worker;
};

}  // namespace muster::dispatch
