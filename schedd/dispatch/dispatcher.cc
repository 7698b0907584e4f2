// The dispatcher's worker thread and its public functions. Every public function pushes a task; the
// worker takes tasks in order and owns all other state. After each batch of tasks it starts Ensures
// (render.cc) and sends reports to the engine. Calls for one key stand in a lane (lanes.cc), lists
// in listing.cc, permission to act in lead.cc.
#include "schedd/dispatch/dispatcher.h"

#include <algorithm>
#include <limits>

#include "schedd/base/fault_points.h"
#include "schedd/base/mutex.h"
#include "schedd/dispatch/impl.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {
namespace {

// The engine takes some hundred commands from its inbox in this time.
constexpr std::int64_t kPostRetryMs = 5;
// The queue has no limit of its own: orders are bounded by admitted jobs, reports by attempts on
// members, and neither may be lost.
constexpr std::size_t kTasks = std::numeric_limits<std::size_t>::max();

// For std::visit: one lambda for each alternative.
template <class... F>
struct Overloads : F... {
  using F::operator()...;
};
template <class... F>
Overloads(F...) -> Overloads<F...>;

}  // namespace

Dispatcher::Impl::Impl(Store& store_in, const Clock& clock_in, TimerService& timers_in,
                       Random& random_in, Metrics& metrics_in, DispatcherOptions options_in)
    : store(store_in),
      clock(clock_in),
      timers(timers_in),
      random(random_in),
      options(std::move(options_in)),
      calls_failed(metrics_in.GetCounter("muster_backend_calls_failed_total",
                                         "Ensure, Remove and List that failed")),
      gaps(metrics_in.GetCounter("muster_watch_gap_total", "Gaps in what members reported")),
      tasks(kTasks) {}

void Dispatcher::Impl::Work() {
  while (!stopping) Turn(more ? std::chrono::nanoseconds(0) : std::chrono::hours(1));
}

// Ensures are started some at a time, so that more urgent orders that arrive meanwhile do not wait
// for all of them.
void Dispatcher::Impl::Turn(std::chrono::nanoseconds wait) {
  std::deque<Task> arrived;
  tasks.PopAll(&arrived, wait);
  for (Task& task : arrived) Handle(std::move(task));
  more = StartEnsures();
  FlushOutbox();
}

void Dispatcher::Impl::Handle(Task task) {
  std::visit(
      Overloads{
          [this](EnsureTask& one) { Enqueue(std::move(one)); },
          [this](RemoveTask& one) { Enqueue(std::move(one)); },
          [this](AcknowledgeTask& one) { Enqueue(std::move(one)); },
          [this](ConfirmTask& one) { Enqueue(std::move(one)); },
          [this](ListTask& one) { StartList(one.cluster); },
          [this](FactsTask& one) {
    Backend* const backend = Serving(one.cluster);
    if (backend == nullptr) return;
    backend->Facts(one.cluster, [self = shared_from_this()](Result<ClusterFacts> facts) {
      if (facts.ok()) self->tasks.PushAlways(ReportTask{FactsCommand{std::move(facts).value()}});
    });
          },
          [this](EnsureOutcome& one) { Complete(std::move(one)); },
          [this](RemoveOutcome& one) { Complete(std::move(one)); },
          [this](AcknowledgeOutcome& one) { Complete(std::move(one)); },
          [this](ConfirmOutcome& one) { Complete(std::move(one)); },
          [this](ListOutcome& one) { Complete(std::move(one)); },
          [this](RetryTask& one) {
    lanes[one.key].delayed = false;
    Advance(one.key);
      },
      [this](ReconcileTask&) {
    // A lane with failures and nothing to do is left over from an order that was refused
    // for good.
    std::erase_if(lanes, [](const auto& one) {
      return !one.second.busy && !one.second.delayed && one.second.waiting.empty();
    });
    for (const std::string& cluster : Served()) {
      Handle(ListTask{cluster});
      Handle(FactsTask{cluster});
    }
    TellUnserved();
    At(options.reconcile_every_ms, ReconcileTask{});
      },
      [this](ReportTask& one) { Post(std::move(one.command)); },
      [this](PostTask&) { outbox_waits = false; }, [this](ForgetTask&) { Forget(); },
      [this](AskAgainTask&) { AskedAgain(); },
      }, task);
}

// Asked anew for each call, because members come and go while the daemon runs.
Backend* Dispatcher::Impl::Serving(const std::string& cluster) const {
  ReaderLock lock(backends_mutex);
  const auto found = backends.find(cluster);
  return found == backends.end() ? nullptr : found->second;
}

// The clusters that some backend serves now, by name.
std::vector<std::string> Dispatcher::Impl::Served() const {
  ReaderLock lock(backends_mutex);
  std::vector<std::string> clusters;
  for (const auto& [cluster, backend] : backends) clusters.push_back(cluster);
  return clusters;
}

// Reports members that an earlier daemon served and this one does not: no backend would say that
// they are away.
void Dispatcher::Impl::TellUnserved() {
  const WorldViewPtr world = view();
  if (!world->ready) return;
  for (const auto& [name, member] : world->config->member_clusters) {
    if (Serving(name) != nullptr) continue;
    ClusterFacts facts;
    facts.cluster = name;
    facts.healthy = false;
    facts.message = "it is not served by this daemon";
    Post(FactsCommand{std::move(facts)});
  }
}

void Dispatcher::Impl::Post(Command command) { outbox.push_back(std::move(command)); }

// Sends reports to the engine in order. If its inbox is full, all reports wait here; none is lost.
void Dispatcher::Impl::FlushOutbox() {
  while (!outbox.empty() && !outbox_waits) {
    Command copy = outbox.front();
    if (!post(std::move(copy))) {
      outbox_waits = true;
      At(kPostRetryMs, PostTask{});
      return;
    }
    outbox.pop_front();
    MUSTER_FAULT_POINT(report_posted);
  }
}

// The timer's thread only pushes the task back into the queue.
void Dispatcher::Impl::At(std::int64_t after_ms, Task task) {
  auto shared = std::make_shared<Task>(std::move(task));
  timers.At(clock.Now() + MillisToNanos(after_ms), [weak = weak_from_this(), shared] {
    if (const auto self = weak.lock()) self->tasks.PushAlways(std::move(*shared));
  });
}

// retry_base_ms, doubled with each failure in a row up to retry_max_ms; the second half of it is
// random, so that keys that failed together are not retried together.
std::int64_t Dispatcher::Impl::BackoffMs(int failures) {
  std::int64_t base = options.retry_base_ms;
  for (int i = 1; i < failures && base < options.retry_max_ms; ++i) base *= 2;
  base = std::min(base, options.retry_max_ms);
  return base / 2 +
         static_cast<std::int64_t>(random.Next() % static_cast<std::uint64_t>(base / 2 + 1));
}

Dispatcher::Dispatcher(Store& store, const Clock& clock, TimerService& timers, Random& random,
                       Metrics& metrics, DispatcherOptions options)
    : impl_(std::make_shared<Impl>(store, clock, timers, random, metrics, std::move(options))) {}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::AddBackend(Backend& backend) {
  impl_->all_backends.push_back(&backend);
  WriterLock lock(impl_->backends_mutex);
  for (const std::string& cluster : backend.Clusters()) impl_->backends[cluster] = &backend;
}

void Dispatcher::Start(std::function<bool(Command)> post, std::function<WorldViewPtr()> view) {
  impl_->post = std::move(post);
  impl_->view = std::move(view);
  impl_->worker = std::jthread([impl = impl_.get()] { impl->Work(); });
  Begin();
}

void Dispatcher::StartByHand(std::function<bool(Command)> post,
                             std::function<WorldViewPtr()> view) {
  impl_->post = std::move(post);
  impl_->view = std::move(view);
  Begin();
}

void Dispatcher::Turn() { impl_->Turn(std::chrono::nanoseconds(0)); }

bool Dispatcher::HasTurn() const { return impl_->more || impl_->tasks.size() > 0; }

void Dispatcher::Begin() {
  impl_->started = true;
  for (Backend* backend : impl_->all_backends) backend->Start(*this);
  // The engine orders lists when it has recovered; facts are asked for at once.
  for (const std::string& cluster : impl_->Served()) impl_->tasks.PushAlways(FactsTask{cluster});
  impl_->At(impl_->options.reconcile_every_ms, ReconcileTask{});
}

// Backends stop first, so that no further answer arrives.
void Dispatcher::Stop() {
  if (!impl_->started || impl_->stopping) return;
  for (Backend* backend : impl_->all_backends) backend->Stop();
  impl_->stopping = true;
  impl_->tasks.Close();
  if (impl_->worker.joinable()) impl_->worker.join();
}

Backend* Dispatcher::BackendOf(const std::string& cluster) const { return impl_->Serving(cluster); }

void Dispatcher::AddCluster(const std::string& cluster, Backend& backend) {
  {
    WriterLock lock(impl_->backends_mutex);
    impl_->backends[cluster] = &backend;
  }
  impl_->tasks.PushAlways(FactsTask{cluster});
  impl_->tasks.PushAlways(ListTask{cluster});
}

// Orders for the cluster that still come end with "not served".
void Dispatcher::RemoveCluster(const std::string& cluster) {
  WriterLock lock(impl_->backends_mutex);
  impl_->backends.erase(cluster);
}

void Dispatcher::Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) {
  const Permit permit = MUSTER_PLANTED(orders_without_permit) ? Permit() : impl_->PermitNow();
  impl_->tasks.PushAlways(EnsureTask{key, std::move(job), expected_uid, permit});
}

void Dispatcher::Remove(const DispatchKey& key, RemovePolicy policy) {
  impl_->tasks.PushAlways(RemoveTask{key, std::move(policy), impl_->PermitNow()});
}

void Dispatcher::Acknowledge(const DispatchKey& key, const RemoteObject& object,
                             const std::string& uid) {
  impl_->tasks.PushAlways(AcknowledgeTask{key, object, uid, impl_->PermitNow()});
}

void Dispatcher::Forget() { impl_->tasks.PushAlways(ForgetTask{}); }

void Dispatcher::Confirm(const DispatchKey& key, const RemoteObject& object,
                         const std::string& uid) {
  impl_->tasks.PushAlways(ConfirmTask{key, object, uid, impl_->PermitNow()});
}

// Calls of a backend do not block, so no task is needed. A job that has ended meanwhile is no
// fault.
void Dispatcher::Signal(const DispatchKey& key, const SignalOrder& order) {
  Backend* backend = BackendOf(key.cluster);
  if (backend == nullptr || !impl_->PermitNow().Holds()) return;
  backend->Signal(key, order, [cluster = key.cluster, signal = order.signal](Result<Done> outcome) {
    if (outcome.ok() || outcome.error().code == Code::kNotFound) return;
    Log(LogLevel::kWarning, "dispatch", "signal_not_sent",
        {{"cluster", cluster}, {"signal", signal}, {"err", outcome.error().detail}});
  });
}

void Dispatcher::List(const std::string& cluster) { impl_->tasks.PushAlways(ListTask{cluster}); }

void Dispatcher::OnObservation(Observation observation) {
  impl_->tasks.PushAlways(ReportTask{ObservedCommand{std::move(observation)}});
}

void Dispatcher::OnFacts(ClusterFacts facts) {
  impl_->tasks.PushAlways(ReportTask{FactsCommand{std::move(facts)}});
}

// A backend has missed reports of the member, so the member is listed.
void Dispatcher::OnGap(const std::string& cluster) {
  impl_->gaps.Add();
  impl_->tasks.PushAlways(ListTask{cluster});
}

}  // namespace muster::dispatch
