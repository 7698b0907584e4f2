#include "tests/support/owners_world.h"

namespace muster::test {
namespace {

std::string Line(const char* verb, const DispatchKey& key) {
  return std::string(verb) + " " + key.cluster + "/" + std::to_string(key.attempt);
}

}  // namespace

void OrderRecorder::Ensure(const DispatchKey& key, JobPtr, const std::string&) {
  lines.push_back(Line("ensure", key));
}
void OrderRecorder::Remove(const DispatchKey& key, RemovePolicy) {
  lines.push_back(Line("remove", key));
}
void OrderRecorder::Acknowledge(const DispatchKey& key, const RemoteObject&, const std::string&) {
  lines.push_back(Line("acknowledge", key));
}
void OrderRecorder::Confirm(const DispatchKey& key, const RemoteObject&, const std::string&) {
  lines.push_back(Line("confirm", key));
}
void OrderRecorder::List(const std::string& cluster) { lines.push_back("list " + cluster); }
void OrderRecorder::Forget() { lines.push_back("forget"); }

OwnersWorld::OwnersWorld(EngineOptions options)
    : context{store,
              clock,
              random,
              orders,
              std::move(options),
              EngineMetrics(metrics, [] { return WorldViewPtr(); }),
              std::make_shared<BoundedQueue<Envelope>>(1000)},
      owners(context) {
  const auto lease = store.Lead("test", std::chrono::milliseconds(0));
  MUSTER_CHECK(lease.ok());
  owners.commits.BeginEpoch(lease->epoch);
  owners.retention.Reset();
}

void OwnersWorld::Declare() {
  const Status applied =
      Apply({NamespaceObject("default"), FlavorObject("default"), ClusterQueueObject({}),
             LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})});
  MUSTER_CHECK(applied.ok());
}

Status OwnersWorld::Apply(const std::vector<ObjectChange>& changes) {
  const auto applied = owners.configuration.Apply({"test", "loopback"}, changes, false);
  if (!applied.ok()) return applied.error();
  Commit();
  return Done{};
}

JobPtr OwnersWorld::Submit(const JobSpec& spec) {
  JobPtr job;
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission(spec));
  command.done = [&job](Result<std::vector<Result<SubmittedJob>>> all) {
    if (all.ok() && all->front().ok()) job = all->front()->job;
  };
  owners.submissions.Handle(std::move(command));
  owners.submissions.Send();
  Commit();
  return job;
}

void OwnersWorld::Cycle() {
  owners.waiting.FlushReleased(owners.jobs.tree());
  owners.decider.Cycle();
  Commit();
}

void OwnersWorld::TakeAnswers() {
  std::deque<Envelope> arrived;
  context.inbox->PopAll(&arrived, std::chrono::nanoseconds(0));
  for (Envelope& envelope : arrived) {
    if (auto* accepted = std::get_if<AcceptDone>(&envelope))
      owners.submissions.Complete(std::move(*accepted));
    if (auto* committed = std::get_if<CommitDone>(&envelope))
      owners.commits.Complete(std::move(*committed));
  }
}

void OwnersWorld::Commit() {
  owners.commits.Send(owners.jobs.planned().usage());
  TakeAnswers();
  const auto due = owners.commits.TakeDue();
  for (const Order& order : due.orders) owners.rows.SendOrder(order);
  for (const auto& answer : due.answers) answer();
}

void OwnersWorld::Report(const JobPtr& job, RemotePhase phase) {
  Observation seen;
  seen.key = CurrentKey(*Now(job));
  seen.remote_uid = "uid-" + std::to_string(seen.key.attempt);
  seen.phase = phase;
  owners.reports.Add(ObservedCommand{seen});
  owners.reports.TakeSome();
}

}  // namespace muster::test
