#include "tests/sim/world.h"

#include <algorithm>

#include "tests/sim/faults.h"

namespace muster::sim {
namespace {

constexpr std::int64_t kTroubleMs = 45'000;  // faults come within this time
// After a recovery nothing is decided before the members have listed their objects, for this long.
constexpr std::int64_t kListsWithinNs = 11 * kSecond;
constexpr std::uint64_t kMostTicks = 400'000;  // a world that needs more does not come to rest

}  // namespace

World::World(std::uint64_t seed, const SwarmOptions& options)
    : stage_(seed, options),
      database_(stage_),
      members_(stage_),
      clients_(
          stage_,
          [this] {
  Daemon* const daemon = Current();
  return daemon == nullptr ? nullptr : &daemon->engine();
          }),
invariants_(stage_, database_, members_, clients_), nemesis_(DiceOf(seed, "nemesis")) {
  database_.on_durable = [this] { invariants_.OnDurable(); };
  members_.on_start = [this](const DispatchKey& key, const SimObject& object) {
    invariants_.OnStart(key, object);
  };
  members_.on_change = [this](const Observation& seen) {
    for (const auto& daemon : daemons_) daemon->network().Report(seen);
  };
  clients_.on_job = [this](const JobPtr& job, const char* what) {
    invariants_.OnAnswer(job, what);
  };
  clients_.on_objects = [this](const std::vector<AppliedObject>& objects) {
    invariants_.OnAnswer(objects);
  };
}

World::~World() {
  daemons_.clear();
  dead_.clear();
}

// The newest one; a stopped one answers nobody.
Daemon* World::Current() {
  if (daemons_.empty() || daemons_.back()->frozen()) return nullptr;
  return daemons_.back().get();
}

void World::StartDaemon() {
  auto daemon = std::make_unique<Daemon>(stage_, database_, members_, ++started_);
  daemon->on_killed = [this](Daemon* one, const Killed& killed) { Kill(one, killed.where); };
  daemon->on_stepped = [this](Daemon* one) {
    const WorldViewPtr view = one->View();
    if (view == seen_) return;
    if (view->ready && (seen_ == nullptr || !seen_->ready)) ready_since_ns_ = stage_.clock.Now().ns;
    seen_ = view;
    if (view->ready) invariants_.OnView(*view);
  };
  daemons_.push_back(std::move(daemon));
  seen_ = nullptr;
}

// The next one starts a while later, if no other runs.
void World::Kill(Daemon* daemon, const std::string& how) {
  const auto found = std::find_if(daemons_.begin(), daemons_.end(),
                                  [daemon](const auto& one) { return one.get() == daemon; });
  if (found == daemons_.end()) return;
  stage_.Note("daemon " + std::to_string(daemon->number()) + " dies: " + how);
  const bool newest = found + 1 == daemons_.end();
  dead_.push_back(std::move(*found));
  daemons_.erase(found);
  if (!newest) return;
  stage_.agenda.After(static_cast<std::int64_t>(nemesis_.Below(3'000)) * kMs, [this] {
    if (Current() == nullptr) StartDaemon();
  });
}

void World::Tick() {
  stage_.agenda.RunNext();
  dead_.clear();
  for (std::size_t i = 0; i < daemons_.size(); ++i) daemons_[i]->Wake();
}

void World::PlanTrouble() {
  const auto times = 4 + nemesis_.Below(8);
  for (std::uint64_t i = 0; i < times; ++i)
    stage_.agenda.After(static_cast<std::int64_t>(nemesis_.Below(kTroubleMs)) * kMs,
                        [this] { Trouble(); });
}

// One event that Muster did not order, of a kind that is on.
void World::Trouble() {
  if (stage_.healed) return;
  const SwarmOptions& swarm = stage_.options;
  const auto wait = static_cast<std::int64_t>(nemesis_.Below(12'000)) * kMs;
  const std::string cluster = members_.names()[nemesis_.Below(members_.names().size())];
  const auto any = [this] {
    auto object = members_.objects().begin();
    std::advance(object, static_cast<std::ptrdiff_t>(nemesis_.Below(members_.objects().size())));
    return object->first;
  };
  switch (nemesis_.Below(8)) {
    case 0:
      if (swarm.kills && Current() != nullptr) Kill(Current(), "killed");
      break;
    case 1:
      if (swarm.freezes) FreezeOne();
      break;
    case 2:
      if (!swarm.clock_jumps) break;
      stage_.Note("the clock is set");
      stage_.clock.Jump(static_cast<std::int64_t>(nemesis_.Below(40'000)) * 1'000 -
                        20 * kMicrosPerSecond);
      break;
    case 3:
      if (!swarm.store_away || database_.away) break;
      stage_.Note("the database is away");
      database_.SetAway(true);
      stage_.agenda.After(wait / 2, [this] {
        stage_.Note("the database is back");
        database_.SetAway(false);
      });
      break;
    case 4:
      if (!swarm.away_members || members_.IsAway(cluster)) break;
      members_.SetAway(cluster, true);
      for (const auto& daemon : daemons_) daemon->network().Noticed(cluster);
      stage_.agenda.After(3 * wait, [this, cluster] {
        if (!members_.IsAway(cluster)) return;
        members_.SetAway(cluster, false);
        for (const auto& daemon : daemons_) daemon->network().Noticed(cluster);
      });
      break;
    case 5:
      if (!swarm.wiped_members || !nemesis_.Chance(40)) break;
      members_.Wipe(cluster);
      for (const auto& daemon : daemons_) daemon->network().Noticed(cluster);
      break;
    case 6:
      if (swarm.disturbed_objects && !members_.objects().empty()) members_.Delete(any());
      break;
    default:
      if (swarm.disturbed_objects && !members_.objects().empty()) members_.Unlabel(any());
      break;
  }
}

// The leader is stopped; another daemon starts and takes the lead; the first one goes on and finds
// out.
void World::FreezeOne() {
  Daemon* const daemon = Current();
  if (daemon == nullptr || daemons_.size() > 1) return;
  daemon->SetFrozen(true);
  const int number = daemon->number();
  stage_.agenda.After(static_cast<std::int64_t>(1'000 + nemesis_.Below(4'000)) * kMs,
                      [this, number] {
    if (daemons_.size() == 1 && daemons_[0]->number() == number) StartDaemon();
  });
  const auto find = [this, number]() -> Daemon* {
    for (const auto& one : daemons_) {
      if (one->number() == number) return one.get();
    }
    return nullptr;
  };
  const auto back = static_cast<std::int64_t>(2'000 + nemesis_.Below(10'000)) * kMs;
  stage_.agenda.After(back, [find] {
    if (Daemon* const one = find()) one->SetFrozen(false);
  });
  stage_.agenda.After(back + 5 * kSecond, [this, find] {
    Daemon* const one = find();
    if (one != nullptr && one != Current()) Kill(one, "its lead is lost");
  });
}

// Now and then, when the daemon has nothing to do.
void World::LookQuiet() {
  Daemon* const daemon = Current();
  if (daemon != nullptr && daemon->Quiet()) {
    const WorldViewPtr view = daemon->View();
    const bool settled = stage_.clock.Now().ns - ready_since_ns_ > kListsWithinNs;
    if (view->ready && settled) invariants_.OnQuiet(*view);
  }
  stage_.agenda.After(kSecond, [this] { LookQuiet(); });
}

void World::Safety() {
  StartDaemon();
  daemons_.back()->Wake();
  began_ns_ = stage_.clock.Now().ns;
  clients_.Begin();
  PlanTrouble();
  stage_.agenda.After(kSecond, [this] { LookQuiet(); });
  const std::int64_t until = began_ns_ + kTroubleMs * kMs;
  std::uint64_t ticks = 0;
  while (stage_.clock.Now().ns < until && !(clients_.Done() && AllEnded())) {
    Tick();
    if (++ticks > kMostTicks) stage_.Break("P5: the world does not come to rest");
  }
}

// Faults stop. A daemon runs, or starts soon.
void World::Heal() {
  stage_.Note("heal");
  stage_.healed = true;
  healed_ns_ = stage_.clock.Now().ns;
  if (database_.away) database_.SetAway(false);
  for (const std::string& cluster : members_.names()) {
    if (!members_.IsAway(cluster)) continue;
    members_.SetAway(cluster, false);
    for (const auto& daemon : daemons_) daemon->network().Noticed(cluster);
  }
  while (daemons_.size() > 1) Kill(daemons_.front().get(), "its lead is lost");
  if (!daemons_.empty() && daemons_.back()->frozen()) daemons_.back()->SetFrozen(false);
  clients_.Heal();
  open_ends_ = OpenEnds();
  open_at_heal_ = open_ends_.size();
  told_ns_ = healed_ns_;
  for (const auto& daemon : daemons_) daemon->Wake();
}

// Attempts that have ended on their member and are live in the database.
std::set<DispatchKey> World::OpenEnds() {
  std::set<DispatchKey> open;
  for (const DispatchRow& row : database_.Load().dispatches) {
    const auto object = members_.objects().find(row.key);
    if (!IsLive(row.state) || object == members_.objects().end()) continue;
    const RemotePhase phase = object->second.phase;
    if (phase == RemotePhase::kSucceeded || phase == RemotePhase::kFailed) open.insert(row.key);
  }
  return open;
}

void World::LookAtOpenEnds() {
  if (open_ends_.empty()) return;
  const std::set<DispatchKey> open = OpenEnds();
  std::erase_if(open_ends_, [&](const DispatchKey& key) { return !open.contains(key); });
  told_ns_ = stage_.clock.Now().ns;
}

bool World::AllEnded() {
  if (Current() == nullptr || !Current()->View()->ready) return false;
  bool ended = true;
  Current()->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    ended = ended && IsTerminal(job->state);
    return ended;
  });
  return ended;
}

// Everything that can end has ended within the time; then it settles, and is looked at.
void World::Liveness() {
  const std::int64_t most = 15 * 60 * kSecond;
  std::uint64_t ticks = 0;
  while (!(clients_.Done() && AllEnded())) {
    Tick();
    LookAtOpenEnds();
    const bool late = stage_.clock.Now().ns - healed_ns_ > most;
    if (!late && ++ticks < kMostTicks) continue;
    std::string who;
    if (Current() != nullptr) {
      Current()->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
        if (IsTerminal(job->state)) return true;
        who = "job " + std::to_string(job->id.value) + " is " +
              std::string(JobStateName(job->state)) + ", " + std::string(ReasonName(job->reason)) +
              ": " + job->message;
        return false;
      });
    }
    stage_.Break("R33: not all has ended long after the faults: " + who);
  }
  ended_ns_ = stage_.clock.Now().ns;
  const std::int64_t settle =
      3 * stage_.options.orphan_grace_ms * kMs + 3 * stage_.options.reconcile_every_ms * kMs;
  while (stage_.clock.Now().ns < ended_ns_ + settle) Tick();
  invariants_.AtRest(*Current()->View());
}

// For whoever reads the trace: the jobs that have not ended, as stored.
void World::Show() {
  if (!stage_.trace.sink) return;
  for (const JobPtr& job : database_.Load().jobs) {
    std::string line = "job " + std::to_string(job->id.value) + " " + job->name + " " +
                       std::string(JobStateName(job->state)) + " in " + job->cluster_queue +
                       ", priority " + std::to_string(job->priority) + ", attempt " +
                       std::to_string(job->attempt) + " on " + job->cluster + ", " +
                       std::string(ReasonName(job->reason)) + ": " + job->message;
    for (const Dependency& one : BatchStateOf(*job).dependencies)
      line += "; after " + std::to_string(one.job.value) + (one.failed ? " (never)" : "");
    stage_.trace.sink(stage_.clock.Now().ns, line);
    if (IsTerminal(job->state)) continue;
    const auto events = database_.memory.ReadEvents(0, job->id, 10'000);
    for (const Event& one : events.ok() ? *events : std::vector<Event>{}) {
      stage_.trace.sink(stage_.clock.Now().ns, "  " + FormatRfc3339(one.time) + " " + one.type +
                                                   " " + one.reason + ": " + one.message);
    }
  }
}

Verdict World::Run() {
  Verdict verdict;
  verdict.seed = stage_.seed;
  try {
    Safety();
    Heal();
    Liveness();
  } catch (const Violation& violation) {
    verdict.broken = violation.what;
    Show();
  }
  verdict.hash = stage_.trace.hash();
  verdict.lines = stage_.trace.lines();
  verdict.checks = invariants_.checks();
  verdict.makespan_ms = (ended_ns_ - began_ns_) / kMs;
  verdict.healing_ms = std::max<std::int64_t>(0, (ended_ns_ - healed_ns_) / kMs);
  verdict.told_ms = (told_ns_ - healed_ns_) / kMs;
  verdict.open_ends = open_at_heal_;
  const auto events = database_.memory.ReadEvents(0, JobId{}, 1'000'000);
  if (events.ok()) {
    verdict.evictions = static_cast<std::uint64_t>(std::count_if(
        events->begin(), events->end(), [](const Event& one) { return one.type == "JobEvicted"; }));
  }
  verdict.daemons = started_;
  return verdict;
}

Verdict RunSeed(std::uint64_t seed, const SwarmOptions& options,
                std::function<void(std::int64_t, const std::string&)> sink) {
  World world(seed, options);
  world.stage().trace.sink = std::move(sink);
  SetStage(&world.stage());
  const Verdict verdict = world.Run();
  SetStage(nullptr);
  return verdict;
}

}  // namespace muster::sim
