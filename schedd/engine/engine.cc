// The loop of the engine. One Step does, in this order:
//
// 1. It handles everything in the inbox. Commands go to their owners at once; reports of members
//    are only queued (MemberReports), because each costs a row.
// 2. If the engine is not ready (before the first recovery, or after a failed write), it answers
//    all waiting clients, publishes a view that says so, and in a later step tries a recovery once
//    the store owes no answer.
// 3. If it is ready (StepReady): due timers; some reading for retention and rechecks; submissions
//    are handed to the store, before the commit, so that clients wait for as little as possible;
//    reports, as many as the open commit has room for; one cycle of decisions; if nothing else was
//    done, one class of waiting jobs is told why it waits; then the open transaction is sent.
// 4. It publishes a view if anything changed, and gives out what waited for it.
//
// Each part does a bounded amount of work, so that no command waits for long. A step that did
// nothing lets the thread sleep on the inbox until the next deadline (IdleTime).
#include "schedd/engine/engine.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/impl.h"

namespace muster {
namespace {

// With nothing due only the inbox wakes the thread; this is a bound for safety.
constexpr std::chrono::nanoseconds kIdle = std::chrono::seconds(60);
// A stop does not wait longer than this for the store's answers.
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
  // The dispatcher waits for a permit: the loop wakes and sends a commit that confirms the lead.
  if (context.options.lead != nullptr)
    context.options.lead->OnWanted([box = context.inbox] { box->PushAlways(Wake{}); });
}

// Answers of the store are taken also when the engine is not ready: a recovery begins only when
// none is owed any more.
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

// Each command goes to the one owner that has a Handle for its type. A command that no owner or
// more than one would take does not compile; reports went to MemberReports before.
void Engine::Impl::Handle(Command command) {
  const auto give = []<class Type>(Type& one, auto&... owners_of) {
    constexpr std::size_t kTakers =
        (0 + ... + static_cast<std::size_t>(requires { owners_of.Handle(std::move(one)); }));
    static_assert(kTakers == (kIsReport<Type> ? 0 : 1));
    const auto offer = [&one](auto& owner) {
      if constexpr (requires { owner.Handle(std::move(one)); }) owner.Handle(std::move(one));
    };
    (offer(owners_of), ...);
  };
  std::visit(
      [&](auto& one) {
    give(one, owners.audit, owners.submissions, owners.job_commands, owners.batch_commands,
         owners.admission_commands, owners.nominations, owners.stand_ins, owners.works,
         owners.decider, owners.configuration, owners.orphans, owners.lost_members, owners.leaving);
      },
      command);
}

// Commands with a callback are answered with kUnavailable.
void Engine::Impl::Refuse(Command& command) {
  // Facts are kept: a member reports them when they change and not again.
  if (auto* told = std::get_if<FactsCommand>(&command)) {
    owners.lost_members.TakeFacts(std::move(told->facts));
    owners.commits.MarkChanged();
    return;
  }
  if (auto* rows = std::get_if<AuditCommand>(&command))
    return owners.audit.Handle(std::move(*rows));
  // Reports on attempts have no callback and are dropped: recovery lists every member.
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

// Waits at most `wait` for the inbox; true if anything was done, so that the loop does not sleep.
bool Engine::Impl::Step(std::chrono::nanoseconds wait) {
  std::deque<Envelope> arrived;
  bool worked = context.inbox->PopAll(&arrived, wait);
  context.metrics.inbox_depth.Set(static_cast<double>(arrived.size()));
  for (Envelope& envelope : arrived) Dispatch(std::move(envelope));
  if (!Ready()) {
    FailWaiting(Unavailable("not ready: " + recovery.Problem()));
    // A recovery may take long: the view says that the engine is not ready, and all clients are
    // answered, before it begins.
    if (published->Get()->ready || owners.commits.HasAnswers()) {
      publisher.Publish(recovery.Problem());
      recovery.Published(false);
      return true;
    }
    const bool may_try = !owners.commits.pace().Outstanding() && !stopping && recovery.Due();
    if (may_try) worked = recovery.Try() || worked;
  }
  if (Ready()) worked = StepReady(worked);
  publisher.Publish(recovery.Problem());
  recovery.Published(published->Get()->ready);
  return worked;
}

// Step 3 above. No decisions while the daemon stops, nor before the members have listed their
// objects after a recovery (rule D18), nor before the jobs of a restored database are held (rule
// D25). `worked`: the step has done something already.
bool Engine::Impl::StepReady(bool worked) {
  worked = FireTimers() || worked;
  worked = owners.retention.Adopt() || worked;
  worked = owners.checks.Fire() || worked;
  worked = owners.partitions.Fire() || worked;
  worked = owners.dependencies.Fire() || worked;
  owners.submissions.Send();
  worked = owners.restored.HoldSome() || worked;
  worked = owners.reports.TakeSome() || worked;
  owners.waiting.FlushReleased(owners.jobs.tree());
  const bool may_decide = !stopping && !owners.reports.AwaitsLists() && !owners.restored.Pending();
  worked = (may_decide && owners.decider.Cycle()) || worked;
  worked = worked || owners.decider.Sweep();
  if (owners.commits.MaySend()) {
    owners.jobs.AddLazyRows();
    owners.commits.Send(owners.jobs.planned().usage());
  }
  return owners.commits.SendHeartbeat() || worked;
}

// Everything that time alone has made due; each Fire looks at its own deadline first. True if
// anything was done.
bool Engine::Impl::FireTimers() {
  bool fired = owners.retention.Fire();
  fired = owners.audit.Fire() || fired;
  fired = owners.jobs.FireFairSample() || fired;
  fired = owners.alarms.Fire() || fired;
  fired = owners.decider.FireOpenings() || fired;
  fired = owners.lost_members.Fire() || fired;
  fired = owners.orphans.FireLists() || fired;
  fired = owners.leaving.Fire() || fired;
  return owners.stand_ins.FireGates() || fired;
}

// Answers the clients whose changes were gathered or decided, and never sent to the store.
void Engine::Impl::FailWaiting(const Error& error) {
  owners.submissions.FailWaiting(error);
  owners.commits.FailWaiting(error);
}

// The next deadline of the steady clock: waits that must not change with the time of day.
Monotonic Engine::Impl::NextTimer() const {
  const CommitPipeline& commits = owners.commits;
  Monotonic next = std::min(owners.retention.Next(), owners.jobs.NextFairSample());
  const auto offer = [&next](bool applies, Monotonic due) {
    if (applies) next = std::min(next, due);
  };
  offer(commits.Resting(), commits.pace().RestEnds());
  offer(context.options.audit_retention_ms > 0, owners.audit.Next());
  offer(context.options.heartbeat_ms > 0 && !commits.pace().Outstanding(), commits.HeartbeatDue());
  offer(owners.reports.HasUnlisted(), owners.reports.lists_due());
  offer(!owners.members.lost().empty(), owners.lost_members.Next());
  if (const auto list = owners.orphans.NextList()) offer(true, *list);
  if (const auto look = owners.leaving.Next()) offer(true, *look);
  // They are worked off by steps in a row; when the loop sleeps with some left, the database did
  // not answer: try again after a second.
  offer(owners.checks.Pending(), context.clock.Now() + kNanosPerSecond);
  // While the open commit is full, the answer of the store or the end of a rest wakes the loop.
  const bool unfinished = owners.dependencies.Pending() || owners.restored.Pending();
  offer(unfinished && commits.Room() > 0, context.clock.Now());
  return next;
}

// The next deadline of the wall clock: times that are stored with jobs. Not set: there is none.
WallTime Engine::Impl::NextDeadline() const {
  WallTime next;
  for (const WallTime due :
       {owners.machines.NextSecondPass(), owners.alarms.Next(), owners.stand_ins.NextGate(),
        owners.decider.NextOpening(), owners.dependencies.Next()}) {
    if (due.set() && (!next.set() || due < next)) next = due;
  }
  return next;
}

// How long the thread may sleep on the inbox. While the store owes answers after a failure, their
// arrival wakes it.
std::chrono::nanoseconds Engine::Impl::IdleTime() const {
  const auto within = [](std::int64_t ns) {
    return std::clamp(std::chrono::nanoseconds(ns), std::chrono::nanoseconds(0), kIdle);
  };
  const Monotonic now = context.clock.Now();
  if (!Ready())
    return owners.commits.pace().Outstanding() ? kIdle : within(recovery.next_try() - now);
  std::chrono::nanoseconds idle = within(NextTimer() - now);
  const auto wake = [&](WallTime due, WallTime by) {
    if (!due.set()) return;
    idle = std::min(idle, within(MicrosToNanos(SaturatingSub(due.us, by.us))));
  };
  wake(NextDeadline(), context.clock.WallNow());
  wake(owners.alarms.NextOfCalendar(), context.clock.CalendarNow());
  return idle;
}

// The stop callback runs on the stopping thread: it sets a flag and wakes the loop. Then one more
// step sends what was taken, and the loop goes on until the store has answered or kStopWithinNs is
// over.
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

// The store may answer later still; it finds a closed inbox.
Engine::~Engine() { impl_->context.inbox->Close(); }

// From any thread. A full inbox refuses (the client is told to try again), but answers of the store
// always enter (PushAlways).
bool Engine::Post(Command command) {
  if (impl_->stopping) return false;
  if (impl_->context.inbox->Push(Envelope(std::move(command)))) return true;
  impl_->context.metrics.OnShed("inbox");
  return false;
}

WorldViewPtr Engine::View() const { return impl_->publisher.View(); }

WallTime Engine::WallNow() const { return impl_->context.clock.WallNow(); }

WallTime Engine::CalendarNow() const { return impl_->context.clock.CalendarNow(); }

bool Engine::Step() { return impl_->Step(std::chrono::nanoseconds(0)); }

std::chrono::nanoseconds Engine::IdleTime() const {
  return impl_->context.inbox->size() > 0 ? std::chrono::nanoseconds(0) : impl_->IdleTime();
}

void Engine::Run(std::stop_token stop) { impl_->Run(stop); }

}  // namespace muster
