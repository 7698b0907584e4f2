// Everything is read from StoreHealth, so that no answer waits for the database.
#include "schedd/daemon/database_report.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/base/limits.h"
#include "schedd/store/durability.h"

namespace muster {
namespace {

std::string ProblemNow(const StoreHealth& health) {
  return health.Problem(StoreHealth::Clock::now(),
                        std::chrono::milliseconds(limits::kAcknowledgeWithinMs));
}

json::object DatabaseJson(const StoreHealth& health) {
  json::object out{{"awaitsStandby", health.awaits_standby()}};
  if (std::string problem = ProblemNow(health); !problem.empty())
    out["problem"] = std::move(problem);
  const std::optional<DatabaseFacts> facts = health.facts();
  if (!facts) return out;
  out["promise"] = NameOf(DurabilityOf(*facts));
  out["message"] = DurabilityText(*facts);
  out["synchronousCommit"] = facts->synchronous_commit;
  out["fsync"] = facts->fsync;
  out["fullPageWrites"] = facts->full_page_writes;
  out["standbysRequired"] = RequiredStandbys(facts->synchronous_standby_names);
  if (facts->standbys) out["standbysStreaming"] = *facts->standbys;
  return out;
}

std::vector<Sample> SamplesOf(const StoreHealth& health) {
  std::vector<Sample> samples;
  const auto add =
      [&samples](const char* name, const char* help, double value, Labels labels = {}) {
    samples.push_back({name, help, std::move(labels), value});
  };
  add("muster_database_awaits_standby",
      "1 while a commit that has lasted for a second waits for a synchronous standby.",
      health.awaits_standby() ? 1 : 0);
  const std::optional<DatabaseFacts> facts = health.facts();
  if (!facts) return samples;
  const Durability promise = DurabilityOf(*facts);
  for (const Durability one : {Durability::kNone, Durability::kCrash, Durability::kServerLoss}) {
    add("muster_database_promise",
        "1 for what an acknowledged write survives: nothing for certain, crashes, or the loss of "
        "a server with its disk.",
        one == promise ? 1 : 0, {{"promise", NameOf(one)}});
  }
  const std::array<std::pair<const char*, bool>, 3> settings = {
      {{"fsync", facts->fsync},
       {"full_page_writes", facts->full_page_writes},
       {"synchronous_commit",
        facts->synchronous_commit == "on" || facts->synchronous_commit == "remote_apply"}}};
  for (const auto& [name, on] : settings) {
    add("muster_database_setting_on", "1 if this setting of the database protects commits.",
        on ? 1 : 0, {{"setting", name}});
  }
  add("muster_database_standbys_required",
      "Synchronous standbys that each commit waits for (synchronous_standby_names).",
      RequiredStandbys(facts->synchronous_standby_names));
  if (facts->standbys) {
    add("muster_database_standbys_streaming", "Synchronous standbys that stream now.",
        *facts->standbys);
  }
  return samples;
}

}  // namespace

void ReportDatabase(const StoreHealth& health, Metrics& metrics, api::RestOptions* options) {
  options->write_problem = [&health] { return ProblemNow(health); };
  options->database = [&health] { return DatabaseJson(health); };
  metrics.AddCollector([&health] { return SamplesOf(health); });
}

}  // namespace muster
