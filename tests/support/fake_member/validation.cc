// The API server's defaults and refusals, for the kinds that the tests use.
#include "schedd/text/base64.h"
#include "tests/support/fake_member/cluster.h"

namespace muster::fake {
namespace {

void Default(json::object& object, std::string_view name, json::value value) {
  const json::string_view key{name.data(), name.size()};
  if (!object.contains(key)) object[key] = std::move(value);
}

void DefaultPodSpec(json::object& spec) {
  Default(spec, "restartPolicy", "Always");
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "securityContext", json::object());
  Default(spec, "schedulerName", "default-scheduler");
  json::value* containers = spec.if_contains("containers");
  if (containers == nullptr || !containers->is_array()) return;
  for (json::value& one : containers->get_array()) {
    if (!one.is_object()) continue;
    json::object& container = one.get_object();
    Default(container, "resources", json::object());
    Default(container, "terminationMessagePath", "/dev/termination-log");
    Default(container, "terminationMessagePolicy", "File");
    Default(container, "imagePullPolicy", "Always");
  }
}

void CheckContainers(const json::object& spec, const std::string& where,
                     std::vector<Cause>* causes) {
  if (Items(spec, {"containers"}).empty())
    causes->push_back({"FieldValueRequired", "Required value", where + ".containers"});
}

void DefaultJob(json::object& job, std::vector<Cause>* causes) {
  json::object& spec = Child(job, "spec");
  const bool queue = spec.contains("parallelism") && !spec.contains("completions");
  if (!queue) Default(spec, "completions", 1);
  Default(spec, "parallelism", 1);
  Default(spec, "backoffLimit", 6);
  Default(spec, "completionMode", "NonIndexed");
  Default(spec, "suspend", false);
  Default(spec, "manualSelector", false);
  Default(spec, "podReplacementPolicy", "TerminatingOrFailed");
  if (spec.contains("selector") && !Flag(spec, {"manualSelector"})) {
    causes->push_back(
        {"FieldValueInvalid", "Invalid value: `selector` not auto-generated", "spec.selector"});
  }
  const std::string uid = Text(job, {"metadata", "uid"});
  const std::string name = Text(job, {"metadata", "name"});
  if (!Flag(spec, {"manualSelector"})) {
    spec["selector"] =
        json::object{{"matchLabels", json::object{{"batch.kubernetes.io/controller-uid", uid}}}};
    json::object& labels = Child(Child(Child(spec, "template"), "metadata"), "labels");
    for (const char* label : {"batch.kubernetes.io/controller-uid", "controller-uid"})
      labels[label] = uid;
    for (const char* label : {"batch.kubernetes.io/job-name", "job-name"}) labels[label] = name;
  }
  json::object& pod_spec = Child(Child(spec, "template"), "spec");
  CheckContainers(pod_spec, "spec.template.spec", causes);
  const std::string policy = Text(pod_spec, {"restartPolicy"});
  if (policy != "Never" && policy != "OnFailure") {
    causes->push_back({policy.empty() ? "FieldValueRequired" : "FieldValueNotSupported",
                       policy.empty() ? "Required value: valid values: \"OnFailure\", \"Never\""
                                      : "Unsupported value: \"" + policy +
                                            "\": supported values: \"OnFailure\", \"Never\"",
                       "spec.template.spec.restartPolicy"});
  }
  DefaultPodSpec(pod_spec);
  Default(job, "status", json::object());
}

void DefaultJobSet(json::object& set, std::vector<Cause>* causes) {
  json::object& spec = Child(set, "spec");
  Default(spec, "successPolicy", json::object{{"operator", "All"}});
  Default(spec, "startupPolicy", json::object{{"startupPolicyOrder", "AnyOrder"}});
  json::value* jobs = spec.if_contains("replicatedJobs");
  if (jobs == nullptr || !jobs->is_array()) return;
  for (json::value& one : jobs->get_array()) {
    if (!one.is_object()) continue;
    json::object& job = one.get_object();
    Default(job, "replicas", 1);
    Default(job, "groupName", "default");
    json::object& job_spec = Child(Child(job, "template"), "spec");
    Default(job_spec, "completionMode", "Indexed");
    json::object& pod_spec = Child(Child(job_spec, "template"), "spec");
    Default(pod_spec, "restartPolicy", "OnFailure");
    CheckContainers(pod_spec, "spec.replicatedJobs.template.spec.template.spec", causes);
  }
}

// The Job's template without the fields that admission may set on a Job that has never run.
json::object FixedTemplate(const json::object& job) {
  json::object pod;
  if (const json::object* given = FindObject(job, {"spec", "template"})) pod = *given;
  pod.erase("metadata");
  json::object& spec = Child(pod, "spec");
  for (const char* free : {"nodeSelector", "tolerations", "affinity", "schedulingGates"})
    spec.erase(free);
  return pod;
}

void TakeStringData(json::object& secret) {
  const json::object* given = FindObject(secret, {"stringData"});
  if (given == nullptr) return;
  const json::object plain = *given;
  for (const auto& [key, text] : plain) {
    if (text.is_string()) Child(secret, "data")[key] = EncodeBase64(text.get_string());
  }
  secret.erase("stringData");
}

Cause Immutable(const std::string& field) {
  return {"FieldValueInvalid", "Invalid value: field is immutable", field};
}

}  // namespace

std::vector<Cause> DefaultAndValidate(const Resource& resource, json::object& object) {
  std::vector<Cause> causes;
  if (resource.kind == "Job") {
    DefaultJob(object, &causes);
  } else if (resource.kind == "JobSet") {
    DefaultJobSet(object, &causes);
  } else if (resource.kind == "Pod") {
    CheckContainers(Child(object, "spec"), "spec", &causes);
    DefaultPodSpec(Child(object, "spec"));
    Default(Child(object, "status"), "phase", "Pending");
  } else if (resource.kind == "Namespace") {
    Child(Child(object, "metadata"), "labels")["kubernetes.io/metadata.name"] =
        Text(object, {"metadata", "name"});
    object["spec"] = json::object{{"finalizers", json::array{"kubernetes"}}};
    object["status"] = json::object{{"phase", "Active"}};
  } else if (resource.kind == "LeaderWorkerSet") {
    json::object& spec = Child(object, "spec");
    Default(spec, "replicas", 1);
    Default(spec, "startupPolicy", "LeaderCreated");
    if (FindObject(spec, {"leaderWorkerTemplate", "workerTemplate"}) == nullptr) {
      causes.push_back(
          {"FieldValueRequired", "Required value", "spec.leaderWorkerTemplate.workerTemplate"});
    } else {
      Default(Child(spec, "leaderWorkerTemplate"), "size", 1);
      Default(Child(spec, "leaderWorkerTemplate"), "restartPolicy", "RecreateGroupOnPodRestart");
    }
  } else if (resource.kind == "ClusterQueue") {
    Default(Child(object, "spec"), "queueingStrategy", "BestEffortFIFO");
    Default(Child(object, "spec"), "stopPolicy", "None");
  } else if (resource.kind == "Deployment") {
    Default(Child(object, "spec"), "replicas", 1);
    if (FindObject(object, {"spec", "selector"}) == nullptr)
      causes.push_back({"FieldValueRequired", "Required value", "spec.selector"});
  } else if (resource.kind == "Secret") {
    TakeStringData(object);
  }
  return causes;
}

std::vector<Cause> ValidateChange(const Resource& resource, const json::object& before,
                                  const json::object& after) {
  std::vector<Cause> causes;
  const auto same = [&](Path path) {
    const json::value *one = Find(before, path), *other = Find(after, path);
    return one == nullptr || other == nullptr ? one == other : Same(*one, *other);
  };
  if (resource.kind == "Job") {
    if (!same({"spec", "selector"})) causes.push_back(Immutable("spec.selector"));
    if (!same({"spec", "completionMode"})) causes.push_back(Immutable("spec.completionMode"));
    const bool elastic =
        Text(after, {"spec", "completionMode"}) == "Indexed" &&
        Number(after, {"spec", "completions"}) == Number(after, {"spec", "parallelism"});
    if (!same({"spec", "completions"}) && !elastic) causes.push_back(Immutable("spec.completions"));
    const bool fresh =
        Flag(before, {"spec", "suspend"}) && Text(before, {"status", "startTime"}).empty();
    const bool allowed =
        same({"spec", "template"}) || (fresh && Same(FixedTemplate(before), FixedTemplate(after)));
    if (!allowed) causes.push_back(Immutable("spec.template"));
  }
  if (resource.kind == "Pod" && !same({"spec", "nodeName"})) causes.push_back(Immutable("spec"));
  if (resource.kind == "LeaderWorkerSet" && !same({"spec", "leaderWorkerTemplate", "size"}))
    causes.push_back(Immutable("spec.leaderWorkerTemplate.size"));
  if (resource.kind == "Deployment" && !same({"spec", "selector"}))
    causes.push_back(Immutable("spec.selector"));
  return causes;
}

}  // namespace muster::fake
