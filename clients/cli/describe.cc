// describe and delete: one object in full; and the end of one.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/describe_page.h"
#include "clients/cli/jobs.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "schedd/text/yaml.h"

namespace muster::cli {
namespace {

constexpr std::size_t kDescribedPods = 50;
constexpr std::size_t kDescribedEvents = 100'000;  // all

void PrintConditions(const json::value* conditions) {
  if (conditions == nullptr || !conditions->is_array() || conditions->get_array().empty()) return;
  TextTable table({"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"});
  for (const json::value& condition : conditions->get_array()) {
    table.Add({client::PathText(condition, "type"), client::PathText(condition, "status"),
               client::PathText(condition, "reason"),
               client::PathText(condition, "lastTransitionTime"),
               client::PathText(condition, "message")});
  }
  std::printf("Conditions:\n%s", table.Render().c_str());
}

// A table of what is below the job's path, or nothing: the view above is what was asked for, and
// history or member may be gone.
void PrintItems(Session& session, std::int64_t id, const char* path, const char* title,
                const std::vector<std::pair<const char*, const char*>>& columns,
                std::size_t most = kDescribedEvents) {
  const client::Outcome<json::value> answer =
      session.api.Get(client::JobPath(std::to_string(id)) + path);
  if (!answer.ok()) return;
  const json::value* items = client::FindPath(*answer, "items");
  if (items == nullptr || !items->is_array() || items->get_array().empty()) return;
  std::vector<std::string> heads;
  for (const auto& [head, key] : columns) heads.emplace_back(head);
  TextTable table(heads);
  const std::size_t all = items->get_array().size();
  for (std::size_t i = 0; i < std::min(all, most); ++i) {
    std::vector<std::string> row;
    for (const auto& [head, key] : columns)
      row.push_back(client::PathText(items->get_array()[i], key));
    table.Add(row);
  }
  std::printf("%s:\n%s", title, table.Render().c_str());
  if (all > most) std::printf("... and %zu more\n", all - most);
}

int DescribeJob(Session& session, const std::string& name) {
  client::Outcome<client::JobView> job = FindJob(session, name);
  if (!job.ok()) return PrintFailure(job.failure());
  for (const char* key :
       {"id",      "uid",          "name",      "displayName", "namespace", "kind",    "user",
        "queue",   "clusterQueue", "priority",  "state",       "reason",    "message", "cluster",
        "attempt", "submitTime",   "admitTime", "startTime",   "endTime",   "exitCode"}) {
    const std::string text = client::MemberText(job->all, key);
    if (!text.empty()) std::printf("%-14s %s\n", (std::string(key) + ":").c_str(), text.c_str());
  }
  const json::value* sets = job->all.if_contains("podSets");
  if (sets != nullptr && sets->is_array() && !sets->get_array().empty()) {
    std::printf("podSets:\n%s", WriteYaml(*sets).c_str());
  }
  PrintConditions(job->all.if_contains("conditions"));
  PrintItems(session, job->id, "/pods", "Pods",
             {{"POD", "name"},
              {"SET", "podSet"},
              {"PHASE", "phase"},
              {"NODE", "node"},
              {"EXIT", "exitCode"},
              {"MESSAGE", "message"}},
             kDescribedPods);
  PrintItems(session, job->id, "/events", "Events",
             {{"TIME", "time"}, {"EVENT", "type"}, {"REASON", "reason"}, {"MESSAGE", "message"}});
  PrintItems(session, job->id, "/member-events", "Events on the member",
             {{"TIME", "time"},
              {"TYPE", "type"},
              {"REASON", "reason"},
              {"OBJECT", "object"},
              {"MESSAGE", "message"}});
  return 0;
}

const Kind* KindOrError(const std::string& name, int* exit) {
  const Kind* kind = FindKind(name);
  if (kind == nullptr) {
    PrintError("unknown kind \"" + name + "\"; muster get --help lists them");
    *exit = kBadUsage;
  }
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
      std::fputs((kind->is_placement() ? PlacementPage(*object) : WriteYaml(*object)).c_str(),
                 stdout);
  }
  return exit;
}

int Delete(Session& session, const NamedOptions& options) {
  int exit = 0;
  const Kind* kind = KindOrError(options.kind, &exit);
  if (kind == nullptr) return exit;
  for (const std::string& name : options.names) {
    std::string target = ObjectPath(*kind, session.ns(), name);
    std::string shown = std::string(kind->singular) + "/" + name;
    if (kind->is_job()) {
      const client::Outcome<client::JobView> job = FindJob(session, name);
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
