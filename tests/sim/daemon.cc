#include "tests/sim/daemon.h"

namespace muster::sim {
namespace {

constexpr std::int64_t kTermNs = 2 * kSecond;
constexpr std::int64_t kLookNs = 200 * kMs;  // between looks of the nominator, as its thread does

EngineOptions OptionsOf(const SwarmOptions& swarm, std::shared_ptr<LeadTerm> lead, int number) {
  EngineOptions options;
  options.holder = "daemon-" + std::to_string(number);
  options.commit_depth = swarm.commit_depth;
  options.cycle_heads = swarm.cycle_heads;
  options.heartbeat_ms = swarm.heartbeat_ms;
  options.lost_after_ms = swarm.lost_after_ms;
  options.orphan_grace_ms = swarm.orphan_grace_ms;
  options.lead = std::move(lead);
  return options;
}

dispatch::DispatcherOptions DispatchOptionsOf(const SwarmOptions& swarm,
                                              std::shared_ptr<LeadTerm> lead) {
  dispatch::DispatcherOptions options;
  options.instance_id = "simulation";
  options.default_image = "busybox";
  options.reconcile_every_ms = swarm.reconcile_every_ms;
  options.retry_max_ms = 4'000;
  options.lead = std::move(lead);
  return options;
}

}  // namespace

class Daemon::Orders final : public OrderSink {
 public:
  Orders(Stage& stage, OrderSink& next) : stage_(stage), next_(next) {}
  void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) override {
    stage_.Effect("order ensure");
    next_.Ensure(key, std::move(job), expected_uid);
  }
  void Remove(const DispatchKey& key, RemovePolicy policy) override {
    stage_.Effect("order remove");
    next_.Remove(key, std::move(policy));
  }
  void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                   const std::string& uid) override {
    stage_.Effect("order acknowledge");
    next_.Acknowledge(key, object, uid);
  }
  void Confirm(const DispatchKey& key, const RemoteObject& object,
               const std::string& uid) override {
    stage_.Effect("order confirm");
    next_.Confirm(key, object, uid);
  }
  void List(const std::string& cluster) override { next_.List(cluster); }
  void Forget() override { next_.Forget(); }

 private:
  Stage& stage_;
  OrderSink& next_;
};

Daemon::Daemon(Stage& stage, Database& database, Members& members, int number)
    : stage_(stage),
      number_(number),
      random_(DiceOf(stage.seed + static_cast<std::uint64_t>(number), "daemon")),
      timers_(stage.clock),
      session_(stage, database),
      network_(stage, members),
      lead_(stage.options.lead_term ? std::make_shared<LeadTerm>(stage.clock, kTermNs) : nullptr),
      dispatcher_(session_, stage.clock, timers_, random_, metrics_,
                  DispatchOptionsOf(stage.options, lead_)),
      orders_(std::make_unique<Orders>(stage, dispatcher_)) {
  dispatcher_.AddBackend(network_);
  engine_ = std::make_unique<Engine>(session_, stage.clock, random_, *orders_, metrics_,
                                     OptionsOf(stage.options, lead_, number), nullptr);
  dispatcher_.StartByHand([this](Command command) { return engine_->Post(std::move(command)); },
                          [this] { return engine_->View(); });
  if (stage.options.own_queues) {
    nominator_ = std::make_unique<nomination::Nominator>(
        [this] { return engine_->View(); },
        [this](Command command) { return engine_->Post(std::move(command)); },
        [this](const std::vector<JobId>& ids) { return session_.ReadManifests(ids); }, network_,
        stage.clock,
        nomination::NominatorOptions{.instance_id = "simulation", .default_image = "busybox"});
  }
  network_.on_order = [this] {
    if (lead_ != nullptr && session_.IsReplacedFor(kTermNs))
      stage_.Break("I11: a daemon whose lead is over orders");
  };
  stage_.Note("daemon " + std::to_string(number) + " starts");
}

Daemon::~Daemon() {
  *alive_ = false;
  session_.Die();
  network_.Die();
  dispatcher_.Stop();
}

void Daemon::SetFrozen(bool frozen) {
  stage_.Note("daemon " + std::to_string(number_) + (frozen ? " is stopped" : " goes on"));
  frozen_ = frozen;
  session_.SetFrozen(frozen);
}

bool Daemon::Quiet() {
  return !stepped_ && !session_.Owes() && engine_->IdleTime().count() > 0 && !dispatcher_.HasTurn();
}

// An earlier plan stands; a later one is replaced.
void Daemon::Schedule(std::int64_t* planned, std::int64_t at_ns, void (Daemon::*work)()) {
  if (*planned != 0 && *planned <= at_ns) return;
  *planned = at_ns;
  stage_.agenda.At({at_ns}, [this, alive = alive_, planned, at_ns, work] {
    if (!*alive || *planned != at_ns) return;
    *planned = 0;
    if (!frozen_) (this->*work)();
  });
}

void Daemon::Wake() {
  if (frozen_) return;
  const std::int64_t now = stage_.clock.Now().ns;
  const auto soon = [&] { return now + static_cast<std::int64_t>(stage_.delays.Below(800'000)); };
  const std::int64_t idle = stepped_ ? 0 : engine_->IdleTime().count();
  if (idle > 0) {
    Schedule(&step_at_, now + idle, &Daemon::StepEngine);
  } else if (step_at_ == 0 || step_at_ > now + 800'000) {
    Schedule(&step_at_, soon(), &Daemon::StepEngine);
  }
  if (turn_at_ == 0 && dispatcher_.HasTurn()) Schedule(&turn_at_, soon(), &Daemon::TurnDispatcher);
  if (nominator_ != nullptr) Schedule(&look_at_, now + kLookNs, &Daemon::LookAtQueues);
  if (Monotonic due; timers_.Next(&due))
    Schedule(&fire_at_, std::max(due.ns, now), &Daemon::FireTimers);
}

// The code of the daemon runs; it may die at an effect.
template <class Work>
void Daemon::Run(const Work& work) {
  stage_.may_die = true;
  try {
    work();
    stage_.may_die = false;
  } catch (const Killed& killed) {
    stage_.may_die = false;
    on_killed(this, killed);
    return;
  }
  if (on_stepped) on_stepped(this);
}

void Daemon::StepEngine() {
  Run([this] { stepped_ = engine_->Step(); });
}
void Daemon::TurnDispatcher() {
  Run([this] { dispatcher_.Turn(); });
}
void Daemon::LookAtQueues() {
  Run([this] { nominator_->Step(); });
}
void Daemon::FireTimers() {
  Run([this] { timers_.FireDue(); });
}

}  // namespace muster::sim
