// Whole scheduling cycles: schedule-cycle, schedule-cycles; and the order of a cycle's entries:
// entry-ordering.
#include <algorithm>

#include "schedd/core/cycle/cycle_order.h"
#include "tests/conformance/procedures/cycle_run.h"

namespace muster::conformance {
namespace {

// Queues that are left out of a wanted map are not asserted in maps of numbers.
json::object Only(const json::value& wanted, const json::object& got) {
  json::object some;
  const auto* keys = wanted.if_object();
  if (keys == nullptr) return got;
  for (const auto& [key, value] : *keys) {
    if (got.contains(key)) some[key] = got.at(key);
  }
  return some;
}

json::object Sorted(const json::value& map) {
  json::object sorted;
  if (const auto* members = map.if_object()) {
    for (const auto& [key, list] : *members) {
      json::array keys = list.is_array() ? list.get_array() : json::array();
      std::sort(keys.begin(), keys.end(), [](const json::value& a, const json::value& b) {
        return a.as_string() < b.as_string();
      });
      sorted[key] = std::move(keys);
    }
  }
  return sorted;
}

void CheckLeft(const Case& test, std::string_view key, const CycleRun& run, Report* report) {
  if (!test.Wants(key)) return;
  const json::object wanted = Sorted(test.Want(key));
  const json::object got = run.Left(key == "left");
  for (const auto& difference : Differences(wanted, got, {})) {
    report->Fail(std::string(key) + difference);
  }
}

void CheckAll(const Case& test, const CycleRun& run, Report* report) {
  CheckWorkloads(test, "workloads", run.Workloads(), report);
  CheckAdmissions(test, "assignments", run.Assignments(false), report);
  CheckAdmissions(test, "newAssignments", run.Assignments(true), report);
  CheckLeft(test, "left", run, report);
  CheckLeft(test, "inadmissibleLeft", run, report);
  Check(test, "events", run.events(), report);
  Check(test, "skippedPreemptions", Only(test.Want("skippedPreemptions"), run.SkippedPreemptions()),
        report);
  Check(test, "preemptionTargetRecomputations",
        Only(test.Want("preemptionTargetRecomputations"), run.Recomputations()), report);
  Check(test, "pendingEntryPenalty", Only(test.Want("pendingEntryPenalty"), run.PendingPenalties()),
        report);
  CompareRules any_order;
  any_order.ignore_order = true;
  Check(test, "admitted", run.With("Admitted"), any_order, report);
  Check(test, "quotaReserved", run.With("QuotaReserved"), any_order, report);
  Check(test, "statusPatches", run.status_patches(), report);
}

void ScheduleCycle(const Case& test, Report* report) {
  CycleRun run(test);
  run.Schedule();
  CheckAll(test, run, report);
}

// A workload without a reservation has no flavor; the case names it with "", or not at all.
void CheckFlavors(const Case& test, std::string_view key, const CycleRun& run, Report* report) {
  json::object flavors;
  if (const auto* wanted = test.Want(key).if_object()) {
    for (const auto& [name, flavor] : *wanted) {
      if (flavor == json::value("")) flavors[name] = "";
    }
  }
  for (const auto& [name, admission] : run.Assignments(false)) {
    if (admission->pod_sets.empty() || admission->pod_sets[0].flavors.empty()) continue;
    flavors[name] = admission->pod_sets[0].flavors.begin()->second;
  }
  Check(test, key, flavors, report);
}

void Expect(const Case& test, const std::string& key, const CycleRun& run, Report* report) {
  if (key.starts_with("workloads")) {
    CheckWorkloads(test, key, run.Workloads(), report);
  } else if (key == "assignments") {
    CheckAdmissions(test, key, run.Assignments(false), report);
  } else if (key == "newAssignments") {
    CheckAdmissions(test, key, run.Assignments(true), report);
  } else if (key == "flavorOfWorkload") {
    CheckFlavors(test, key, run, report);
  } else if (key == "left" || key == "inadmissibleLeft") {
    CheckLeft(test, key, run, report);
  } else if (key == "events") {
    Check(test, key, run.events(), report);
  } else {
    report->Fail("unknown expectation " + key);
  }
}

void ScheduleCycles(const Case& test, Report* report) {
  CycleRun run(test);
  for (const auto& step : test.Input("steps").as_array()) {
    const std::string op = TextAt(step, "op");
    if (op == "schedule") {
      run.Schedule();
    } else if (op == "deleteWorkloads") {
      for (const auto& key : ListAt(step, "workloads")) {
        run.Delete(std::string(std::string_view(key.as_string())));
      }
    } else if (op == "requeueInadmissible") {
      run.RequeueInadmissible();
    } else if (op == "updateNominalQuota") {
      run.SetNominalQuota(TextAt(step, "clusterQueue"), TextAt(step, "flavor"),
                          TextAt(step, "resource"), TextAt(step, "quantity"));
    } else if (op == "expect") {
      Expect(test, TextAt(step, "want"), run, report);
    } else {
      report->Fail("unknown step " + op);
    }
  }
}

void EntryOrdering(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  struct Entry {
    std::string name;
    core::EntryRank rank;
  };
  std::vector<Entry> entries;
  for (const auto& item : test.Input("entries").as_array()) {
    const JobId id{static_cast<std::int64_t>(entries.size()) + 1};
    const JobRecord job = LoadJob(At(item, "workload"), world, id);
    Entry entry;
    entry.name = job.name;
    entry.rank.holds_quota = job.admission != nullptr || IsTrue(job, "QuotaReserved");
    entry.rank.preemptor = BoolAt(item, "isPreemptor");
    entry.rank.level = static_cast<std::int32_t>(IntAt(item, "borrowingLevel"));
    entry.rank.priority = EffectivePriority(job, world.settings);
    entry.rank.queue_time = QueueTime(job, world.settings);
    entry.rank.id = id.value;
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return core::ClassicalBefore(a.rank, b.rank, world.settings);
  });
  json::array order;
  for (const auto& entry : entries) order.emplace_back(entry.name);
  Check(test, "order", order, report);
}

const Registration kScheduleCycle("schedule-cycle", ScheduleCycle);
const Registration kScheduleCycles("schedule-cycles", ScheduleCycles);
const Registration kEntryOrdering("entry-ordering", EntryOrdering);

}  // namespace
}  // namespace muster::conformance
