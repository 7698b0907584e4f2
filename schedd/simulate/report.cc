// Decisions and summaries as JSON objects and as lines. Times are relative to the start of the run,
// rounded down to milliseconds; amounts are written as Kubernetes quantities.
#include "schedd/simulate/report.h"

#include <map>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::simulate {
namespace {

// Columns of a line: the time right-aligned, the decision left-aligned.
constexpr std::size_t kTimeWidth = 14, kNameWidth = 11;

double Seconds(std::int64_t us) {
  // Rounded down to the millisecond.
  return static_cast<double>(us / kMicrosPerMilli) / 1000;
}

// Why the run ended, as in the field "end".
const char* EndName(RunEnd end) {
  switch (end) {
    case RunEnd::kIdle:
      return "Idle";
    case RunEnd::kUntil:
      return "Until";
    case RunEnd::kCycles:
      return "CycleLimit";
    case RunEnd::kStopped:
      return "Stopped";
  }
  return "";
}

std::string NameOf(const JobRecord& job) { return job.ns + "/" + job.name; }

// An eviction by preemption reads "Preempted".
std::string_view NameOf(const Decision& decision) {
  const bool preempted =
      decision.kind == DecisionKind::kEvicted && IsTrue(*decision.job, "Preempted");
  return preempted ? "Preempted" : DecisionName(decision.kind);
}

// The amounts of an admission by (flavor, resource), summed over its pod sets.
std::map<std::pair<std::string, std::string>, std::int64_t> HeldBy(const Admission& admission) {
  std::map<std::pair<std::string, std::string>, std::int64_t> held;
  for (const PodSetAssignment& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      std::int64_t& amount = held[{flavor, resource}];
      amount = SaturatingAdd(amount, AmountOf(pod_set.usage, resource));
    }
  }
  return held;
}

// True for decisions that give quota.
bool Starts(DecisionKind kind) {
  return kind == DecisionKind::kAdmitted || kind == DecisionKind::kReserved;
}

// Fills with blanks up to `width`; a longer text stays.
std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

// 1000 is added so that the milliseconds keep their leading zeros.
std::string SecondsText(std::int64_t us) {
  const std::int64_t ms = us / kMicrosPerMilli;
  std::string text = std::to_string(ms / 1000);
  std::string part = std::to_string(1000 + ms % 1000).substr(1);
  while (!part.empty() && part.back() == '0') part.pop_back();
  if (!part.empty()) text += "." + part;
  return text + "s";
}

// Fields that a decision does not have are left out.
json::object DecisionJson(const Decision& decision, WallTime start) {
  const JobRecord& job = *decision.job;
  json::object out{{"at", Seconds(decision.at.us - start.us)},
                   {"decision", NameOf(decision)},
                   {"job", NameOf(job)},
                   {"id", job.id.value},
                   {"clusterQueue", job.cluster_queue}};
  if (!job.priority_class.empty()) out["priorityClass"] = job.priority_class;
  if (Starts(decision.kind)) {
    if (!job.cluster.empty()) out["memberCluster"] = job.cluster;
    out["waited"] = Seconds(decision.at.us - job.submit_time.us);
    json::array held;
    for (const auto& [pair, amount] : HeldBy(*decision.held)) {
      held.push_back(json::object{{"flavor", pair.first},
                                  {"resource", pair.second},
                                  {"amount", FormatQuantity(pair.second, amount)}});
    }
    out["held"] = std::move(held);
  }
  if (decision.by != nullptr) {
    out["by"] = NameOf(*decision.by);
    out["byId"] = decision.by->id.value;
  }
  if (!decision.message.empty()) out["message"] = decision.message;
  return out;
}

// "at  decision  job (id)  queue", then what it got, for whom it was evicted, or why.
std::string DecisionLine(const Decision& decision, WallTime start) {
  const JobRecord& job = *decision.job;
  std::string at = SecondsText(decision.at.us - start.us);
  at.insert(0, at.size() < kTimeWidth ? kTimeWidth - at.size() : 0, ' ');
  std::string line = at + "  " + Padded(std::string(NameOf(decision)), kNameWidth) + "  " +
                     NameOf(job) + " (" + std::to_string(job.id.value) + ")  " + job.cluster_queue;
  if (Starts(decision.kind)) {
    const char* before = ": ";
    for (const auto& [pair, amount] : HeldBy(*decision.held)) {
      line +=
          before + FormatQuantity(pair.second, amount) + " " + pair.second + " of " + pair.first;
      before = ", ";
    }
    if (!job.cluster.empty()) line += " on " + job.cluster;
    line += ", after " + SecondsText(decision.at.us - job.submit_time.us);
  }
  if (decision.by != nullptr) {
    const Condition* preempted = FindCondition(job, "Preempted");
    line += " for " + NameOf(*decision.by) + " (" + std::to_string(decision.by->id.value) + ")";
    if (preempted != nullptr) line += ": " + preempted->reason;
  } else if (!decision.message.empty()) {
    line += ": " + decision.message;
  }
  return line;
}

// `permille` has one decimal of a percent.
json::object SummaryJson(const Summary& summary) {
  json::array waits, uses;
  for (const WaitFigures& one : summary.waits) {
    waits.push_back(json::object{{"priorityClass", one.priority_class},
                                 {"started", one.started},
                                 {"neverStarted", one.never_started},
                                 {"mean", Seconds(one.mean_us)},
                                 {"median", Seconds(one.median_us)},
                                 {"p95", Seconds(one.p95_us)},
                                 {"max", Seconds(one.max_us)}});
  }
  for (const UseFigures& one : summary.uses) {
    uses.push_back(json::object{{"clusterQueue", one.cluster_queue},
                                {"flavor", one.flavor},
                                {"resource", one.resource},
                                {"nominalQuota", FormatQuantity(one.resource, one.nominal)},
                                {"held", FormatQuantity(one.resource, one.held)},
                                {"percent", static_cast<double>(one.permille) / 10}});
  }
  return {{"end", EndName(summary.end)},
          {"makespan", Seconds(summary.makespan_us)},
          {"jobs",
           {{"total", summary.jobs},
            {"finished", summary.finished},
            {"timedOut", summary.timed_out},
            {"deactivated", summary.deactivated},
            {"running", summary.running},
            {"waiting", summary.waiting},
            {"notArrived", summary.not_arrived}}},
          {"starts", summary.starts},
          {"evictions", summary.evictions},
          {"preemptions", summary.preemptions},
          {"lostRunTime", Seconds(summary.lost_us)},
          {"waits", std::move(waits)},
          {"use", std::move(uses)}};
}

json::object WaitingJson(const JobRecord& job) {
  return {{"job", NameOf(job)},
          {"id", job.id.value},
          {"clusterQueue", job.cluster_queue},
          {"reason", ReasonName(job.reason)},
          {"message", job.message}};
}

}  // namespace muster::simulate
