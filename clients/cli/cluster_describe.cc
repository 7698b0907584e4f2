// muster cluster describe: the facts of one member (GET /v1/memberclusters/NAME/facts) on a page.
//
// The page has "Key:  value" lines first and then tables: resources, properties, and how many
// machines have how much free. A line or table without data is left out, because members differ in
// what they report.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/describe_page.h"
#include "clients/cli/durations.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

using client::PathText;

// The items of a list as text; a taint as "key=value:Effect".
std::string Joined(const json::value& facts, const char* key) {
  std::string out;
  for (const json::value& item : ArrayOrEmpty(facts, key)) {
    std::string text;
    if (item.is_string()) text = std::string(item.get_string());
    if (item.is_object()) {
      const std::string value = PathText(item, "value");
      text = PathText(item, "key") + (value.empty() ? "" : "=" + value) + ":" +
             PathText(item, "effect");
    }
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

// The same words as in the column STATE of `cluster list`; draining is shown there only.
std::string StateOf(const json::value& facts) {
  if (PathText(facts, "healthy") != "true")
    return PathText(facts, "answers") == "true" ? "Unhealthy" : "Unreachable";
  return PathText(facts, "cordoned") == "true" ? "Cordoned" : "Ready";
}

// How old the facts are, for example "12s old (STAMP), at least every 10s", and whether the server
// calls them stale.
std::string AgeOf(const json::value& facts) {
  const auto age = IntegerAt(facts, "ageSeconds");
  if (!age) return "";
  const auto period = IntegerAt(facts, "heartbeatPeriodSeconds");
  return ShortDuration(*age) + " old (" + PathText(facts, "observedAt") + ")" +
         (period ? ", at least every " + ShortDuration(*period) : "") +
         (PathText(facts, "stale") == "true" ? ", stale: it has told nothing since" : "");
}

// One row a resource. The last column, the most that is free on one machine, is there only for
// members that report machines.
void PrintResources(const json::value& facts) {
  const json::object* capacity = FindObject(facts, "capacity");
  if (capacity == nullptr || capacity->empty()) return;
  const bool machines = FindObject(facts, {"machines", "largestFree"}) != nullptr;
  std::vector<std::string> heads = {"  RESOURCE", "CAPACITY", "ALLOCATABLE", "USED BY OTHERS",
                                    "FREE"};
  if (machines) heads.emplace_back("MOST ON ONE MACHINE");
  TextTable table(heads);
  for (const json::key_value_pair& one : *capacity) {
    std::vector<std::string> row = {"  " + std::string(one.key())};
    for (const char* path :
         {"capacity", "allocatable", "usedByOthers", "free", "machines.largestFree"}) {
      const json::object* amounts = FindObject(facts, JsonPath::Dotted(path));
      row.push_back(amounts == nullptr ? "" : client::MemberText(*amounts, one.key()));
    }
    if (!machines) row.pop_back();
    table.Add(std::move(row));
  }
  std::printf("Resources:\n%s", table.Render().c_str());
}

void PrintProperties(const json::value& facts) {
  const json::object* properties = FindObject(facts, "properties");
  if (properties == nullptr || properties->empty()) return;
  TextTable table({"  PROPERTY", "VALUE"});
  for (const json::key_value_pair& one : *properties)
    table.Add({"  " + std::string(one.key()), client::MemberText(*properties, one.key())});
  std::printf("Properties:\n%s", table.Render().c_str());
}

// How many machines have at least how much free, for each resource.
void PrintSlots(const json::value& facts) {
  const json::object* slots = FindObject(facts, {"machines", "freeSlots"});
  if (slots == nullptr || slots->empty()) return;
  TextTable table({"  RESOURCE", "MACHINES WITH AT LEAST SO MUCH FREE"});
  for (const json::key_value_pair& one : *slots) {
    std::string text;
    if (!one.value().is_array()) continue;
    for (const json::value& slot : one.value().get_array()) {
      text += (text.empty() ? "" : ", ") + PathText(slot, "machines") + " with " +
              PathText(slot, "atLeast");
    }
    table.Add({"  " + std::string(one.key()), text});
  }
  std::printf("Free on its %s ready machines:\n%s", PathText(facts, "machines.ready").c_str(),
              table.Render().c_str());
}

}  // namespace

int ClusterDescribe(Session& session, const std::string& name, const std::string& output) {
  if (!output.empty() && output != "json" && output != "yaml")
    return PrintError("-o takes json or yaml, not \"" + output + "\""), kBadUsage;
  const client::Outcome<json::value> facts =
      session.api.Get("/v1/memberclusters/" + client::PercentEncode(name) + "/facts");
  if (!facts.ok()) return PrintFailure(facts.failure());
  if (output == "json") return std::printf("%s\n", WriteJsonPretty(*facts).c_str()), 0;
  if (output == "yaml") return std::fputs(WriteYaml(*facts).c_str(), stdout), 0;
  DescribePage page;
  page.Line(0, "Name", PathText(*facts, "name"));
  page.Line(0, "Backend", PathText(*facts, "backend"));
  page.Line(0, "State", StateOf(*facts));
  // A line for a fact that the member has reported.
  const auto known = [&](const char* key, const std::string& text) {
    if (!text.empty()) page.Line(0, key, text);
  };
  known("It says", PathText(*facts, "message"));
  known("Heartbeat", AgeOf(*facts));
  known("Version", PathText(*facts, "version"));
  known("Machines", PathText(*facts, "nodeCount"));
  page.Pairs("Labels", FindObject(*facts, "labels"), "=");
  const std::string taints = Joined(*facts, "taints");
  page.Line(0, "Taints", taints.empty() ? "<none>" : taints);
  known("Data sets", Joined(*facts, "datasets"));
  known("Serves", Joined(*facts, "kinds"));
  std::fputs(page.Render().c_str(), stdout);
  PrintResources(*facts);
  PrintProperties(*facts);
  PrintSlots(*facts);
  return 0;
}

}  // namespace muster::cli
