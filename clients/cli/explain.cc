// muster explain: lays out the server's explanation of one job (GET /v1/jobs/ID/explain).
//
// All verdicts and sentences are the server's; this file only prints them: why the job is in its
// state, its place in the queue, quota flavor by flavor, member clusters with their scores,
// preemption, and what would help. A section without data is left out. -o json and -o yaml print
// the answer itself.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"
#include "clients/cli/text_table.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

// Null for a list that is absent or empty.
const json::array* ArrayUnlessEmpty(const json::value& value, const char* path) {
  const json::array& found = ArrayOrEmpty(value, JsonPath::Dotted(path));
  return found.empty() ? nullptr : &found;
}

bool IsTrue(const json::value& value, const char* path) { return ShownText(value, path) == "true"; }

// A list of sentences below a heading, indented two columns deeper than the heading.
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

// The job, its state and the server's summary in one sentence.
void PrintHeading(const json::value& answer) {
  const std::string reason = ShownText(answer, "reason");
  std::printf("job %s %s/%s is %s%s\n%s\n", ShownText(answer, "job.id").c_str(),
              ShownText(answer, "job.namespace").c_str(), ShownText(answer, "job.name").c_str(),
              ShownText(answer, "state").c_str(),
              reason.empty() ? "" : (" (" + reason + ")").c_str(),
              ShownText(answer, "summary").c_str());
  const std::string message = ShownText(answer, "message");
  if (!message.empty()) std::printf("the scheduler says: %s\n", message.c_str());
  PrintList("\nFacts:", answer, "facts");
}

// The job's position in its ClusterQueue and the jobs before it. A job that is not in a queue has
// position 0 and no such section.
void PrintPlace(const json::value& answer) {
  const std::string position = ShownText(answer, "position");
  if (position.empty() || position == "0") return;
  std::printf(
      "\nQueue:\n  %s of %s in ClusterQueue %s, %s of %s in LocalQueue %s/%s, priority %s\n",
      position.c_str(), ShownText(answer, "waiting").c_str(),
      ShownText(answer, "job.clusterQueue").c_str(), ShownText(answer, "localPosition").c_str(),
      ShownText(answer, "localWaiting").c_str(), ShownText(answer, "job.namespace").c_str(),
      ShownText(answer, "job.queue").c_str(), ShownText(answer, "job.priority").c_str());
  if (const json::array* ahead = ArrayUnlessEmpty(answer, "ahead")) {
    std::printf("  before it:\n");
    TextTable table({"    JOB", "NAME", "PRIORITY", "QUEUE", "WAITS FOR"});
    for (const json::value& job : *ahead) {
      table.Add({"    " + ShownText(job, "id"),
                 ShownText(job, "namespace") + "/" + ShownText(job, "name"),
                 ShownText(job, "priority"), ShownText(job, "queue"), ShownText(job, "reason")});
    }
    std::fputs(table.Render().c_str(), stdout);
  }
  const std::string blocked = ShownText(answer, "blocked");
  // The summary at the top may be this sentence already.
  const bool said = blocked == ShownText(answer, "summary");
  if (!blocked.empty() && !said) std::printf("  %s\n", blocked.c_str());
}

// One cell: how a flavor serves one resource. "never" means that the request exceeds the most that
// this quota can ever give; otherwise the cell says how much is missing and by which limit.
std::string FlavorVerdict(const json::value& flavor, bool holds) {
  const std::string reason = ShownText(flavor, "reason");
  if (IsTrue(flavor, "chosen")) return holds ? "chosen" : "fits: it would get this";
  if (ShownText(flavor, "resource").empty()) return ShownText(flavor, "message");
  const std::string missing = ShownText(flavor, "missing");
  const std::string limit = ShownText(flavor, "limit");
  std::string verdict = reason == "ExceedsMaxQuota" ? "never" : missing + " short";
  if (reason.empty()) verdict = "fits";
  if (!reason.empty() && missing == "0" && reason != "ExceedsMaxQuota") verdict = reason;
  return verdict + (limit.empty() ? "" : ": " + limit);
}

// A line for each pod set, flavor and resource. For a job that holds quota the figures are given as
// if it did not.
void PrintFlavors(const json::value& answer) {
  const json::array* flavors = ArrayUnlessEmpty(answer, "flavors");
  if (flavors == nullptr) return;
  const bool holds = ShownText(answer, "state") != "Pending";
  std::printf("\nQuota, flavor by flavor%s:\n",
              holds ? ", as if the job did not hold its own" : "");
  TextTable table(
      {"  POD SET", "FLAVOR", "RESOURCE", "NEEDS", "CAN USE", "USED", "FREE", "VERDICT"});
  for (const json::value& flavor : *flavors) {
    table.Add({"  " + ShownText(flavor, "podSet"), ShownText(flavor, "flavor"),
               ShownText(flavor, "resource"), ShownText(flavor, "requested"),
               ShownText(flavor, "potential"), ShownText(flavor, "used"),
               ShownText(flavor, "available"), FlavorVerdict(flavor, holds)});
  }
  std::fputs(table.Render().c_str(), stdout);
}

// The score of each member term by term, for a job that a placement governs. The member's name and
// its sums stand on the first line of its terms only.
void PrintScores(const json::array& clusters) {
  std::printf("\nScores:\n");
  TextTable table({"  MEMBER CLUSTER", "SPREAD", "AFFINITY", "TERM", "WEIGHT", "POINTS"});
  for (const json::value& verdict : clusters) {
    const json::array* terms = ArrayUnlessEmpty(verdict, "terms");
    if (terms == nullptr) continue;
    for (const json::value& term : *terms) {
      const bool first = &term == &terms->front();
      const auto once = [&](const std::string& text) { return first ? text : std::string(" "); };
      const std::string weight = ShownText(term, "weight");
      table.Add({once("  " + ShownText(verdict, "cluster")),
                 once(ShownText(verdict, "spreadScore")), once(ShownText(verdict, "affinityScore")),
                 ShownText(term, "term"), weight == "0" ? "" : weight, ShownText(term, "score")});
    }
  }
  std::fputs(table.Render().c_str(), stdout);
}

// The column TURNED AWAY BY names the filter of the placement that excluded a member; it is there
// only if a filter excluded one.
void PrintClusters(const json::value& answer) {
  const json::array* clusters = ArrayUnlessEmpty(answer, "clusters");
  if (clusters == nullptr) return;
  const auto any = [&](const auto& has) {
    return std::any_of(clusters->begin(), clusters->end(), has);
  };
  const bool filtered =
      any([](const json::value& one) { return !ShownText(one, "filter").empty(); });
  std::printf("\nMember clusters:\n");
  std::vector<std::string> heads = {"  MEMBER CLUSTER", "COULD HOLD IT", "HAS ROOM NOW"};
  if (filtered) heads.emplace_back("TURNED AWAY BY");
  heads.emplace_back("VERDICT");
  TextTable table(std::move(heads));
  for (const json::value& verdict : *clusters) {
    const auto yes_no = [&](const char* key) { return IsTrue(verdict, key) ? "yes" : "no"; };
    std::vector<std::string> row = {"  " + ShownText(verdict, "cluster"), yes_no("eligible"),
                                    yes_no("fitsNow")};
    if (filtered) row.push_back(ShownText(verdict, "filter"));
    row.push_back(ShownText(verdict, "message"));
    table.Add(std::move(row));
  }
  std::fputs(table.Render().c_str(), stdout);
  if (any([](const json::value& one) { return ArrayUnlessEmpty(one, "terms") != nullptr; }))
    PrintScores(*clusters);
}

// "16 cpu, 64Gi memory".
std::string Amounts(const json::value& held) {
  std::string text;
  for (const auto& [resource, amount] : ObjectOrEmpty(held, "amounts")) {
    text +=
        (text.empty() ? "" : ", ") + std::string(amount.get_string()) + " " + std::string(resource);
  }
  return text;
}

// The first jobs that hold the quota; "..." if there are more workloads than jobs listed.
std::string Names(const json::value& held) {
  std::string text;
  const json::array* jobs = ArrayUnlessEmpty(held, "jobs");
  if (jobs == nullptr) return text;
  for (const json::value& job : *jobs) {
    text += (text.empty() ? "" : ", ") + ShownText(job, "id") + " (priority " +
            ShownText(job, "priority") + ")";
  }
  if (ShownText(held, "workloads") != std::to_string(jobs->size())) text += ", ...";
  return text;
}

// Which queues hold the quota that the job lacks, whether their workloads may be preempted, and
// which change of policy would allow it.
void PrintPreemption(const json::value& answer) {
  const json::value* preemption = FindValue(answer, "preemption");
  if (preemption == nullptr || !preemption->is_object()) return;
  std::printf("\nPreemption:\n  %s (%s)\n", ShownText(*preemption, "outcome").c_str(),
              ShownText(*preemption, "policies").c_str());
  if (const json::array* held_by = ArrayUnlessEmpty(*preemption, "heldBy")) {
    TextTable table({"  HELD IN", "WORKLOADS", "AMOUNT", "JOBS", "MAY THEY BE PREEMPTED FOR IT"});
    for (const json::value& held : *held_by) {
      table.Add({"  " + ShownText(held, "clusterQueue"), ShownText(held, "workloads"),
                 Amounts(held), Names(held), ShownText(held, "verdict")});
    }
    std::fputs(table.Render().c_str(), stdout);
  }
  const std::string more = ShownText(*preemption, "moreQueues");
  if (!more.empty() && more != "0") std::printf("  and %s more queues\n", more.c_str());
  PrintList("  what would change that:", *preemption, "wouldAllow");
}

// The estimated start, with the assumptions that the server made for it.
void PrintStart(const json::value& answer) {
  const std::string text = ShownText(answer, "estimatedStart.text");
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
