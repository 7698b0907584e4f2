#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr int kStepsMax = 100'000;  // a test that needs more does not come to rest

}  // namespace

EngineOptions OptionsWith(AdmissionSettings settings) {
  EngineOptions options;
  options.settings = std::make_shared<const AdmissionSettings>(std::move(settings));
  return options;
}

EngineWorld::EngineWorld(std::uint64_t seed, EngineOptions options,
                         MemoryStoreOptions store_options)
    : random(seed), store(std::move(store_options)), options_(std::move(options)) {
  Start();
}

void EngineWorld::Start() {
  metrics = std::make_unique<Metrics>();
  steady = std::make_unique<SteadyClock>(clock);
  options_.on_last_stamp = [this](WallTime last) { steady->NotBefore(last); };
  engine = std::make_unique<Engine>(store, *steady, random, members, *metrics, options_,
                                    [this](const std::vector<Event>& more) {
    events.insert(events.end(), more.begin(), more.end());
  });
  members.SetPost([this](Command command) { return engine->Post(std::move(command)); });
  Settle();
}

void EngineWorld::Settle() {
  int steps = 0;
  while (engine->Step()) MUSTER_CHECK(++steps < kStepsMax);
}

void EngineWorld::Run() {
  int rounds = 0;
  do {
    Settle();
    members.CarryAll();
    MUSTER_CHECK(++rounds < kStepsMax);
  } while (engine->Step() || !members.Idle());
}

void EngineWorld::Restart() {
  members.SetPost([](Command) { return false; });
  engine.reset();
  members.ForgetOrders();
  Start();
}

void EngineWorld::Restart(EngineOptions options) {
  options_ = std::move(options);
  Restart();
}

void EngineWorld::Declare(const ResourceList& nominal, const ResourceList& room) {
  const auto applied = Apply(
      {NamespaceObject("default"), FlavorObject("default"),
       WithAnnotation(ClusterQueueObject({.nominal = nominal}), "muster.io/requeue-wait", "0s"),
       LocalQueueObject("queue", "cq"), MemberObject("east", room)});
  MUSTER_CHECK(applied.ok());
  Run();
}

Result<std::vector<AppliedObject>> EngineWorld::Apply(std::vector<ObjectChange> changes,
                                                      bool dry_run) {
  std::optional<Result<std::vector<AppliedObject>>> answer;
  ApplyCommand command;
  command.actor = {"root", "test"};
  command.changes = std::move(changes);
  command.dry_run = dry_run;
  command.done = [&answer](Result<std::vector<AppliedObject>> result) {
    answer = std::move(result);
  };
  MUSTER_CHECK(engine->Post(std::move(command)));
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

JobPtr EngineWorld::Submit(const JobSpec& spec) {
  JobPtr accepted;
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission(spec));
  command.done = [&accepted](Result<std::vector<Result<SubmittedJob>>> result) {
    if (result.ok() && (*result)[0].ok()) accepted = (*result)[0]->job;
  };
  MUSTER_CHECK(engine->Post(std::move(command)));
  Settle();
  return accepted;
}

Result<JobPtr> EngineWorld::Do(JobVerb verb, JobId id) {
  std::optional<Result<JobPtr>> answer;
  engine->Post(JobCommand{{"alice", "test"}, verb, id, [&answer](Result<JobPtr> result) {
                            answer = std::move(result);
                          }});
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

Result<JobPtr> EngineWorld::SetCheck(JobId id, const std::string& check, CheckState state,
                                     std::optional<std::int32_t> requeue_after_s) {
  std::optional<Result<JobPtr>> answer;
  AdmissionCheckStatus says;
  says.name = check;
  says.state = state;
  says.message = "as told";
  says.requeue_after_s = requeue_after_s;
  SetCheckStatusCommand command{{"checker", "test"}, id, {std::move(says)}, 0, {}};
  command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
  engine->Post(std::move(command));
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

Result<ObjectPtr> EngineWorld::ActivateCheck(const std::string& check) {
  std::optional<Result<ObjectPtr>> answer;
  engine->Post(SetCheckActiveCommand{
      {"checker", "test"}, check, true, "Active", "ready", 0, [&answer](Result<ObjectPtr> result) {
        answer = std::move(result);
      }});
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

Result<JobPtr> EngineWorld::Change(ChangeJobCommand command) {
  std::optional<Result<JobPtr>> answer;
  command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
  engine->Post(std::move(command));
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

Result<EditEffect> EngineWorld::Preview(std::vector<ObjectChange> changes) {
  std::optional<Result<EditEffect>> answer;
  engine->Post(PreviewCommand{
      std::move(changes), [&answer](Result<EditEffect> result) { answer = std::move(result); }});
  Settle();
  MUSTER_CHECK(answer.has_value());
  return *answer;
}

JobState EngineWorld::StateOf(JobId id) const {
  const JobPtr job = Job(id);
  MUSTER_CHECK(job != nullptr);
  return job->state;
}

DispatchKey EngineWorld::KeyOf(JobId id) const {
  const JobPtr job = Job(id);
  MUSTER_CHECK(job != nullptr);
  return {job->uid, job->attempt, job->cluster};
}

std::optional<DispatchRow> EngineWorld::StoredRow(JobId id) {
  const JobPtr job = Job(id);
  const StoredWorld loaded = Stored();
  for (const DispatchRow& row : loaded.dispatches) {
    if (row.job == id && (job == nullptr || row.key.attempt == job->attempt)) return row;
  }
  return std::nullopt;
}

std::int64_t EngineWorld::UsedCpu(const std::string& cluster_queue) const {
  const core::Usage& usage = engine->View()->usage;
  const auto node = usage.tree().ClusterQueueIndex(cluster_queue);
  const auto pair = usage.tree().PairIndex("default", "cpu");
  return node < 0 || pair < 0 ? 0 : usage.At(node, pair);
}

StoredWorld EngineWorld::Stored() {
  // Every recovery starts an epoch, and only the newest may read; a load changes nothing.
  while (true) {
    auto loaded = store.Load(epoch_, WallTime{});
    if (loaded.ok()) return std::move(loaded).value();
    ++epoch_.value;
    MUSTER_CHECK(epoch_.value < kStepsMax);
  }
}

}  // namespace muster::test
