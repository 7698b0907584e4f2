// cluster describe: what is known of one member, on a page.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/describe_page.h"
#include "clients/cli/durations.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml.h"

namespace muster::cli {
namespace {

using client::PathText;

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

std::string StateOf(const json::value& facts) {
  if (PathText(facts, "healthy") != "true") return "Unreachable";
  return PathText(facts, "cordoned") == "true" ? "Cordoned" : "Ready";
}

// "12s old", and that they are no longer to be relied on.
std::string AgeOf(const json::value& facts) {
  const auto age = IntegerAt(facts, "ageSeconds");
  if (!age) return "";
  const auto period = IntegerAt(facts, "heartbeatPeriodSeconds");
  return ShortDuration(*age) + " old (" + PathText(facts, "observedAt") + ")" +
         (period ? ", at least every " + ShortDuration(*period) : "") +
         (PathText(facts, "stale") == "true" ? ", stale: it has told nothing since" : "");
}

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

// How many machines have how much free.
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
