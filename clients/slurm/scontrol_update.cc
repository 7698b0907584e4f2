// `scontrol update`: keys of Slurm and what they change (rule B50).
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/job_view.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/scontrol.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/task_outcomes.h"
#include "clients/slurm/task_ranges.h"
#include "schedd/base/time.h"
#include "schedd/text/json.h"

namespace muster::slurm {
namespace {

// KEY=VALUE, KEY+=VALUE or KEY-=VALUE.
struct Assignment {
  std::string key, value;
  char sign = 0;  // '+', '-' or 0
};

std::optional<Assignment> SplitAssignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  Assignment out{word.substr(0, equals), word.substr(equals + 1)};
  if (out.key.back() == '+' || out.key.back() == '-') {
    out.sign = out.key.back();
    out.key.pop_back();
  } else if (!out.value.empty() && (out.value[0] == '+' || out.value[0] == '-')) {
    // "TimeLimit=+10" means the same as "TimeLimit+=10"; a negative nice value is one.
    if (!SameWord(out.key, "Nice") && !SameWord(out.key, "JobName")) {
      out.sign = out.value[0];
      out.value.erase(0, 1);
    }
  }
  return out;
}

enum class Form { kText, kNumber, kFlag, kTime, kPoint };

// A key of Slurm and the field of the server's update.
struct JobKey {
  const char* slurm;
  const char* field;
  Form form;
};
constexpr JobKey kJobKeys[] = {
    {"TimeLimit", "timeLimit", Form::kTime},
    {"TimeMin", "timeMin", Form::kTime},
    {"Partition", "queue", Form::kText},
    {"Account", "account", Form::kText},
    {"QOS", "priorityClass", Form::kText},
    {"Priority", "priority", Form::kNumber},
    {"Nice", "nice", Form::kNumber},
    {"Name", "name", Form::kText},
    {"JobName", "name", Form::kText},
    {"Comment", "comment", Form::kText},
    {"Dependency", "dependency", Form::kText},
    {"StartTime", "begin", Form::kPoint},
    {"EligibleTime", "begin", Form::kPoint},
    {"Deadline", "deadline", Form::kPoint},
    {"Requeue", "requeue", Form::kFlag},
    {"ArrayTaskThrottle", "arrayTaskThrottle", Form::kNumber},
    {"Features", "features", Form::kText},
    {"ReqNodeList", "requiredNodes", Form::kText},
    {"NodeList", "requiredNodes", Form::kText},
    {"ExcNodeList", "excludedNodes", Form::kText},
    {"Licenses", "licenses", Form::kText},
    {"ReservationName", "reservation", Form::kText},
    {"StdOut", "output", Form::kText},
    {"StdErr", "error", Form::kText},
    {"StdIn", "input", Form::kText},
    {"WorkDir", "workDir", Form::kText},
    {"WCKey", "wckey", Form::kText},
    {"MailType", "mailType", Form::kText},
    {"MailUser", "mailUser", Form::kText},
    {"NumNodes", "nodes", Form::kText},
    {"NumTasks", "tasks", Form::kNumber},
    {"CPUsPerTask", "cpusPerTask", Form::kNumber},
    {"NtasksPerNode", "tasksPerNode", Form::kNumber},
    {"MinMemoryNode", "memoryPerNode", Form::kText},
    {"MinMemoryCPU", "memoryPerCpu", Form::kText},
    {"Gres", "gres", Form::kText},
    {"TresPerNode", "gres", Form::kText},
};

// The key of this name; a unique beginning of at least three characters will do, as in Slurm.
const JobKey* FindJobKey(const std::string& key) {
  const JobKey* found = nullptr;
  for (const JobKey& one : kJobKeys) {
    if (SameWord(key, one.slurm)) return &one;
    if (key.size() < 3 || ::strncasecmp(key.c_str(), one.slurm, key.size()) != 0) continue;
    if (found != nullptr && std::string_view(found->field) != one.field) return nullptr;
    found = &one;
  }
  return found;
}

int RefuseUpdate(const std::string& sentence) { return FailPlain(sentence + "\nRequest aborted"); }

// A limit in Slurm's notation, also "+10" and "-10" from what the job has. nullopt if malformed.
std::optional<std::string> NewLimit(const Assignment& assignment, const JobRow& row) {
  const auto seconds = ParseTimeLimit(assignment.value);
  if (!seconds) return std::nullopt;
  std::int64_t limit = *seconds;
  if (assignment.sign == '+') limit = row.time_limit_s + *seconds;
  if (assignment.sign == '-') limit = std::max<std::int64_t>(60, row.time_limit_s - *seconds);
  return limit == 0 ? "UNLIMITED" : LongDuration(limit);
}

// Adds the assignment to the update's body; returns the text of an error, or "".
std::string AddField(const Assignment& assignment, const JobRow& row, json::object* body) {
  const JobKey* key = FindJobKey(assignment.key);
  const std::string& value = assignment.value;
  const std::string whole = assignment.key + "=" + value;
  if (key == nullptr) return "Update of this parameter is not supported: " + whole;
  if (assignment.sign != 0 && key->form != Form::kTime)
    return "The +=/-= notation is not supported when updating " + assignment.key + ".";
  switch (key->form) {
    case Form::kText:
      (*body)[key->field] = value;
      return "";
    case Form::kNumber: {
      const bool negative = value.starts_with('-');
      // "Nice=" alone means 100, as --nice does.
      const auto number = value.empty() && SameWord(key->slurm, "Nice")
                              ? std::optional<std::int64_t>(100)
                              : ParseCount(std::string_view(value).substr(negative ? 1 : 0));
      if (!number) return "Invalid " + assignment.key + " value: " + value;
      (*body)[key->field] = negative ? -*number : *number;
      return "";
    }
    case Form::kFlag:
      if (value != "0" && value != "1") return "Invalid " + assignment.key + " value: " + value;
      (*body)[key->field] = value == "1";
      return "";
    case Form::kTime: {
      const auto limit = NewLimit(assignment, row);
      if (!limit) return "Invalid " + assignment.key + " value";
      (*body)[key->field] = *limit;
      return "";
    }
    case Form::kPoint: {
      const auto point = ParsePoint(value, WallSeconds());
      if (!point) return "Invalid time specification (pos=0): " + value;
      (*body)[key->field] = FormatRfc3339Micros(WallTime{*point * 1'000'000});
      return "";
    }
  }
  return "";
}

std::string ChangedTarget(const JobSpec& spec, const JobRow& row) {
  if (!IsArrayRecord(row) || !spec.tasks_only) return std::to_string(row.id);
  const auto waiting = ParseTasks(row.extra->waiting_tasks);
  JobSpec target = spec;
  target.id = row.array_job_id;
  if (waiting) target.tasks = CommonTasks(*waiting, spec.tasks);
  return SpecText(target);
}

// Slurm's sentence for a refused update, by the field that the server refuses.
std::string UpdateFailure(client::ApiClient& api, const client::Failure& failure,
                          const json::object& body, const JobRow& row) {
  const auto names = [&](const char* field) {
    return body.contains(field) && failure.detail.find(field) != std::string::npos;
  };
  if (failure.kind == client::Failure::Kind::kRefused && failure.status != 403) {
    if (!IsPending(row.state) && !IsOver(row.state) && !body.contains("timeLimit"))
      return "Job is no longer pending execution";
    if (names("queue")) return "Invalid partition name specified";
    if (names("priorityClass")) return "Invalid qos specification";
    if (names("requiredNodes") || names("excludedNodes")) return "Invalid node name specified";
    if (names("account")) return "Invalid account or account/partition combination specified";
    if (names("dependency")) return "Job dependency problem";
    if (names("timeLimit"))
      return "Requested time limit is invalid (missing or exceeds some limit)";
  }
  if (failure.status == 403 && IsOfCaller(api, row)) return "Access/permission denied";
  return ChangeFailure(failure, IsOver(row.state));
}

int UpdateJob(Session& session, const std::string& text, const std::vector<Assignment>& changes) {
  const auto spec = ParseJobSpec(text);
  if (!spec) return FailPlain("Invalid job id specified for job " + text);
  JobList list;
  const client::Outcome<Done> fetched = FetchSpecs(session.api, {*spec}, &list);
  if (!fetched.ok()) return FailPlain("slurm_update error: " + FailureText(fetched.failure()));
  if (list.rows().empty() && !spec->tasks_only)
    return FailPlain("Invalid job id specified for job " + text);
  TaskOutcomes outcomes(*spec);
  for (const JobRow& row : list.rows()) {
    if (IsOver(row.state) && outcomes.Skips(row)) continue;
    json::object body;
    for (const Assignment& assignment : changes) {
      const std::string error = AddField(assignment, row, &body);
      if (!error.empty()) return RefuseUpdate(error);
    }
    if (body.empty()) return RefuseUpdate("No changes specified");
    client::Call call;
    call.target = client::JobPath(ChangedTarget(*spec, row)) + ":update";
    call.body = json::serialize(body);
    const client::Outcome<json::value> answer = session.api.Send(call);
    outcomes.Add(row, answer.ok() ? "" : UpdateFailure(session.api, answer.failure(), body, row));
  }
  int exit = 0;
  for (const std::string& line : outcomes.Lines(text)) exit = FailPlain(line);
  return exit;
}

// A key of a partition and the annotation of its LocalQueue.
struct PartitionKey {
  const char* slurm;
  const char* property;
};
constexpr PartitionKey kPartitionKeys[] = {
    {"Default", "default"},
    {"State", "state"},
    {"DefaultTime", "default-time"},
    {"MaxTime", "max-time"},
    {"MinNodes", "min-nodes"},
    {"MaxNodes", "max-nodes"},
    {"DefMemPerCPU", "default-memory-per-cpu"},
    {"MaxMemPerCPU", "max-memory-per-cpu"},
    {"PriorityTier", "tier"},
};

// The annotation's value: null removes it.
json::value PropertyValue(const Assignment& assignment) {
  std::string value = assignment.value;
  if (SameWord(value, "UNLIMITED") || SameWord(value, "NONE") || SameWord(value, "INFINITE"))
    return nullptr;
  if (SameWord(assignment.key, "Default")) return SameWord(value, "YES") ? "true" : "false";
  if (SameWord(assignment.key, "State")) {
    for (char& c : value) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return json::value(value);
}

int UpdatePartition(Session& session, const std::string& name,
                    const std::vector<Assignment>& changes) {
  json::object annotations;
  for (const Assignment& assignment : changes) {
    const auto* found =
        std::find_if(std::begin(kPartitionKeys), std::end(kPartitionKeys),
                     [&](const PartitionKey& key) { return SameWord(key.slurm, assignment.key); });
    if (found == std::end(kPartitionKeys)) {
      return RefuseUpdate("Update of this parameter is not supported: " + assignment.key + "=" +
                          assignment.value);
    }
    annotations[std::string("muster.io/partition-") + found->property] = PropertyValue(assignment);
  }
  const Partition partition = SplitPartition(name, session.context.default_ns);
  client::Call call;
  call.method = "PATCH";
  call.target = "/apis/kueue.x-k8s.io/v1beta1/namespaces/" + client::PercentEncode(partition.ns) +
                "/localqueues/" + client::PercentEncode(partition.queue);
  call.content_type = "application/merge-patch+json";
  call.body =
      json::serialize(json::object{{"metadata", {{"annotations", std::move(annotations)}}}});
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (answer.ok()) return 0;
  return FailPlain("slurm_update error: " + (answer.failure().status == 404
                                                 ? std::string("Invalid partition name specified")
                                                 : ChangeFailure(answer.failure(), false)));
}

// A drained node is a cordoned member.
int UpdateNode(Session& session, const std::string& name, const std::vector<Assignment>& changes) {
  std::string verb;
  for (const Assignment& assignment : changes) {
    if (SameWord(assignment.key, "Reason")) continue;
    if (!SameWord(assignment.key, "State")) {
      return RefuseUpdate("Update of this parameter is not supported: " + assignment.key + "=" +
                          assignment.value);
    }
    if (SameWord(assignment.value, "DRAIN"))
      verb = "cordon";
    else if (SameWord(assignment.value, "RESUME") || SameWord(assignment.value, "UNDRAIN") ||
             SameWord(assignment.value, "IDLE"))
      verb = "uncordon";
    else
      return RefuseUpdate("Invalid input for State: " + assignment.value +
                          "\nValid states are: DRAIN RESUME UNDRAIN");
  }
  if (verb.empty()) return RefuseUpdate("No changes specified");
  int exit = 0;
  for (const std::string& one : SplitList(name)) {
    const client::Outcome<json::value> answer =
        session.api.Send({"POST", "/v1/memberclusters/" + client::PercentEncode(one) + ":" + verb});
    if (answer.ok()) continue;
    exit = FailPlain("slurm_update error: " + (answer.failure().status == 404
                                                   ? std::string("Invalid node name specified")
                                                   : ChangeFailure(answer.failure(), false)));
  }
  return exit;
}

}  // namespace

// The first key that names an entity decides what is updated; the others are its changes.
int UpdateEntity(Session& session, const Words& words) {
  std::string entity, name;
  std::vector<Assignment> changes;
  for (std::size_t i = 1; i < words.size(); ++i) {
    // "update job 12 key=value" is written too.
    if (i + 1 < words.size() && entity.empty() &&
        (SameWord(words[i], "job") || SameWord(words[i], "jobid"))) {
      entity = "job";
      name = words[++i];
      continue;
    }
    const auto assignment = SplitAssignment(words[i]);
    if (!assignment) {
      return FailPlain(
          "No valid entity in update command\nInput line must include \"NodeName\", "
          "\"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
    }
    const std::string& key = assignment->key;
    if (entity.empty() && (SameWord(key, "JobId") || SameWord(key, "Job")))
      entity = "job", name = assignment->value;
    else if (entity.empty() && (SameWord(key, "PartitionName") || SameWord(key, "Partition")))
      entity = "partition", name = assignment->value;
    else if (entity.empty() && SameWord(key, "NodeName"))
      entity = "node", name = assignment->value;
    else if (SameWord(key, "StepId") || SameWord(key, "FrontendName") ||
             SameWord(key, "SlurmctldDebug") ||
             (entity.empty() && SameWord(key, "ReservationName")))
      return Fail(kScontrol, "update of " + key + " is not supported");
    else
      changes.push_back(*assignment);
  }
  if (entity == "partition") return UpdatePartition(session, name, changes);
  if (entity == "node") return UpdateNode(session, name, changes);
  if (entity.empty()) {
    return FailPlain(
        "No valid entity in update command\nInput line must include \"NodeName\", "
        "\"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
  }
  int exit = 0;
  for (const std::string& id : SplitList(name))
    exit = std::max(exit, UpdateJob(session, id, changes));
  return exit;
}

}  // namespace muster::slurm
