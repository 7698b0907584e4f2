// The job view in two ways: as a JSON value (JobViewJson) and as text that is appended without
// building a value (AppendJobView). The second is for lists of 100,000 jobs, where the values would
// cost most of the time. kMembers lists the members once for the text and for `?fields=`; the unit
// test views_test compares both ways, so a new member must be added to both.
#include "api/service/job_view.h"

#include <algorithm>
#include <iterator>

#include "api/service/batch_view.h"
#include "api/service/json_append.h"
#include "api/service/views.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/job_changes.h"

namespace muster::api {
namespace {

json::value TimeJson(WallTime time) {
  if (!time.set()) return nullptr;
  return json::value(FormatRfc3339Micros(time));
}

// Null while the job holds no quota.
const PodSetAssignment* AssignmentOf(const JobRecord& job, const std::string& pod_set) {
  return job.admission == nullptr ? nullptr : job.admission->Find(pod_set);
}

// `requests` are those of one pod; `flavors` are empty until quota is reserved.
json::array PodSetsJson(const JobRecord& job) {
  json::array out;
  if (job.pod_sets == nullptr) return out;
  for (const PodSet& pod_set : *job.pod_sets) {
    json::object item;
    item["name"] = pod_set.name;
    item["count"] = pod_set.count;
    json::object flavors;
    if (const PodSetAssignment* assignment = AssignmentOf(job, pod_set.name)) {
      for (const auto& [resource, flavor] : assignment->flavors) flavors[resource] = flavor;
    }
    item["flavors"] = std::move(flavors);
    item["requests"] = ResourcesJson(pod_set.requests);
    out.push_back(std::move(item));
  }
  return out;
}

// True while its attempt is being stopped: for good, or to run again.
bool IsStopping(const JobRecord& job) {
  return changes::IsCancelling(job) || changes::IsRequeuing(job);
}

// `key_and_colon` is JSON text such as `,"name":`; only `text` is escaped.
void AppendKeyText(std::string_view key_and_colon, std::string_view text, std::string* out) {
  out->append(key_and_colon);
  AppendJsonString(text, out);
}

void AppendKeyNumber(std::string_view key_and_colon, std::int64_t number, std::string* out) {
  out->append(key_and_colon);
  AppendJsonNumber(number, out);
}

// The text of PodSetsJson.
void AppendPodSets(const JobRecord& job, std::string* out) {
  out->push_back('[');
  bool first_set = true;
  if (job.pod_sets != nullptr) {
    for (const PodSet& pod_set : *job.pod_sets) {
      AppendKeyText(first_set ? "{\"name\":" : ",{\"name\":", pod_set.name, out);
      first_set = false;
      AppendKeyNumber(",\"count\":", pod_set.count, out);
      out->append(",\"flavors\":{");
      bool first = true;
      if (const PodSetAssignment* assignment = AssignmentOf(job, pod_set.name)) {
        for (const auto& [resource, flavor] : assignment->flavors) {
          if (!first) out->push_back(',');
          first = false;
          AppendJsonString(resource, out);
          AppendKeyText(":", flavor, out);
        }
      }
      out->append("},\"requests\":{");
      first = true;
      for (const ResourceAmount& request : pod_set.requests) {
        if (!first) out->push_back(',');
        first = false;
        AppendJsonString(request.resource, out);
        AppendKeyText(":", FormatQuantity(request.resource, request.amount), out);
      }
      out->append("}}");
    }
  }
  out->push_back(']');
}

// The text of ConditionJson for each condition.
void AppendConditions(const JobRecord& job, std::string* out) {
  out->push_back('[');
  if (job.conditions != nullptr) {
    bool first = true;
    for (const Condition& condition : *job.conditions) {
      AppendKeyText(first ? "{\"type\":" : ",{\"type\":", condition.type, out);
      first = false;
      out->append(condition.status ? ",\"status\":\"True\"" : ",\"status\":\"False\"");
      AppendKeyText(",\"reason\":", condition.reason, out);
      AppendKeyText(",\"message\":", condition.message, out);
      out->append(",\"lastTransitionTime\":");
      AppendJsonSeconds(condition.last_transition, out);
      out->push_back('}');
    }
  }
  out->push_back(']');
}

// One member of the view as text.
struct Member {
  std::string_view key;  // with its quotes and colon
  void (*append)(const JobRecord& job, std::string* out);

  std::string_view name() const { return key.substr(1, key.size() - 3); }
};

// Members that are a plain field of the record.
template <auto kText>
void AppendText(const JobRecord& job, std::string* out) {
  AppendJsonString(job.*kText, out);
}
template <auto kNumber>
void AppendNumber(const JobRecord& job, std::string* out) {
  AppendJsonNumber(job.*kNumber, out);
}
template <auto kTime>
void AppendTime(const JobRecord& job, std::string* out) {
  AppendJsonTime(job.*kTime, out);
}

// The members of the job view in their order, which is the order of JobViewJson.
constexpr Member kMembers[] =
    {
        {"\"id\":",
         [](const JobRecord& job, std::string* out) { AppendJsonNumber(job.id.value, out); }},
        {"\"uid\":", [](const JobRecord& job, std::string* out) { AppendJsonUid(job.uid, out); }},
        {"\"name\":", AppendText<&JobRecord::name>},
        {"\"namespace\":", AppendText<&JobRecord::ns>},
        {"\"kind\":", [](const JobRecord& job,
                         std::string* out) { AppendJsonString(ShapeKindName(job.shape), out); }},
        {"\"apiVersion\":",
         [](const JobRecord& job, std::string* out) {
  AppendJsonString(ApiVersionOf(job.shape), out);
         }},
        {"\"displayName\":", AppendText<&JobRecord::display_name>},
        {"\"user\":", AppendText<&JobRecord::user>},
        {"\"queue\":", AppendText<&JobRecord::local_queue>},
        {"\"clusterQueue\":", AppendText<&JobRecord::cluster_queue>},
        {"\"priority\":",
         [](const JobRecord& job, std::string* out) {
  AppendJsonNumber(changes::ShownPriority(job), out);
         }},
        {"\"priorityClass\":", AppendText<&JobRecord::priority_class>},
        {"\"state\":", [](const JobRecord& job,
                          std::string* out) { AppendJsonString(JobStateName(job.state), out); }},
        {"\"reason\":", [](const JobRecord& job,
                           std::string* out) { AppendJsonString(ReasonName(job.reason), out); }},
        {"\"message\":", AppendText<&JobRecord::message>},
        {"\"cluster\":", AppendText<&JobRecord::cluster>},
        {"\"nodeList\":", [](const JobRecord& job,
                             std::string* out) { AppendJsonString(NodeListOf(job), out); }},
        {"\"attempt\":", AppendNumber<&JobRecord::attempt>},
        {"\"requeues\":", AppendNumber<&JobRecord::requeues>},
        {"\"stopping\":", [](const JobRecord& job,
                             std::string* out) { out->append(IsStopping(job) ? "true" : "false"); }},
        {"\"submitTime\":", AppendTime<&JobRecord::submit_time>},
        {"\"admitTime\":", AppendTime<&JobRecord::admit_time>},
        {"\"startTime\":", AppendTime<&JobRecord::start_time>},
        {"\"endTime\":", AppendTime<&JobRecord::end_time>},
        {"\"requeueAt\":",
         [](const JobRecord& job, std::string* out) { AppendJsonTime(RequeueAt(job), out); }},
        {"\"exitCode\":",
         [](const JobRecord& job, std::string* out) {
  if (job.exit_code) {
    AppendJsonNumber(*job.exit_code, out);
  } else {
    out->append("null");
  }
         }},
                 {"\"exitSignal\":", AppendNumber<&JobRecord::exit_signal>},
                 {"\"timeLimitSeconds\":", AppendNumber<&JobRecord::time_limit_s>},
                 {"\"podSets\":", AppendPodSets}, {"\"conditions\":", AppendConditions},
                 {"\"batch\":",
                  [](const JobRecord& job, std::string* out) { AppendBatch(job, out); }},
                 };
// JobMembers has one bit for each.
static_assert(std::size(kMembers) == JobMembers().view.size());

}  // namespace

std::string_view ApiVersionOf(ShapeKind shape) { return ShapeInfoOf(shape).api_version; }

WallTime RequeueAt(const JobRecord& job) {
  const bool waits = job.state == JobState::kPending || job.state == JobState::kHeld;
  return waits ? core::HeldBackUntil(job).value_or(WallTime{}) : WallTime{};
}

json::object JobViewJson(const JobRecord& job) {
  json::object out;
  out["id"] = job.id.value;
  out["uid"] = job.uid.ToString();
  out["name"] = job.name;
  out["namespace"] = job.ns;
  out["kind"] = ShapeKindName(job.shape);
  out["apiVersion"] = ApiVersionOf(job.shape);
  out["displayName"] = job.display_name;
  out["user"] = job.user;
  out["queue"] = job.local_queue;
  out["clusterQueue"] = job.cluster_queue;
  out["priority"] = changes::ShownPriority(job);
  out["priorityClass"] = job.priority_class;
  out["state"] = JobStateName(job.state);
  out["reason"] = ReasonName(job.reason);
  out["message"] = job.message;
  out["cluster"] = job.cluster;
  out["nodeList"] = NodeListOf(job);
  out["attempt"] = job.attempt;
  out["requeues"] = job.requeues;
  out["stopping"] = IsStopping(job);
  out["submitTime"] = TimeJson(job.submit_time);
  out["admitTime"] = TimeJson(job.admit_time);
  out["startTime"] = TimeJson(job.start_time);
  out["endTime"] = TimeJson(job.end_time);
  out["requeueAt"] = TimeJson(RequeueAt(job));
  out["exitCode"] = job.exit_code ? json::value(*job.exit_code) : json::value(nullptr);
  out["exitSignal"] = job.exit_signal;
  out["timeLimitSeconds"] = job.time_limit_s;
  out["podSets"] = PodSetsJson(job);
  json::array conditions;
  if (job.conditions != nullptr) {
    for (const Condition& condition : *job.conditions)
      conditions.push_back(ConditionJson(condition));
  }
  out["conditions"] = std::move(conditions);
  out["batch"] = BatchJson(job);
  return out;
}

void AppendJobView(const JobRecord& job, const JobMembers& members, std::string* out) {
  out->push_back('{');
  bool first = true;
  for (std::size_t i = 0; i < std::size(kMembers); ++i) {
    if (!members.view.test(i)) continue;
    if (!first) out->push_back(',');
    first = false;
    out->append(kMembers[i].key);
    kMembers[i].append(job, out);
  }
  // `batch` is the last member.
  if (members.batch.any() && !members.view.test(std::size(kMembers) - 1)) {
    out->append(first ? "\"batch\":" : ",\"batch\":");
    AppendBatch(job, members.batch, out);
  }
  out->push_back('}');
}

void AppendJobView(const JobRecord& job, std::string* out) {
  AppendJobView(job, JobMembers::All(), out);
}

Result<JobMembers> JobMembersOf(const std::vector<std::string>& names) {
  if (names.empty()) return InvalidField("fields", "names no member of a job view");
  JobMembers members;
  constexpr std::string_view kBatch = "batch.", kBrief = "batch.brief";
  for (const std::string& name : names) {
    if (name == kBrief) {
      members.batch |= BriefBatchMembers();
      continue;
    }
    if (name.starts_with(kBatch)) {
      const auto member = BatchMemberOf(std::string_view(name).substr(kBatch.size()));
      if (!member)
        return InvalidField("fields", Quoted(name) + " is not a member of a script's job view");
      members.batch.set(*member);
      continue;
    }
    const auto* found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                     [&](const Member& member) { return member.name() == name; });
    if (found == std::end(kMembers)) {
      return InvalidField("fields", Quoted(name) + " is not a member of a job view");
    }
    members.view.set(static_cast<std::size_t>(found - std::begin(kMembers)));
  }
  return members;
}

}  // namespace muster::api
