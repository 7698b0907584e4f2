// Compares two versions of a job's object. A PUT or PATCH sends a whole object, so what the client
// means is only in the differences; labels, annotations, spec and status are compared member by
// member, and an empty list or object is the same as none. A difference is either one of the few
// that Kueue allows after admission, or an error by its path. Only differences become commands, so
// a controller that writes the same answer again causes no change.
#include "api/service/workload_edit.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "api/service/validate.h"
#include "api/service/workload_object.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/shapes/kinds/workload_status.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

using shapes::Field;
using shapes::Problems;

// Kueue's bound for a check's message.
constexpr std::size_t kMessageBytes = 32'768;

// The keys on which two objects differ, in alphabetical order.
std::set<std::string> Differences(const json::object& a, const json::object& b) {
  const auto same = [](const json::value* left, const json::value* right) {
    // Clients and servers drop or keep empty members at will.
    const auto nothing = [](const json::value* value) {
      return value == nullptr || value->is_null() ||
             (value->is_array() && value->get_array().empty()) ||
             (value->is_object() && value->get_object().empty());
    };
    if (nothing(left) || nothing(right)) return nothing(left) == nothing(right);
    return *left == *right;
  };
  std::set<std::string> keys;
  for (const json::object* one : {&a, &b}) {
    for (const auto& member : *one) {
      const std::string_view key = member.key();
      if (!same(a.if_contains(key), b.if_contains(key))) keys.emplace(key);
    }
  }
  return keys;
}

// Reads a changed priority class. The class may become another one and may not be removed. Label
// and spec of a Workload both name it; they may not name two different new ones.
Status ReadClass(const std::string& name, const std::string& field, const JobRecord& job,
                 ChangeJobCommand* command) {
  if (name.empty()) return InvalidField(field, "cannot be removed");
  if (name == job.priority_class) return Done{};
  if (command->priority_class && *command->priority_class != name)
    return InvalidField(field, "is another class than the one that the label names");
  command->priority_class = name;
  return Done{};
}

// The boost is 0 without a text.
Status ReadBoost(const json::string* text, const std::string& field, ChangeJobCommand* command) {
  std::int32_t boost = 0;
  if (text != nullptr) {
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), boost);
    if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size())
      return InvalidField(field, "must be an integer of 32 bits");
  }
  command->priority_boost = boost;
  return Done{};
}

// Of labels only the priority class may change, of annotations only the boost; kubectl's own
// annotation is ignored.
Status ReadMetadata(const JobRecord& job, const json::value& now, const json::value& wanted,
                    ChangeJobCommand* command) {
  const json::object& labels = ObjectOrEmpty(wanted, {"metadata", "labels"});
  for (const std::string& key : Differences(ObjectOrEmpty(now, {"metadata", "labels"}), labels)) {
    const std::string field = "metadata.labels[" + key + "]";
    if (key != shapes::kPriorityKey)
      return InvalidField(field, "cannot be changed once the job is accepted");
    const Status read = ReadClass(TextAt(labels, shapes::kPriorityKey), field, job, command);
    if (!read.ok()) return read;
  }
  const json::object& annotations = ObjectOrEmpty(wanted, {"metadata", "annotations"});
  for (const std::string& key :
       Differences(ObjectOrEmpty(now, {"metadata", "annotations"}), annotations)) {
    const std::string field = "metadata.annotations[" + key + "]";
    // kubectl apply writes it on every change.
    if (key == "kubectl.kubernetes.io/last-applied-configuration") continue;
    if (key != shapes::kPriorityBoostKey)
      return InvalidField(field, "cannot be changed once the job is accepted");
    const Status read = ReadBoost(FindText(annotations, shapes::kPriorityBoostKey), field, command);
    if (!read.ok()) return read;
  }
  return Done{};
}

// Of spec only a Workload's activity and priority class may change.
Status ReadSpec(const JobRecord& job, bool of_workload, const json::value& now,
                const json::value& wanted, ChangeJobCommand* command) {
  const json::object& before = ObjectOrEmpty(now, "spec");
  const json::object& spec = ObjectOrEmpty(wanted, "spec");
  for (const std::string& key : Differences(before, spec)) {
    const std::string field = "spec." + key;
    if (of_workload && key == "active") {
      const json::value* active = spec.if_contains("active");
      if (active != nullptr && !active->is_bool())
        return InvalidField(field, "must be true or false");
      const bool on = active == nullptr || active->get_bool();  // the default is true
      if (on != IsActive(job)) command->active = on;
      continue;
    }
    if (of_workload && key == "priorityClassName") {
      const Status read = ReadClass(TextAt(spec, "priorityClassName"), field, job, command);
      if (!read.ok()) return read;
      continue;
    }
    if (of_workload && key == "priorityClassSource" &&
        ViewAt(spec, "priorityClassSource") == "kueue.x-k8s.io/workloadpriorityclass") {
      continue;  // the job had no class before
    }
    if (of_workload && key == "priorityClassRef") {
      const json::object& was = ObjectOrEmpty(now, {"spec", "priorityClassRef"});
      const json::object& ref = ObjectOrEmpty(wanted, {"spec", "priorityClassRef"});
      for (const std::string& part : Differences(was, ref)) {
        // Within a reference only the name may change, unless there was no reference before.
        const bool may = part == "name" || was.empty();
        if (!may) return InvalidField(field + "." + part, "cannot be changed");
      }
      const Status read = ReadClass(TextAt(ref, "name"), field + ".name", job, command);
      if (!read.ok()) return read;
      continue;
    }
    return InvalidField(field, "cannot be changed once the job is accepted");
  }
  return Done{};
}

// A check's podSetUpdates must name each pod set of the job exactly once.
void CheckUpdates(const Field& check, const JobRecord& job, const AdmissionCheckStatus& read) {
  if (read.updates.empty() || job.pod_sets == nullptr) return;
  const Field list = check["podSetUpdates"];
  if (read.updates.size() != job.pod_sets->size())
    list.Fail("must have the same number of podSetUpdates as the podSets");
  std::set<std::string> names;
  const auto items = list.Elements();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& name = read.updates[i].pod_set;
    const bool known = std::any_of(job.pod_sets->begin(), job.pod_sets->end(),
                                   [&](const PodSet& one) { return one.name == name; });
    if (!known) items[i]["name"].Fail("there is no pod set \"" + name + "\"");
    if (!names.insert(name).second) items[i]["name"].Fail("must be unique: \"" + name + "\"");
  }
}

// The checks in `list` whose answer differs from the recorded one; times are not compared.
std::vector<AdmissionCheckStatus> ReadChecks(const Field& list, const JobRecord& job) {
  std::vector<AdmissionCheckStatus> differing;
  std::set<std::string> names;
  const std::vector<AdmissionCheckStatus> read = shapes::ReadCheckStates(list);
  const auto items = list.Elements();
  for (std::size_t i = 0; i < read.size(); ++i) {
    const AdmissionCheckStatus& one = read[i];
    if (!names.insert(one.name).second)
      items[i]["name"].Fail("must be unique: \"" + one.name + "\"");
    if (one.message.size() > kMessageBytes)
      items[i]["message"].Fail("must have at most " + std::to_string(kMessageBytes) + " bytes");
    CheckUpdates(items[i], job, one);
    const auto& known = StateOf(job).checks;
    // The recorded answer of the same check.
    const auto before = std::find_if(known.begin(), known.end(),
                                     [&](const auto& check) { return check.name == one.name; });
    const bool same =
        before != known.end() && before->state == one.state && before->message == one.message &&
        before->requeue_after_s == one.requeue_after_s && before->updates == one.updates;
    if (!same) differing.push_back(one);
  }
  return differing;
}

}  // namespace

Result<std::int64_t> WantedVersion(const json::value& wanted) {
  return ResourceVersionOf(FindValue(wanted, {"metadata", "resourceVersion"}),
                           "metadata.resourceVersion");
}

// `now` decides what kind of object is edited: a Workload has more changeable fields than the job's
// own kind.
Result<bool> ReadJobEdit(const JobRecord& job, const json::value& now, const json::value& wanted,
                         ChangeJobCommand* command) {
  const Result<std::int64_t> version = WantedVersion(wanted);
  if (!version.ok()) return version.error();
  command->job = job.id;
  command->expected_resource_version = *version;
  if (const Status read = ReadMetadata(job, now, wanted, command); !read.ok()) return read.error();
  const bool of_workload = ViewAt(now, "kind") == "Workload";
  if (const Status read = ReadSpec(job, of_workload, now, wanted, command); !read.ok())
    return read.error();
  return command->active || command->priority_class || command->priority_boost;
}

// Checks and reclaimable pods become different commands, so one request may change only one of
// them.
Result<StatusEdit> ReadStatusEdit(const JobRecord& job, const json::value& now,
                                  const json::value& wanted) {
  const std::set<std::string> differing =
      Differences(ObjectOrEmpty(now, "status"), ObjectOrEmpty(wanted, "status"));
  for (const std::string& key : differing) {
    if (key == "admissionChecks" || key == "reclaimablePods") continue;
    const std::string sentence = "is written by Muster alone, and differs from what it is now";
    return Error{
        Code::kFailedPrecondition, "status." + key + " " + sentence, {{"status." + key, sentence}}};
  }
  StatusEdit edit;
  Problems problems;
  const Field status = Field(wanted, &problems)["status"];
  if (differing.contains("admissionChecks"))
    edit.checks = ReadChecks(status["admissionChecks"], job);
  if (differing.contains("reclaimablePods"))
    edit.reclaimable = shapes::ReadReclaimablePods(status["reclaimablePods"]);
  if (!problems.empty()) return problems.ToError();
  if (!edit.checks.empty() && edit.reclaimable)
    return InvalidField("status", "change admissionChecks and reclaimablePods one at a time");
  return edit;
}

// A condition of another type is refused, and so is a status without the condition Active.
Status ReadActivity(const json::value& wanted, SetCheckActiveCommand* command) {
  const Result<std::int64_t> version = WantedVersion(wanted);
  if (!version.ok()) return version.error();
  command->expected_resource_version = *version;
  Problems problems;
  const Field status = Field(wanted, &problems)["status"];
  status.OnlyMembers({"conditions"});
  const Field list = status["conditions"];
  bool found = false;
  if (list.Require()) {
    for (const Field& item : list.Elements()) {
      item.OnlyMembers(
          {"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"});
      if (!item["type"].Require() || !item["status"].Require()) continue;
      if (item["type"].OneOf({"Active"}) != "Active") continue;
      command->active = item["status"].OneOf({"True", "False", "Unknown"}) == "True";
      command->reason = item["reason"].StringOr("");
      command->message = item["message"].StringOr("");
      found = true;
    }
    if (!found) list.Fail("must have the condition Active");
  }
  if (!problems.empty()) return problems.ToError();
  return Done{};
}

}  // namespace muster::api
