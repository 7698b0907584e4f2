#include "tests/support/builders.h"

#include "schedd/base/check.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/text/json.h"

namespace muster::test {
namespace {

ObjectChange Put(ObjectKind kind, const std::string& ns, const std::string& name,
                 const json::value& manifest) {
  ObjectChange change;
  change.kind = kind;
  change.ns = ns;
  change.name = name;
  change.manifest = WriteJson(manifest);
  return change;
}

json::object Metadata(const std::string& ns, const std::string& name) {
  json::object metadata{{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return metadata;
}

}  // namespace

Uid UidOf(const std::string& text) {
  Uid uid{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  for (const char c : text) {
    uid.hi = (uid.hi ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    uid.lo = (uid.lo + uid.hi) * 0x9e3779b97f4a7c15ULL;
  }
  return uid;
}

Submission MakeSubmission(const JobSpec& spec) {
  auto draft = std::make_shared<JobRecord>();
  draft->uid = UidOf(spec.ns + "/" + spec.name + spec.uid_seed);
  draft->name = draft->display_name = spec.name;
  draft->ns = spec.ns;
  draft->user = "alice";
  draft->local_queue = spec.queue;
  draft->cluster_queue = spec.cluster_queue;
  draft->priority = spec.priority;
  draft->priority_class = spec.priority_class;
  draft->max_execution_s = spec.max_execution_s;
  draft->time_limit_s = spec.time_limit_s;
  draft->ttl_after_finished_s = spec.ttl_s;
  draft->suspended_by_user = spec.held;
  if (spec.no_requeue) {
    auto details = std::make_shared<BatchDetails>();
    details->requeue = false;
    draft->batch = std::move(details);
  }
  if (!spec.array.empty()) {
    const auto array = shapes::ParseArraySpec(spec.array);
    MUSTER_CHECK(array.ok());
    auto details = std::make_shared<BatchDetails>();
    details->array_spec = spec.array;
    draft->batch = std::move(details);
    auto state = std::make_shared<BatchState>();
    state->waiting_tasks = array->tasks;
    state->task_throttle = array->throttle;
    draft->batch_state = std::move(state);
  }
  auto sets = std::make_shared<PodSets>();
  for (const Pods& pods : spec.pods) {
    sets->push_back({pods.name, pods.count, pods.each, nullptr});
    if (spec.required_topology.empty()) continue;
    TopologyRequest request;
    request.required = spec.required_topology;
    sets->back().topology = std::make_shared<const TopologyRequest>(std::move(request));
  }
  draft->pod_sets = std::move(sets);
  Submission submission;
  submission.draft = std::move(draft);
  submission.manifest = WriteJson(json::object{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", Metadata(spec.ns, spec.name)},
      {"spec",
       {{"template",
         {{"spec",
           {{"restartPolicy", "Never"},
            {"containers",
             json::array{json::object{{"name", "main"}, {"image", "busybox"}}}}}}}}}}});
  return submission;
}

ObjectChange NamespaceObject(const std::string& name) {
  return Put(
      ObjectKind::kNamespace, "", name,
      json::object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Metadata("", name)}});
}

ObjectChange FlavorObject(const std::string& name) {
  return Put(ObjectKind::kResourceFlavor, "", name,
             json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                          {"kind", "ResourceFlavor"},
                          {"metadata", Metadata("", name)},
                          {"spec", json::object{}}});
}

ObjectChange LocalQueueObject(const std::string& name, const std::string& cluster_queue,
                              const std::string& stop_policy) {
  return Put(
      ObjectKind::kLocalQueue, "default", name,
      json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                   {"kind", "LocalQueue"},
                   {"metadata", Metadata("default", name)},
                   {"spec", {{"clusterQueue", cluster_queue}, {"stopPolicy", stop_policy}}}});
}

ObjectChange MemberObject(const std::string& name, const ResourceList& allocatable) {
  json::object amounts;
  for (const auto& one : allocatable)
    amounts[one.resource] = FormatQuantity(one.resource, one.amount);
  json::object metadata = Metadata("", name);
  metadata["annotations"] = json::object{{"muster.io/backend", "simulated"},
                                         {"muster.io/any-flavor", "true"},
                                         {"muster.io/allocatable", WriteJson(amounts)}};
  return Put(ObjectKind::kMemberCluster, "", name,
             json::object{{"apiVersion", "cluster.kubernetes-fleet.io/v1beta1"},
                          {"kind", "MemberCluster"},
                          {"metadata", metadata},
                          {"spec", json::object{}}});
}

ObjectChange ClusterQueueObject(const QueueSpec& spec) {
  json::array covered, resources;
  for (const auto& one : spec.nominal) {
    covered.emplace_back(one.resource);
    resources.push_back(json::object{{"name", one.resource},
                                     {"nominalQuota", FormatQuantity(one.resource, one.amount)}});
  }
  json::object body{
      {"namespaceSelector", json::object{}},
      {"queueingStrategy", spec.strategy},
      {"stopPolicy", spec.stop_policy},
      {"resourceGroups", json::array{json::object{
                             {"coveredResources", covered},
                             {"flavors", json::array{json::object{{"name", spec.flavor},
                                                                  {"resources", resources}}}}}}}};
  if (!spec.cohort.empty()) body["cohort"] = spec.cohort;
  body["preemption"] =
      json::object{{"withinClusterQueue", spec.within}, {"reclaimWithinCohort", spec.reclaim}};
  if (!spec.checks.empty())
    body["admissionChecks"] = json::array(spec.checks.begin(), spec.checks.end());
  return Put(ObjectKind::kClusterQueue, "", spec.name,
             json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                          {"kind", "ClusterQueue"},
                          {"metadata", Metadata("", spec.name)},
                          {"spec", body}});
}

ObjectChange CheckObject(const std::string& name) {
  return Put(ObjectKind::kAdmissionCheck, "", name,
             json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                          {"kind", "AdmissionCheck"},
                          {"metadata", Metadata("", name)},
                          {"spec", {{"controllerName", "example.org/checker"}}}});
}

ObjectChange PlacementObject(ObjectKind kind, const std::string& ns, const std::string& name,
                             const std::string& spec_json) {
  const bool of_cluster = kind == ObjectKind::kClusterResourcePlacement;
  return Put(kind, ns, name,
             json::object{{"apiVersion", "placement.kubernetes-fleet.io/v1beta1"},
                          {"kind", of_cluster ? "ClusterResourcePlacement" : "ResourcePlacement"},
                          {"metadata", Metadata(ns, name)},
                          {"spec", *ParseJson(spec_json)}});
}

ObjectChange PriorityClassObject(const std::string& name, std::int32_t value) {
  return Put(ObjectKind::kWorkloadPriorityClass, "", name,
             json::object{{"apiVersion", "kueue.x-k8s.io/v1beta1"},
                          {"kind", "WorkloadPriorityClass"},
                          {"metadata", Metadata("", name)},
                          {"value", value}});
}

ObjectChange WithSpec(ObjectChange change, const std::string& field, const std::string& json_text) {
  json::value manifest = *ParseJson(change.manifest);
  manifest.at("spec").as_object()[field] = *ParseJson(json_text);
  change.manifest = WriteJson(manifest);
  return change;
}

ObjectChange WithAnnotation(ObjectChange change, const std::string& key, const std::string& value) {
  json::value manifest = *ParseJson(change.manifest);
  json::value& annotations = manifest.at("metadata").as_object()["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  annotations.as_object()[key] = value;
  change.manifest = WriteJson(manifest);
  return change;
}

ObjectChange Removal(ObjectKind kind, const std::string& ns, const std::string& name) {
  ObjectChange change;
  change.kind = kind;
  change.ns = ns;
  change.name = name;
  change.remove = true;
  return change;
}

}  // namespace muster::test
