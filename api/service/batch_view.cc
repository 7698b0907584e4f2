// kBatchMembers lists the members once: what is fixed at acceptance, then what changes while the
// job lives. They are written as text, because lists have 100,000 jobs.
#include "api/service/batch_view.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "api/service/json_append.h"
#include "schedd/lifecycle/dependency_text.h"
#include "schedd/shapes/batch/batch_environment.h"
#include "schedd/text/json.h"

namespace muster::api {
namespace {

// What a member is made from.
struct BatchSource {
  const JobRecord& job;
  const BatchDetails& batch;
  const BatchState& state;
};

struct BatchMember {
  std::string_view key;  // with its quotes and colon
  void (*append)(const BatchSource& from, std::string* out);
  // The text that says that there is nothing, if it is not one of IsEmptyText.
  std::string_view none = {};

  std::string_view name() const { return key.substr(1, key.size() - 3); }
};

void AppendFlag(bool flag, std::string* out) { out->append(flag ? "true" : "false"); }

template <auto kField>
void AppendDetail(const BatchSource& from, std::string* out) {
  const auto& value = from.batch.*kField;
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (std::is_same_v<Value, bool>) {
    AppendFlag(value, out);
  } else if constexpr (std::is_integral_v<Value>) {
    AppendJsonNumber(value, out);
  } else {
    AppendJsonString(value, out);
  }
}

template <auto kPattern>
void AppendFile(const BatchSource& from, std::string* out) {
  AppendJsonString(shapes::ExpandPattern(from.batch.*kPattern, from.job), out);
}

void AppendTime(WallTime time, std::string* out) {
  if (time.set()) return AppendJsonTime(time, out);
  out->append("\"\"");
}

void AppendArrayJobId(const BatchSource& from, std::string* out) {
  // The record of an array's waiting tasks may have been given its array's id by nobody.
  const bool own = IsArrayRecord(from.job) && from.batch.array_job_id.value == 0;
  AppendJsonNumber(own ? from.job.id.value : from.batch.array_job_id.value, out);
}

void AppendPartitions(const BatchSource& from, std::string* out) {
  const bool waits = from.job.state == JobState::kPending || from.job.state == JobState::kHeld;
  AppendJsonString(waits ? std::string_view(from.batch.partitions) : std::string_view(), out);
}

// Components of a heterogeneous job beyond the first.
void AppendComponents(const BatchSource& from, std::string* out) {
  out->push_back('[');
  for (const HetComponent& one : from.batch.components) {
    out->append(out->back() == '[' ? "{\"name\":" : ",{\"name\":");
    AppendJsonString(one.name, out);
    out->append(",\"nodes\":");
    AppendJsonNumber(one.nodes, out);
    out->append(",\"tasks\":");
    AppendJsonNumber(one.tasks, out);
    out->append(",\"cpusPerTask\":");
    AppendJsonNumber(one.cpus_per_task, out);
    out->push_back('}');
  }
  out->push_back(']');
}

void AppendHow(const BatchSource& from, std::string* out) {
  out->push_back('{');
  for (const auto& [option, value] : from.batch.how) {
    if (out->back() != '{') out->push_back(',');
    AppendJsonString(option, out);
    out->push_back(':');
    AppendJsonString(value, out);
  }
  out->push_back('}');
}

constexpr BatchMember kBatchMembers[] =
    {
        {"\"arrayJobId\":", AppendArrayJobId},
        {"\"arrayTaskId\":", AppendDetail<&BatchDetails::array_task_id>, "-1"},
        {"\"arraySpec\":", AppendDetail<&BatchDetails::array_spec>},
        {"\"workDir\":", AppendDetail<&BatchDetails::work_dir>},
        {"\"command\":", AppendDetail<&BatchDetails::command>},
        {"\"input\":", AppendFile<&BatchDetails::std_in>},
        {"\"output\":", AppendFile<&BatchDetails::std_out>},
        {"\"error\":", AppendFile<&BatchDetails::std_err>},
        {"\"comment\":", AppendDetail<&BatchDetails::comment>},
        {"\"nodes\":", AppendDetail<&BatchDetails::nodes>},
        {"\"maxNodes\":", AppendDetail<&BatchDetails::max_nodes>},
        {"\"tasks\":", AppendDetail<&BatchDetails::tasks>},
        {"\"tasksPerNode\":", AppendDetail<&BatchDetails::tasks_per_node>},
        {"\"cpusPerTask\":", AppendDetail<&BatchDetails::cpus_per_task>},
        {"\"memoryPerNodeMb\":", AppendDetail<&BatchDetails::mem_per_node_mb>},
        {"\"memoryPerCpuMb\":", AppendDetail<&BatchDetails::mem_per_cpu_mb>},
        {"\"gres\":", AppendDetail<&BatchDetails::gres>},
        {"\"requeue\":", AppendDetail<&BatchDetails::requeue>},
        {"\"features\":", AppendDetail<&BatchDetails::features>},
        {"\"requiredNodes\":", AppendDetail<&BatchDetails::required_nodes>},
        {"\"excludedNodes\":", AppendDetail<&BatchDetails::excluded_nodes>},
        {"\"licenses\":", AppendDetail<&BatchDetails::licenses>},
        {"\"reservation\":", AppendDetail<&BatchDetails::reservation>},
        {"\"wckey\":", AppendDetail<&BatchDetails::wckey>},
        {"\"mailUser\":", AppendDetail<&BatchDetails::mail_user>},
        {"\"mailEvents\":", AppendDetail<&BatchDetails::mail_events>},
        {"\"submitLine\":", AppendDetail<&BatchDetails::submit_line>},
        {"\"partitions\":", AppendPartitions},
        {"\"signal\":", [](const BatchSource& from,
                           std::string* out) { AppendJsonNumber(from.batch.warning.signal, out); }},
        {"\"signalBefore\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonNumber(from.batch.warning.seconds_before, out); }},
        {"\"signalBatch\":",
         [](const BatchSource& from,
            std::string* out) { AppendFlag(from.batch.warning.batch_only, out); }},
        {"\"timeMinS\":", AppendDetail<&BatchDetails::time_min_s>},
        {"\"exclusive\":", AppendDetail<&BatchDetails::exclusive>},
        {"\"allocationOnly\":", AppendDetail<&BatchDetails::allocation_only>},
        {"\"components\":", AppendComponents},
        {"\"how\":", AppendHow},
        {"\"dependency\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonString(DependencyText(from.state), out); }},
        {"\"begin\":",
         [](const BatchSource& from,
            std::string* out) { AppendTime(from.state.begin_at.value_or(WallTime{}), out); }},
        {"\"deadline\":",
         [](const BatchSource& from,
            std::string* out) { AppendTime(from.state.deadline.value_or(WallTime{}), out); }},
        {"\"nice\":",
         [](const BatchSource& from, std::string* out) { AppendJsonNumber(from.state.nice, out); }},
        {"\"ownPriority\":",
         [](const BatchSource& from, std::string* out) {
  if (from.state.own_priority) return AppendJsonNumber(*from.state.own_priority, out);
  out->append("null");
         }},
        {"\"heldByAdmin\":", [](const BatchSource& from,
                                std::string* out) { AppendFlag(from.state.held_by_admin, out); }},
        {"\"holdAtRequeue\":",
         [](const BatchSource& from, std::string* out) {
  AppendFlag(from.job.suspended_by_user && HoldsQuota(from.job.state), out);
         }},
        {"\"specialExit\":", [](const BatchSource& from,
                                std::string* out) { AppendFlag(from.state.special_exit, out); }},
        {"\"suspendedSince\":",
         [](const BatchSource& from,
            std::string* out) { AppendTime(from.state.suspended_since, out); }},
        {"\"suspendedS\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonNumber(from.state.suspended_s, out); }},
        {"\"waitingTasks\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonString(TaskRangesText(from.state.waiting_tasks), out); }},
        {"\"taskThrottle\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonNumber(from.state.task_throttle, out); }},
        {"\"partitionProblem\":",
         [](const BatchSource& from,
            std::string* out) { AppendJsonString(from.state.partition_problem, out); }},
};
// BatchMembers has one bit for each.
static_assert(std::size(kBatchMembers) == BatchMembers().size());

// True for the text of "", 0, false, null and of an empty list or mapping.
bool IsEmptyText(std::string_view text) {
  return text == "\"\"" || text == "0" || text == "false" || text == "null" || text == "[]" ||
         text == "{}";
}

}  // namespace

std::optional<std::size_t> BatchMemberOf(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kBatchMembers), std::end(kBatchMembers),
                   [&](const BatchMember& member) { return member.name() == name; });
  if (found == std::end(kBatchMembers)) return std::nullopt;
  return static_cast<std::size_t>(found - std::begin(kBatchMembers));
}

const BatchMembers& BriefBatchMembers() {
  static const BatchMembers kBrief = [] {
    BatchMembers brief;
    brief.set();
    for (const std::string_view name :
         {"arraySpec", "command", "comment", "error", "how", "input", "mailEvents", "mailUser",
          "output", "ownPriority", "requeue", "signal", "signalBatch", "signalBefore",
          "submitLine", "workDir"})
      brief.reset(BatchMemberOf(name).value());
    return brief;
  }();
  return kBrief;
}

json::value BatchJson(const JobRecord& job) {
  std::string text;
  AppendBatch(job, &text);
  return json::parse(text);
}

void AppendBatch(const JobRecord& job, std::string* out) {
  if (job.batch == nullptr) {
    out->append("null");
    return;
  }
  const BatchSource from{job, *job.batch, BatchStateOf(job)};
  out->push_back('{');
  for (const BatchMember& member : kBatchMembers) {
    if (out->back() != '{') out->push_back(',');
    out->append(member.key);
    member.append(from, out);
  }
  out->push_back('}');
}

void AppendBatch(const JobRecord& job, BatchMembers members, std::string* out) {
  if (job.batch == nullptr) {
    out->append("null");
    return;
  }
  const BatchSource from{job, *job.batch, BatchStateOf(job)};
  out->push_back('{');
  for (std::size_t i = 0; i < std::size(kBatchMembers); ++i) {
    if (!members.test(i)) continue;
    const std::size_t before = out->size();
    if (out->back() != '{') out->push_back(',');
    out->append(kBatchMembers[i].key);
    const std::size_t value = out->size();
    kBatchMembers[i].append(from, out);
    const std::string_view text = std::string_view(*out).substr(value);
    const std::string_view none = kBatchMembers[i].none;
    if (none.empty() ? IsEmptyText(text) : text == none) out->resize(before);
  }
  out->push_back('}');
}

}  // namespace muster::api
