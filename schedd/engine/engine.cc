#include "schedd/engine/engine.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/leaving_impl.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {
namespace {

constexpr std::chrono::nanoseconds kIdle =
    std::chrono::seconds(60);  // nothing due: only the inbox wakes it
constexpr std::int64_t kStopWithinNs = 5 * kNanosPerSecond;

WorldViewPtr EmptyView() {
  auto view = std::make_shared<WorldView>();
  view->config = std::make_shared<const ConfigView>();
  view->objects = std::make_shared<const ObjectTable>();
  view->usage = core::Usage(core::QuotaTree::Build(*view->config));
  view->not_ready_reasons = {"recovery has not run yet"};
  return view;
}

}  // namespace

Engine::Impl::Impl(Store& store_in, const Clock& clock_in, Random& random_in, OrderSink& orders_in,
                   Metrics& metrics_in, EngineOptions options_in,
                   std::function<void(const std::vector<Event>&)> on_events_in)
    : store(store_in),
      clock(clock_in),
      random(random_in),
      orders(orders_in),
      options(std::move(options_in)),
      on_events(std::move(on_events_in)),
      published(std::make_shared<Published>(EmptyView())),
      metrics(metrics_in, [shared = published] { return shared->Get(); }),
      inbox(std::make_shared<BoundedQueue<Envelope>>(limits::kInboxCommands)) {
  fair = FairUseTracker(options.settings);
  const core::QuotaTreePtr tree = core::QuotaTree::Build(*live.config);
  live.planned = committed.ledger = Ledger(tree, options.settings);
  live.holders = core::Holders(tree);
  if (options.lead != nullptr)
    options.lead->OnWanted([box = inbox] { box->PushAlways(Wake{}); });
  stand_ins = std::make_unique<StandIns>(*this);
  leaving = std::make_unique<Leaving>(*this);
}

Engine::Impl::~Impl() = default;

void Engine::Impl::Dispatch(Envelope envelope) {
  if (auto* accepted = std::get_if<AcceptDone>(&envelope)) return Complete(std::move(*accepted));
  if (auto* committed_now = std::get_if<CommitDone>(&envelope))
    return Complete(std::move(*committed_now));
  auto* command = std::get_if<Command>(&envelope);
  if (command == nullptr) return;
  if (!ready) return RefuseWhileNotReady(*command);
  if (IsReport(*command)) {
    reports.push_back(std::move(*command));
  } else {
    std::visit([this](auto& one) { Handle(std::move(one)); }, *command);
  }
}

bool Engine::Impl::Step(std::chrono::nanoseconds wait) {
  std::deque<Envelope> arrived;
  bool worked = inbox->PopAll(&arrived, wait);
  metrics.inbox_depth.Set(static_cast<double>(arrived.size()));
  for (Envelope& envelope : arrived) Dispatch(std::move(envelope));
  if (!ready) {
    FailWaiting(Unavailable("not ready: " + not_ready_reason));
    // A recovery may take long: everybody is told and answered before.
    if (published->Get()->ready || !answers.empty()) {
      Publish();
      return true;
    }
    if (!Outstanding() && !stopping && clock.Now() >= next_recovery) worked = Recover() || worked;
  }
  if (ready) {
    worked = FireTimers() || worked;
    worked = FireAlarms() || worked;
    worked = FireOpenings() || worked;
    worked = FireLosses() || worked;
    worked = FireStrayLists() || worked;
    worked = leaving->Fire() || worked;
    worked = stand_ins->FireGates() || worked;
    worked = AdoptForgotten() || worked;
    worked = AdoptFinished() || worked;
    worked = Recheck() || worked;
    SendAccepts();
    worked = HandleReports() || worked;
    FlushReleased();
    const bool decided = !stopping && !AwaitsLists() && Cycle();
    worked = decided || worked;
    if (!worked && !to_sweep.empty()) {
      Sweep();
      worked = true;
    }
    SendCommit();
    worked = SendHeartbeat() || worked;
  }
  Publish();
  return worked;
}

std::chrono::nanoseconds Engine::Impl::IdleTime() const {
  const Monotonic now = clock.Now();
  const auto until = [now](Monotonic due) {
    return std::clamp(std::chrono::nanoseconds(due - now), std::chrono::nanoseconds(0), kIdle);
  };
  if (!ready) return Outstanding() ? kIdle : until(next_recovery);
  std::chrono::nanoseconds idle = kIdle;
  if (Resting()) idle = std::min(idle, until(RestEnds()));
  if (options.heartbeat_ms > 0 && !Outstanding()) idle = std::min(idle, until(HeartbeatDue()));
  if (!ttls.empty()) idle = std::min(idle, until(ttls.begin()->first));
  if (!retirements.empty()) idle = std::min(idle, until(retirements.front().first));
  idle = std::min(idle, until(next_forgetting));
  if (!unlisted.empty()) idle = std::min(idle, until(lists_due));
  if (!lost_members.empty()) idle = std::min(idle, until(next_loss_check));
  for (const auto& [cluster, due] : stray_lists) idle = std::min(idle, until(due));
  if (const auto look = leaving->Next()) idle = std::min(idle, until(*look));
  // Reading for it failed.
  if (!to_recheck.empty()) idle = std::min(idle, std::chrono::nanoseconds(kNanosPerSecond));
  if (fair.on()) idle = std::min(idle, until(next_fair_sample));
  WallTime due = second_passes.NextDue();
  if (!alarms.empty() && (!due.set() || alarms.begin()->first < due)) due = alarms.begin()->first;
  if (const WallTime gate = stand_ins->NextGate(); gate.set() && (!due.set() || gate < due))
    due = gate;
  for (const auto& [queue, at] : openings) due = due.set() ? std::min(due, at) : at;
  if (due.set()) {
    const std::int64_t us = SaturatingSub(due.us, clock.WallNow().us);
    idle = std::clamp(std::chrono::nanoseconds(MicrosToNanos(us)), std::chrono::nanoseconds(0),
                      idle);
  }
  return idle;
}

void Engine::Impl::Run(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] {
    stopping = true;
    inbox->PushAlways(Wake{});
  });
  bool idle = false;
  while (!stop.stop_requested()) idle = !Step(idle ? IdleTime() : std::chrono::nanoseconds(0));
  // What has been taken is finished: one more step sends it, the rest waits for the answers.
  const Monotonic deadline = clock.Now() + kStopWithinNs;
  Step(std::chrono::nanoseconds(0));
  while ((Outstanding() || !tx.Empty()) && clock.Now() < deadline) {
    Step(std::chrono::nanoseconds(deadline - clock.Now()));
  }
  FailWaiting(Unavailable("the daemon is stopping"));
  Publish();
}

Engine::Engine(Store& store, const Clock& clock, Random& random, OrderSink& orders,
               Metrics& metrics, EngineOptions options,
               std::function<void(const std::vector<Event>&)> on_events)
    : impl_(std::make_unique<Impl>(store, clock, random, orders, metrics, std::move(options),
                                   std::move(on_events))) {}

Engine::~Engine() { impl_->inbox->Close(); }

bool Engine::Post(Command command) {
  if (impl_->stopping) return false;
  if (impl_->inbox->Push(Envelope(std::move(command)))) return true;
  impl_->metrics.OnShed("inbox");
  return false;
}

WorldViewPtr Engine::View() const { return impl_->published->Get(); }

WallTime Engine::WallNow() const { return impl_->clock.WallNow(); }

bool Engine::Step() { return impl_->Step(std::chrono::nanoseconds(0)); }

void Engine::Run(std::stop_token stop) { impl_->Run(stop); }

}  // namespace muster
