// muster describe and muster delete.
//
// `describe` of a job prints its view and then what the paths below it tell: conditions, pods, the
// steps of a batch script, its own events and the events of the member that runs it. Only the view
// is required. The others are left out if they cannot be read, because the history may have been
// removed and the member may not answer. `describe` of a placement or a Secret is laid out as
// kubectl does it (describe_page.h); all other objects are printed as YAML.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/describe_page.h"
#include "clients/cli/event_folding.h"
#include "clients/cli/jobs.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

// Rows of the tables of pods and of steps; the number of the others is printed below them.
constexpr std::size_t kDescribedPods = 50;

std::string VisibleYaml(const json::value& value) {
  return client::VisibleText(WriteYaml(value), client::LineEnds::kKept);
}

void PrintConditions(const json::array& conditions) {
  if (conditions.empty()) return;
  TextTable table({"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"});
  for (const json::value& condition : conditions) {
    table.Add({client::PathText(condition, "type"), client::PathText(condition, "status"),
               client::PathText(condition, "reason"),
               client::PathText(condition, "lastTransitionTime"),
               client::PathText(condition, "message")});
  }
  std::printf("Conditions:\n%s", table.Render().c_str());
}

// The `items` of a list below the job's path, such as "/pods"; empty if the list cannot be read.
json::array ItemsOf(Session& session, std::int64_t id, const char* path) {
  client::Outcome<json::value> answer = session.api.Get(client::JobPath(std::to_string(id)) + path);
  if (!answer.ok()) return {};
  return ArrayOrEmpty(*answer, "items");
}

void PrintPods(Session& session, std::int64_t id) {
  const json::array pods = ItemsOf(session, id, "/pods");
  if (pods.empty()) return;
  TextTable table({"POD", "SET", "PHASE", "NODE", "EXIT", "MESSAGE"});
  for (std::size_t i = 0; i < std::min(pods.size(), kDescribedPods); ++i) {
    std::vector<std::string> row;
    for (const char* key : {"name", "podSet", "phase", "node", "exitCode", "message"})
      row.push_back(client::PathText(pods[i], key));
    table.Add(std::move(row));
  }
  std::printf("Pods:\n%s", table.Render().c_str());
  if (pods.size() > kDescribedPods) std::printf("... and %zu more\n", pods.size() - kDescribedPods);
}

// The last ones: they are what a running script is at.
void PrintSteps(Session& session, std::int64_t id) {
  const json::array steps = ItemsOf(session, id, "/steps");
  if (steps.empty()) return;
  const std::size_t hidden = steps.size() - std::min(steps.size(), kDescribedPods);
  TextTable table({"STEP", "NAME", "STATE", "EXIT", "TASKS", "NODES", "STARTED", "ENDED"});
  for (std::size_t i = hidden; i < steps.size(); ++i) {
    std::vector<std::string> row;
    for (const char* key :
         {"step", "name", "state", "exitCode", "tasks", "nodes", "startTime", "endTime"})
      row.push_back(client::PathText(steps[i], key));
    table.Add(std::move(row));
  }
  std::printf("Steps:\n%s", table.Render().c_str());
  if (hidden > 0) std::printf("... and %zu before them\n", hidden);
}

void PrintJobEvents(Session& session, std::int64_t id) {
  const json::array events = ItemsOf(session, id, "/events");
  if (events.empty()) return;
  TextTable table({"TIME", "EVENT", "REASON", "MESSAGE"});
  for (const FoldedEvent& event : FoldJobEvents(events))
    table.Add({WhenText(event), event.type, event.reason, event.message});
  std::printf("Events:\n%s", table.Render().c_str());
}

void PrintMemberEvents(Session& session, std::int64_t id) {
  const json::array events = ItemsOf(session, id, "/member-events");
  if (events.empty()) return;
  TextTable table({"TIME", "TYPE", "REASON", "OBJECT", "MESSAGE"});
  for (const FoldedEvent& event : FoldMemberEvents(events))
    table.Add({WhenText(event), event.type, event.reason, event.object, event.message});
  std::printf("Events on the member:\n%s", table.Render().c_str());
}

// The members are printed in this order, not in the server's.
int DescribeJob(Session& session, const std::string& name) {
  client::Outcome<client::JobView> job = FindJob(session, name, JobUse::kRead);
  if (!job.ok()) return PrintFailure(job.failure());
  for (const char* key :
       {"id",      "uid",          "name",      "displayName", "namespace", "kind",    "user",
        "queue",   "clusterQueue", "priority",  "state",       "reason",    "message", "cluster",
        "attempt", "submitTime",   "admitTime", "startTime",   "endTime",   "exitCode"}) {
    const std::string text = client::MemberText(job->all, key);
    if (text.empty()) continue;
    std::printf("%-14s %s\n", (std::string(key) + ":").c_str(), client::VisibleText(text).c_str());
  }
  const json::array& sets = ArrayOrEmpty(job->all, "podSets");
  if (!sets.empty()) std::printf("podSets:\n%s", VisibleYaml(sets).c_str());
  PrintConditions(ArrayOrEmpty(job->all, "conditions"));
  PrintPods(session, job->id);
  if (client::MemberText(job->all, "kind") == "BatchScript") PrintSteps(session, job->id);
  PrintJobEvents(session, job->id);
  PrintMemberEvents(session, job->id);
  return 0;
}

std::string PageOf(const Kind& kind, const json::value& object) {
  if (kind.is_placement()) return PlacementPage(object);
  return kind.is_secret() ? SecretPage(object) : VisibleYaml(object);
}

// Null, with the exit status in `*exit`, after an error message.
const Kind* KindOrError(const std::string& name, int* exit) {
  const Kind* kind = FindKind(name);
  if (kind == nullptr) *exit = UnknownKind(name);
  return kind;
}

}  // namespace

int Describe(Session& session, const NamedOptions& options) {
  int exit = 0;
  const Kind* kind = KindOrError(options.kind, &exit);
  if (kind == nullptr) return exit;
  for (const std::string& name : options.names) {
    if (&name != &options.names.front()) std::printf("\n");
    if (kind->is_job()) {
      exit = std::max(exit, DescribeJob(session, name));
      continue;
    }
    const client::Outcome<json::value> object =
        session.api.Get(ObjectPath(*kind, session.ns(), name));
    if (!object.ok())
      exit = std::max(exit, PrintFailure(object.failure()));
    else
      std::fputs(PageOf(*kind, *object).c_str(), stdout);
  }
  return exit;
}

// Deleting a job means cancelling it. The exit status is the highest of all names.
int Delete(Session& session, const NamedOptions& options) {
  int exit = 0;
  const Kind* kind = KindOrError(options.kind, &exit);
  if (kind == nullptr) return exit;
  for (const std::string& name : options.names) {
    std::string target = ObjectPath(*kind, session.ns(), name);
    std::string shown = std::string(kind->singular) + "/" + name;
    if (kind->is_job()) {
      const client::Outcome<client::JobView> job = FindJob(session, name, JobUse::kChange);
      if (!job.ok()) {
        exit = std::max(exit, PrintFailure(job.failure()));
        continue;
      }
      target = client::JobPath(std::to_string(job->id));
      shown = "job/" + std::to_string(job->id);
    }
    const client::Outcome<json::value> answer = session.api.Send({"DELETE", target});
    if (answer.ok())
      std::printf("%s %s\n", shown.c_str(), kind->is_job() ? "cancelled" : "deleted");
    else
      exit = std::max(exit, PrintFailure(answer.failure()));
  }
  return exit;
}

}  // namespace muster::cli
