// explain: the page of one job.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"
#include "clients/cli/text_table.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml.h"

namespace muster::cli {
namespace {

/// What a job or a member says goes to a terminal: see clients/lib/visible_text.h.
std::string PathText(const json::value& value, std::string_view path) {
  return client::VisibleText(client::PathText(value, path));
}

const json::array* ArrayUnlessEmpty(const json::value& value, const char* path) {
  const json::array& found = ArrayOrEmpty(value, JsonPath::Dotted(path));
  return found.empty() ? nullptr : &found;
}

bool IsTrue(const json::value& value, const char* path) { return PathText(value, path) == "true"; }

// Below a heading, indented by two more than it.
void PrintList(const char* heading, const json::value& value, const char* path) {
  const json::array* sentences = ArrayUnlessEmpty(value, path);
  if (sentences == nullptr) return;
  std::printf("%s\n", heading);
  const int indent = heading[0] == ' ' ? 4 : 2;
  for (const json::value& sentence : *sentences) {
    if (!sentence.is_string()) continue;
    std::printf("%*s- %s\n", indent, "", client::VisibleText(sentence.get_string()).c_str());
  }
}

void PrintHeading(const json::value& answer) {
  const std::string reason = PathText(answer, "reason");
  std::printf("job %s %s/%s is %s%s\n%s\n", PathText(answer, "job.id").c_str(),
              PathText(answer, "job.namespace").c_str(), PathText(answer, "job.name").c_str(),
              PathText(answer, "state").c_str(),
              reason.empty() ? "" : (" (" + reason + ")").c_str(),
              PathText(answer, "summary").c_str());
  const std::string message = PathText(answer, "message");
  if (!message.empty()) std::printf("the scheduler says: %s\n", message.c_str());
  PrintList("\nFacts:", answer, "facts");
}

void PrintPlace(const json::value& answer) {
  const std::string position = PathText(answer, "position");
  if (position.empty() || position == "0") return;
  std::printf(
      "\nQueue:\n  %s of %s in ClusterQueue %s, %s of %s in LocalQueue %s/%s, priority %s\n",
      position.c_str(), PathText(answer, "waiting").c_str(),
      PathText(answer, "job.clusterQueue").c_str(), PathText(answer, "localPosition").c_str(),
      PathText(answer, "localWaiting").c_str(), PathText(answer, "job.namespace").c_str(),
      PathText(answer, "job.queue").c_str(), PathText(answer, "job.priority").c_str());
  if (const json::array* ahead = ArrayUnlessEmpty(answer, "ahead")) {
    std::printf("  before it:\n");
    TextTable table({"    JOB", "NAME", "PRIORITY", "QUEUE", "WAITS FOR"});
    for (const json::value& job : *ahead) {
      table.Add({"    " + PathText(job, "id"),
                 PathText(job, "namespace") + "/" + PathText(job, "name"),
                 PathText(job, "priority"), PathText(job, "queue"), PathText(job, "reason")});
    }
    std::fputs(table.Render().c_str(), stdout);
  }
  const std::string blocked = PathText(answer, "blocked");
  const bool said = blocked == PathText(answer, "summary");
  if (!blocked.empty() && !said) std::printf("  %s\n", blocked.c_str());
}

std::string FlavorVerdict(const json::value& flavor, bool holds) {
  const std::string reason = PathText(flavor, "reason");
  if (IsTrue(flavor, "chosen")) return holds ? "chosen" : "fits: it would get this";
  if (PathText(flavor, "resource").empty()) return PathText(flavor, "message");
  const std::string missing = PathText(flavor, "missing");
  const std::string limit = PathText(flavor, "limit");
  std::string verdict = reason == "ExceedsMaxQuota" ? "never" : missing + " short";
  if (reason.empty()) verdict = "fits";
  if (!reason.empty() && missing == "0" && reason != "ExceedsMaxQuota") verdict = reason;
  return verdict + (limit.empty() ? "" : ": " + limit);
}

void PrintFlavors(const json::value& answer) {
  const json::array* flavors = ArrayUnlessEmpty(answer, "flavors");
  if (flavors == nullptr) return;
  const bool holds = PathText(answer, "state") != "Pending";
  std::printf("\nQuota, flavor by flavor%s:\n",
              holds ? ", as if the job did not hold its own" : "");
  TextTable table(
      {"  POD SET", "FLAVOR", "RESOURCE", "NEEDS", "CAN USE", "USED", "FREE", "VERDICT"});
  for (const json::value& flavor : *flavors) {
    table.Add({"  " + PathText(flavor, "podSet"), PathText(flavor, "flavor"),
               PathText(flavor, "resource"), PathText(flavor, "requested"),
               PathText(flavor, "potential"), PathText(flavor, "used"),
               PathText(flavor, "available"), FlavorVerdict(flavor, holds)});
  }
  std::fputs(table.Render().c_str(), stdout);
}

// How each member scores, term by term: of a job that a placement governs.
void PrintScores(const json::array& clusters) {
  std::printf("\nScores:\n");
  TextTable table({"  MEMBER CLUSTER", "SPREAD", "AFFINITY", "TERM", "WEIGHT", "POINTS"});
  for (const json::value& verdict : clusters) {
    const json::array* terms = ArrayUnlessEmpty(verdict, "terms");
    if (terms == nullptr) continue;
    for (const json::value& term : *terms) {
      const bool first = &term == &terms->front();
      const auto once = [&](const std::string& text) { return first ? text : std::string(" "); };
      const std::string weight = PathText(term, "weight");
      table.Add({once("  " + PathText(verdict, "cluster")), once(PathText(verdict, "spreadScore")),
                 once(PathText(verdict, "affinityScore")), PathText(term, "term"),
                 weight == "0" ? "" : weight, PathText(term, "score")});
    }
  }
  std::fputs(table.Render().c_str(), stdout);
}

void PrintClusters(const json::value& answer) {
  const json::array* clusters = ArrayUnlessEmpty(answer, "clusters");
  if (clusters == nullptr) return;
  const auto any = [&](const auto& has) {
    return std::any_of(clusters->begin(), clusters->end(), has);
  };
  const bool filtered =
      any([](const json::value& one) { return !PathText(one, "filter").empty(); });
  std::printf("\nMember clusters:\n");
  std::vector<std::string> heads = {"  MEMBER CLUSTER", "COULD HOLD IT", "HAS ROOM NOW"};
  if (filtered) heads.emplace_back("TURNED AWAY BY");
  heads.emplace_back("VERDICT");
  TextTable table(std::move(heads));
  for (const json::value& verdict : *clusters) {
    const auto yes_no = [&](const char* key) { return IsTrue(verdict, key) ? "yes" : "no"; };
    std::vector<std::string> row = {"  " + PathText(verdict, "cluster"), yes_no("eligible"),
                                    yes_no("fitsNow")};
    if (filtered) row.push_back(PathText(verdict, "filter"));
    row.push_back(PathText(verdict, "message"));
    table.Add(std::move(row));
  }
  std::fputs(table.Render().c_str(), stdout);
  if (any([](const json::value& one) { return ArrayUnlessEmpty(one, "terms") != nullptr; }))
    PrintScores(*clusters);
}

std::string Amounts(const json::value& held) {
  std::string text;
  for (const auto& [resource, amount] : ObjectOrEmpty(held, "amounts")) {
    text +=
        (text.empty() ? "" : ", ") + std::string(amount.get_string()) + " " + std::string(resource);
  }
  return text;
}

std::string Names(const json::value& held) {
  std::string text;
  const json::array* jobs = ArrayUnlessEmpty(held, "jobs");
  if (jobs == nullptr) return text;
  for (const json::value& job : *jobs) {
    text += (text.empty() ? "" : ", ") + PathText(job, "id") + " (priority " +
            PathText(job, "priority") + ")";
  }
  if (PathText(held, "workloads") != std::to_string(jobs->size())) text += ", ...";
  return text;
}

void PrintPreemption(const json::value& answer) {
  const json::value* preemption = FindValue(answer, "preemption");
  if (preemption == nullptr || !preemption->is_object()) return;
  std::printf("\nPreemption:\n  %s (%s)\n", PathText(*preemption, "outcome").c_str(),
              PathText(*preemption, "policies").c_str());
  if (const json::array* held_by = ArrayUnlessEmpty(*preemption, "heldBy")) {
    TextTable table({"  HELD IN", "WORKLOADS", "AMOUNT", "JOBS", "MAY THEY BE PREEMPTED FOR IT"});
    for (const json::value& held : *held_by) {
      table.Add({"  " + PathText(held, "clusterQueue"), PathText(held, "workloads"), Amounts(held),
                 Names(held), PathText(held, "verdict")});
    }
    std::fputs(table.Render().c_str(), stdout);
  }
  const std::string more = PathText(*preemption, "moreQueues");
  if (!more.empty() && more != "0") std::printf("  and %s more queues\n", more.c_str());
  PrintList("  what would change that:", *preemption, "wouldAllow");
}

void PrintStart(const json::value& answer) {
  const std::string text = PathText(answer, "estimatedStart.text");
  if (text.empty()) return;
  std::printf("\nEstimated start: %s\n", text.c_str());
  PrintList("  provided that:", answer, "estimatedStart.assumptions");
}

}  // namespace

int Explain(Session& session, const std::string& name, const std::string& output) {
  if (!output.empty() && output != "json" && output != "yaml") {
    return PrintError("-o takes json or yaml, not \"" + output + "\""), kBadUsage;
  }
  const client::Outcome<client::JobView> job = FindJob(session, name, JobUse::kRead);
  if (!job.ok()) return PrintFailure(job.failure());
  const client::Outcome<json::value> answer =
      session.api.Get(client::JobPath(std::to_string(job->id)) + "/explain");
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  PrintHeading(*answer);
  PrintPlace(*answer);
  PrintFlavors(*answer);
  PrintClusters(*answer);
  PrintPreemption(*answer);
  PrintList("\nWhat would let it run:", *answer, "wouldHelp");
  PrintStart(*answer);
  return 0;
}

}  // namespace muster::cli
