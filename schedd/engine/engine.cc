// The loop: what has arrived is handled, what time has made due is done, decisions are taken, and
// one commit and one view leave. A step that finds nothing to do lets the thread wait for the inbox
// until the next deadline.
#include "schedd/engine/engine.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/impl.h"

namespace muster {
namespace {

// With nothing due only the inbox wakes the thread.
constexpr std::chrono::nanoseconds kIdle = std::chrono::seconds(60);
constexpr std::int64_t kStopWithinNs = 5 * kNanosPerSecond;

}  // namespace

Engine::Impl::Impl(Store& store, const Clock& clock, Random& random, OrderSink& orders,
                   Metrics& metrics, EngineOptions options, Publisher::OnEvents on_events)
    : published(std::make_shared<Published>(Publisher::EmptyView())),
      context{store,
              clock,
              random,
              orders,
              std::move(options),
              EngineMetrics(metrics, [shared = published] { return shared->Get(); }),
              std::make_shared<BoundedQueue<Envelope>>(limits::kInboxCommands)},
      owners(context),
      publisher(owners, published, std::move(on_events)),
      recovery(owners) {
  if (context.options.lead != nullptr)
    context.options.lead->OnWanted([box = context.inbox] { box->PushAlways(Wake{}); });
}

void Engine::Impl::Dispatch(Envelope envelope) {
  if (auto* accepted = std::get_if<AcceptDone>(&envelope))
    return owners.submissions.Complete(std::move(*accepted));
  if (auto* committed = std::get_if<CommitDone>(&envelope))
    return owners.commits.Complete(std::move(*committed));
  auto* command = std::get_if<Command>(&envelope);
  if (command == nullptr) return;
  if (!Ready()) return Refuse(*command);
  if (IsReport(*command)) return owners.reports.Add(std::move(*command));
  Handle(std::move(*command));
}

// Each command goes to the one owner that has a handler for it.
void Engine::Impl::Handle(Command command) {
  const auto give = [](auto& one, auto&... handlers) {
    const auto offer = [&one](auto& handler) {
      if constexpr (requires { handler.Handle(std::move(one)); }) handler.Handle(std::move(one));
    };
    (offer(handlers), ...);
  };
  std::visit(
      [&](auto& one) {
    give(one, owners.submissions, owners.job_commands, owners.admission_commands,
         owners.nominations, owners.stand_ins, owners.works, owners.decider, owners.configuration,
         owners.orphans, owners.lost_members, owners.leaving);
      },
      command);
}

void Engine::Impl::Refuse(Command& command) {
  // Facts are kept: a member says them once.
  if (auto* told = std::get_if<FactsCommand>(&command)) {
    owners.lost_members.TakeFacts(std::move(told->facts));
    owners.commits.MarkChanged();
    return;
  }
  // Reports on attempts have nobody to answer and are dropped: recovery lists every member.
  std::visit(
      [this](auto& one) {
    if constexpr (requires { one.done; }) {
      owners.commits.Answer(
          [done = std::move(one.done), error = Unavailable("not ready: " + recovery.Problem())] {
        done(error);
      });
    }
      },
      command);
}

bool Engine::Impl::Step(std::chrono::nanoseconds wait) {
  std::deque<Envelope> arrived;
  bool worked = context.inbox->PopAll(&arrived, wait);
  context.metrics.inbox_depth.Set(static_cast<double>(arrived.size()));
  for (Envelope& envelope : arrived) Dispatch(std::move(envelope));
  if (!Ready()) {
    FailWaiting(Unavailable("not ready: " + recovery.Problem()));
    // A recovery may take long: everybody is told and answered before.
    if (published->Get()->ready || owners.commits.HasAnswers()) {
      publisher.Publish(recovery.Problem());
      return true;
    }
    const bool may_try = !owners.commits.pace().Outstanding() && !stopping && recovery.Due();
    if (may_try) worked = recovery.Try() || worked;
  }
  if (Ready()) worked = StepReady(worked);
  publisher.Publish(recovery.Problem());
  return worked;
}

bool Engine::Impl::StepReady(bool worked) {
  worked = FireTimers() || worked;
  worked = owners.retention.Adopt() || worked;
  worked = owners.checks.Fire() || worked;
  owners.submissions.Send();
  worked = owners.reports.TakeSome() || worked;
  owners.waiting.FlushReleased(owners.jobs.tree());
  const bool may_decide = !stopping && !owners.reports.AwaitsLists();
  worked = (may_decide && owners.decider.Cycle()) || worked;
  worked = worked || owners.decider.Sweep();
  if (owners.commits.MaySend()) {
    owners.jobs.AddLazyRows();
    owners.commits.Send(owners.jobs.planned().usage());
  }
  return owners.commits.SendHeartbeat() || worked;
}

// What time alone has made due.
bool Engine::Impl::FireTimers() {
  bool fired = owners.retention.Fire();
  fired = owners.jobs.FireFairSample() || fired;
  fired = owners.alarms.Fire() || fired;
  fired = owners.decider.FireOpenings() || fired;
  fired = owners.lost_members.Fire() || fired;
  fired = owners.orphans.FireLists() || fired;
  fired = owners.leaving.Fire() || fired;
  return owners.stand_ins.FireGates() || fired;
}

// Answers what was decided but never sent.
void Engine::Impl::FailWaiting(const Error& error) {
  owners.submissions.FailWaiting(error);
  owners.commits.FailWaiting(error);
}

Monotonic Engine::Impl::NextTimer() const {
  const CommitPipeline& commits = owners.commits;
  Monotonic next = std::min(owners.retention.Next(), owners.jobs.NextFairSample());
  const auto offer = [&next](bool applies, Monotonic due) {
    if (applies) next = std::min(next, due);
  };
  offer(commits.Resting(), commits.pace().RestEnds());
  offer(context.options.heartbeat_ms > 0 && !commits.pace().Outstanding(), commits.HeartbeatDue());
  offer(owners.reports.HasUnlisted(), owners.reports.lists_due());
  offer(!owners.members.lost().empty(), owners.lost_members.Next());
  if (const auto list = owners.orphans.NextList()) offer(true, *list);
  if (const auto look = owners.leaving.Next()) offer(true, *look);
  // Reading for it failed.
  offer(owners.checks.Pending(), context.clock.Now() + kNanosPerSecond);
  return next;
}

// The next deadline of the wall clock; not set: there is none.
WallTime Engine::Impl::NextDeadline() const {
  WallTime next;
  for (const WallTime due : {owners.machines.NextSecondPass(), owners.alarms.Next(),
                             owners.stand_ins.NextGate(), owners.decider.NextOpening()}) {
    if (due.set() && (!next.set() || due < next)) next = due;
  }
  return next;
}

std::chrono::nanoseconds Engine::Impl::IdleTime() const {
  const auto within = [](std::int64_t ns) {
    return std::clamp(std::chrono::nanoseconds(ns), std::chrono::nanoseconds(0), kIdle);
  };
  const Monotonic now = context.clock.Now();
  if (!Ready())
    return owners.commits.pace().Outstanding() ? kIdle : within(recovery.next_try() - now);
  std::chrono::nanoseconds idle = within(NextTimer() - now);
  if (const WallTime due = NextDeadline(); due.set()) {
    const std::int64_t us = SaturatingSub(due.us, context.clock.WallNow().us);
    idle = std::min(idle, within(MicrosToNanos(us)));
  }
  return idle;
}

void Engine::Impl::Run(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] {
    stopping = true;
    context.inbox->PushAlways(Wake{});
  });
  bool idle = false;
  while (!stop.stop_requested()) idle = !Step(idle ? IdleTime() : std::chrono::nanoseconds(0));
  // What has been taken is finished: one more step sends it, the rest waits for the answers.
  const Monotonic deadline = context.clock.Now() + kStopWithinNs;
  Step(std::chrono::nanoseconds(0));
  while (!owners.commits.Settled() && context.clock.Now() < deadline) {
    Step(std::chrono::nanoseconds(deadline - context.clock.Now()));
  }
  FailWaiting(Unavailable("the daemon is stopping"));
  publisher.Publish(recovery.Problem());
}

Engine::Engine(Store& store, const Clock& clock, Random& random, OrderSink& orders,
               Metrics& metrics, EngineOptions options,
               std::function<void(const std::vector<Event>&)> on_events)
    : impl_(std::make_unique<Impl>(store, clock, random, orders, metrics, std::move(options),
                                   std::move(on_events))) {}

Engine::~Engine() { impl_->context.inbox->Close(); }

bool Engine::Post(Command command) {
  if (impl_->stopping) return false;
  if (impl_->context.inbox->Push(Envelope(std::move(command)))) return true;
  impl_->context.metrics.OnShed("inbox");
  return false;
}

WorldViewPtr Engine::View() const { return impl_->publisher.View(); }

WallTime Engine::WallNow() const { return impl_->context.clock.WallNow(); }

bool Engine::Step() { return impl_->Step(std::chrono::nanoseconds(0)); }

void Engine::Run(std::stop_token stop) { impl_->Run(stop); }

}  // namespace muster
