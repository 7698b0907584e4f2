#include "tests/sim/clients.h"

#include <memory>
#include <optional>

#include "schedd/base/check.h"
#include "tests/support/builders.h"

namespace muster::sim {
namespace {

constexpr std::int64_t kPatienceNs = 3 * kSecond;  // without an answer a client asks again

bool MayRetry(Code code) {
  return code == Code::kUnavailable || code == Code::kUnknown || code == Code::kResourceExhausted ||
         code == Code::kAborted || code == Code::kDeadlineExceeded;
}

std::string MemberName(int i) { return "member-" + std::to_string(i); }

}  // namespace

Clients::Clients(Stage& stage, std::function<Engine*()> daemon)
    : stage_(stage), daemon_(std::move(daemon)), dice_(DiceOf(stage.seed, "clients")) {
  Plan();
}

void Clients::Plan() {
  Dice dice = DiceOf(stage_.seed, "plan");
  for (int i = 0; i < stage_.options.jobs; ++i) PlanJob(&dice, static_cast<std::size_t>(i));
}

void Clients::PlanJob(Dice* dice, std::size_t index) {
  const SwarmOptions& swarm = stage_.options;
  const auto below = [dice](std::int64_t most) {
    return static_cast<std::int64_t>(dice->Below(static_cast<std::uint64_t>(most)));
  };
  JobPlan plan;
  plan.name = "job-" + std::string(1, static_cast<char>('a' + index % 26)) + std::to_string(index);
  plan.at_ms = below(swarm.arrivals_ms);
  plan.queue = static_cast<int>(below(swarm.queues));
  plan.priority = static_cast<std::int32_t>(below(3));
  plan.pods = static_cast<std::int32_t>(1 + below(std::min<std::int64_t>(swarm.quota, 4)));
  plan.held = swarm.holds && dice->Chance(10);
  if (swarm.time_limits && dice->Chance(20)) plan.time_limit_s = 1 + below(10);
  if (swarm.gangs && dice->Chance(30)) {
    plan.kind = JobKind::kGang;
    plan.pods = static_cast<std::int32_t>(1 + below(swarm.quota - 1));
    if (plan.pods > 3) plan.pods = 3;
  } else if (swarm.arrays && dice->Chance(25)) {
    plan.kind = JobKind::kArray;
    plan.tasks = static_cast<std::int32_t>(2 + below(4));
    plan.throttle = static_cast<std::int32_t>(below(3));
    plan.pods = 1;
  } else if (swarm.dependencies && index > 0 && dice->Chance(40)) {
    plan.kind = JobKind::kScript;
    plan.after = static_cast<int>(below(static_cast<std::int64_t>(index)));
    plan.after_ok = dice->Chance(40);
  }
  const auto act = [&](bool SwarmOptions::*on, std::uint64_t percent, JobVerb verb) {
    if (swarm.*on && dice->Chance(percent))
      acts_.push_back({plan.at_ms + below(swarm.longest_run_ms), index, verb});
  };
  act(&SwarmOptions::cancels, 20, JobVerb::kCancel);
  act(&SwarmOptions::holds, 15, JobVerb::kHold);
  act(&SwarmOptions::holds, 15, JobVerb::kRelease);
  act(&SwarmOptions::requeues, 20, JobVerb::kRequeue);
  act(&SwarmOptions::deletes, 15, JobVerb::kDelete);
  plans_.push_back(std::move(plan));
}

ObjectChange Clients::QueueObject(int queue, std::int64_t quota) const {
  const SwarmOptions& swarm = stage_.options;
  test::QueueSpec spec;
  spec.name = "cq-" + std::to_string(queue);
  spec.nominal = {{"cpu", quota * 1000}};
  if (swarm.cohort) spec.cohort = "all";
  if (swarm.strict_fifo) spec.strategy = "StrictFIFO";
  if (swarm.preemption) spec.within = "LowerPriority";
  if (swarm.preemption && swarm.cohort) spec.reclaim = "Any";
  ObjectChange change = test::ClusterQueueObject(spec);
  change = test::WithAnnotation(std::move(change), "muster.io/requeue-wait", "1s");
  if (swarm.own_queues) {
    const int step = swarm.own_queues_at_once;
    change = test::WithAnnotation(std::move(change), "muster.io/dispatch-mode",
                                  step == 0 ? "AllAtOnce" : "Incremental");
    if (step > 0) {
      change =
          test::WithAnnotation(std::move(change), "muster.io/dispatch-step", std::to_string(step));
      change = test::WithAnnotation(std::move(change), "muster.io/dispatch-every", "3s");
    }
  }
  return test::WithAnnotation(std::move(change), "muster.io/on-cluster-lost", swarm.on_lost);
}

void Clients::Begin() {
  const SwarmOptions& swarm = stage_.options;
  std::vector<ObjectChange> changes = {test::NamespaceObject("default"),
                                       test::FlavorObject("default")};
  for (int i = 0; i < swarm.queues; ++i) {
    const std::string number = std::to_string(i);
    changes.push_back(QueueObject(i, swarm.quota));
    changes.push_back(test::LocalQueueObject("queue-" + number, "cq-" + number));
  }
  for (int i = 0; i < swarm.members; ++i) {
    ObjectChange member = test::MemberObject(MemberName(i), {{"cpu", swarm.room * 1000}});
    if (swarm.two_steps)
      member = test::WithAnnotation(std::move(member), "muster.io/backend", "kubernetes");
    changes.push_back(std::move(member));
  }
  Apply(std::move(changes), [this] {
    declared_ = true;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      stage_.agenda.After(plans_[i].at_ms * kMs, [this, i] { Submit(i, 0); });
    }
    for (const Act& act : acts_) stage_.agenda.After(act.at_ms * kMs, [this, act] { Do(act, 0); });
    if (stage_.options.quota_edits) {
      for (int i = 0; i < 3; ++i) {
        stage_.agenda.After(static_cast<std::int64_t>(dice_.Below(30'000)) * kMs,
                            [this] { EditQuota(&dice_); });
      }
    }
    if (!stage_.options.drains) return;
    const std::string cluster = MemberName(
        static_cast<int>(dice_.Below(static_cast<std::uint64_t>(stage_.options.members))));
    const auto at = static_cast<std::int64_t>(dice_.Below(20'000)) * kMs;
    stage_.agenda.After(at, [this, cluster] { Drain(cluster, true, 0); });
    stage_.agenda.After(at + 8 * kSecond, [this, cluster] { Drain(cluster, false, 0); });
  });
}

// A submission that is not answered, or whose failure may pass, is made again under its key.
void Clients::Submit(std::size_t index, int tries) {
  const JobPlan& plan = plans_[index];
  JobId parent;
  if (plan.after >= 0) {
    const auto known = accepted_.find(plans_[static_cast<std::size_t>(plan.after)].name);
    if (known == accepted_.end() && tries < 1000) {
      stage_.agenda.After(kSecond / 2, [this, index, tries] { Submit(index, tries + 1); });
      return;
    }
    if (known != accepted_.end()) parent = parents_[index] = known->second;
  }
  const auto again = [this, index, tries] {
    stage_.agenda.After(kSecond / 4 + Delay(), [this, index, tries] { Submit(index, tries + 1); });
  };
  Engine* const engine = daemon_();
  const std::uint64_t request = ++requests_;
  SubmitCommand command;
  command.actor = {"alice", "test"};
  command.jobs.push_back(SubmissionOf(plan, tries, parent));
  command.done = [this, index, tries, request](Result<std::vector<Result<SubmittedJob>>> result) {
    if (result.ok() && (*result)[0].ok()) on_job((*result)[0]->job, "accept");
    stage_.Effect("answer");
    stage_.agenda.After(Delay(), [this, index, tries, request, result = std::move(result)] {
      if (open_.erase(request) > 0) Take(index, tries, result);
    });
    stage_.Effect("answered");
  };
  if (engine == nullptr || !engine->Post(std::move(command))) return again();
  open_[request] = true;
  stage_.agenda.After(kPatienceNs, [this, request, again] {
    if (open_.erase(request) > 0) again();
  });
}

void Clients::Take(std::size_t index, int tries, Result<std::vector<Result<SubmittedJob>>> result) {
  const std::string& name = plans_[index].name;
  const std::optional<Error> failed = !result.ok()         ? std::optional(result.error())
                                      : !(*result)[0].ok() ? std::optional((*result)[0].error())
                                                           : std::nullopt;
  if (failed && MayRetry(failed->code)) {
    stage_.agenda.After(kSecond / 4 + Delay(), [this, index, tries] { Submit(index, tries + 1); });
    return;
  }
  if (failed) stage_.Break("I1: " + name + " was refused for good: " + failed->detail);
  const JobId id = (*result)[0]->job->id;
  stage_.Note("accepted " + name + " as " + std::to_string(id.value));
  const auto [known, fresh] = accepted_.emplace(name, id);
  if (known->second != id) stage_.Break("I1: one key, two jobs: " + name);
  if (!fresh) return;
  ++answered_;
  plan_of_[id] = index;
}

const JobPlan* Clients::PlanOf(JobId id) const {
  const auto found = plan_of_.find(id);
  return found == plan_of_.end() ? nullptr : &plans_[found->second];
}

JobId Clients::ParentOf(JobId id) const {
  const auto plan = plan_of_.find(id);
  const auto parent = plan == plan_of_.end() ? parents_.end() : parents_.find(plan->second);
  return parent == parents_.end() ? JobId{} : parent->second;
}

// One that is not accepted yet is looked for again; an outcome that is unknown stays so.
void Clients::Do(const Act& act, int tries) {
  const auto known = accepted_.find(plans_[act.job].name);
  Engine* const engine = daemon_();
  if (known == accepted_.end() || engine == nullptr) {
    if (tries < 20) stage_.agenda.After(kSecond, [this, act, tries] { Do(act, tries + 1); });
    return;
  }
  stage_.Note(std::string(JobVerbName(act.verb)) + " " + std::to_string(known->second.value));
  const JobId id = known->second;
  // A requeue makes a job run again that was cancelled, also if its answer is lost.
  if (act.verb == JobVerb::kRequeue) {
    ++requeues_under_way_[id];
    cancelled_.erase(id);
  }
  JobCommand command{{"alice", "test"}, act.verb, id, {}};
  command.done = [this, id, verb = act.verb](Result<JobPtr> result) {
    if (verb == JobVerb::kRequeue) --requeues_under_way_[id];
    if (!result.ok()) return;
    on_job(*result, JobVerbName(verb));
    if (verb == JobVerb::kCancel && (*result)->state == JobState::kCancelled &&
        requeues_under_way_[id] == 0)
      cancelled_.emplace(id, (*result)->attempt);
  };
  engine->Post(std::move(command));
}

// Until it is answered with success.
void Clients::Apply(std::vector<ObjectChange> changes, std::function<void()> done) {
  const std::uint64_t request = ++requests_;
  open_[request] = true;
  const auto again = [this, request, changes, done, healed = stage_.healed] {
    // An edit from before the heal does not undo the one that the heal made.
    const bool late = declared_ && stage_.healed && !healed;
    if (open_.erase(request) > 0 && !late) Apply(changes, done);
  };
  Engine* const engine = daemon_();
  ApplyCommand command;
  command.actor = {"root", "test"};
  command.changes = changes;
  command.done = [this, request, done, again](Result<std::vector<AppliedObject>> result) {
    if (!result.ok() && !MayRetry(result.error().code))
      stage_.Break("an apply was refused: " + result.error().detail);
    if (!result.ok()) return stage_.agenda.After(kSecond / 4, again);
    stage_.Note("applied");
    on_objects(*result);
    stage_.agenda.After(Delay(), [this, request, done] {
      if (open_.erase(request) > 0 && done) done();
    });
  };
  if (engine == nullptr || !engine->Post(std::move(command)))
    return stage_.agenda.After(kSecond / 4, again);
  stage_.agenda.After(kPatienceNs, again);
}

// One that does not get through in time is made when it does; Heal makes the last one.
void Clients::EditQuota(Dice* dice) {
  if (stage_.healed) return;
  const auto queue =
      static_cast<int>(dice->Below(static_cast<std::uint64_t>(stage_.options.queues)));
  const auto quota = static_cast<std::int64_t>(
      1 + dice->Below(static_cast<std::uint64_t>(stage_.options.quota + 2)));
  stage_.Note("quota of cq-" + std::to_string(queue) + " becomes " + std::to_string(quota));
  Apply({QueueObject(queue, quota)}, nullptr);
}

void Clients::Drain(const std::string& cluster, bool on, int tries) {
  if (stage_.healed && on) return;
  Engine* const engine = daemon_();
  const auto again = [this, cluster, on, tries] {
    if (tries < 50)
      stage_.agenda.After(kSecond, [this, cluster, on, tries] { Drain(cluster, on, tries + 1); });
  };
  if (engine == nullptr) return again();
  stage_.Note((on ? "drain " : "uncordon ") + cluster);
  if (on) {
    engine->Post(DrainCommand{{"root", "test"}, cluster, false, [](Result<DrainProgress>) {}});
  } else {
    engine->Post(CordonCommand{{"root", "test"}, cluster, false, [again](Result<ObjectPtr> done) {
                                 if (!done.ok()) again();
                               }});
  }
}

void Clients::Heal() {
  std::vector<ObjectChange> changes;
  for (int i = 0; i < stage_.options.queues; ++i)
    changes.push_back(QueueObject(i, stage_.options.quota));
  if (stage_.options.quota_edits) Apply(std::move(changes), nullptr);
  if (stage_.options.drains) {
    for (int i = 0; i < stage_.options.members; ++i) Drain(MemberName(i), false, 0);
  }
  LetGo();
}

// Releases every job that is held, for as long as there is one.
void Clients::LetGo() {
  if (Engine* const engine = daemon_(); engine != nullptr) {
    engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->state != JobState::kHeld) return true;
      JobCommand command{{"root", "test"}, JobVerb::kRelease, job->id, [](Result<JobPtr>) {}};
      command.by_operator = true;
      engine->Post(std::move(command));
      return true;
    });
  }
  stage_.agenda.After(2 * kSecond, [this] { LetGo(); });
}

}  // namespace muster::sim
