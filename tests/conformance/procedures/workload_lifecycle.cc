// Single steps of a workload's life: queue-order-timestamp, needs-second-pass,
// sync-admitted-condition.
#include "schedd/model/admission_lifecycle.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

void QueueOrderTimestamp(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  json::object times;
  for (const bool by_eviction : {true, false}) {
    AdmissionSettings settings = world.settings;
    settings.pods_ready.requeue_by_eviction_time = by_eviction;
    times[by_eviction ? "Eviction" : "Creation"] = FormatRfc3339(QueueTime(job, settings));
  }
  Check(test, "timestampByPolicy", times, report);
}

void NeedsSecondPassProcedure(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  Check(test, "needsSecondPass", NeedsSecondPass(job), report);
}

json::array ConditionsJson(const JobRecord& job) {
  json::array list;
  if (job.conditions == nullptr) return list;
  for (const auto& condition : *job.conditions) {
    list.push_back(json::object{{"type", condition.type},
                                {"status", condition.status ? "True" : "False"},
                                {"reason", condition.reason},
                                {"message", condition.message},
                                {"lastTransitionTime", FormatRfc3339(condition.last_transition)}});
  }
  return list;
}

void SyncAdmittedCondition(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  JobRecord job = LoadJob(test.Input("workload"), world, JobId{1});
  Check(test, "changed", SyncAdmitted(&job, world.settings, world.now), report);
  // Objects here have no generation: it would only ever be 1.
  CompareRules rules;
  rules.ignore = {"observedGeneration"};
  Check(test, "conditions", ConditionsJson(job), rules, report);
  const std::int64_t past =
      job.admission_state == nullptr ? 0 : job.admission_state->past_execution_s;
  Check(test, "accumulatedPastExecutionTimeSeconds", past, report);
}

const Registration kQueueOrderTimestamp("queue-order-timestamp", QueueOrderTimestamp);
const Registration kNeedsSecondPass("needs-second-pass", NeedsSecondPassProcedure);
const Registration kSyncAdmitted("sync-admitted-condition", SyncAdmittedCondition);

}  // namespace
}  // namespace muster::conformance
