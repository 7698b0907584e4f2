// A bare Workload of Kueue: its pod sets run as they are, each as an indexed Job of `count` pods. A
// Workload with one pod set is dispatched as that Job, one with several as a JobSet of such Jobs.
//
// The early form of the kind is accepted too. It has spec.admission.clusterQueue, which is checked
// against the queue, and sometimes a pod spec in the place of a pod template ("flat" below).
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/kinds/job_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/shapes/parts/topology_request.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kGeneratedBytes = 63;

bool IsFlat(const Field& pod_template) {
  return !pod_template["spec"].present() && pod_template["containers"].present();
}

// The fields of a pod set beside its template that admission looks at. topologyRequest is what
// Kueue makes of the template's annotations; where it is given it replaces what they ask for.
void ReadAdmissionFields(const Field& item, PodSet* pod_set) {
  pod_set->min_count = item["minCount"].Count(0);
  if (pod_set->min_count && *pod_set->min_count > pod_set->count)
    item["minCount"].Fail("must be at most count, " + std::to_string(pod_set->count));
  if (auto request = ReadTopologyRequest(item["topologyRequest"], pod_set->count))
    pod_set->topology = std::move(request);
}

void CheckMinCounts(const Field& list, const PodSets& pod_sets) {
  const auto given = std::count_if(pod_sets.begin(), pod_sets.end(), [](const PodSet& pod_set) {
    return pod_set.min_count.has_value();
  });
  if (given > 1) list.Fail("at most one pod set may have minCount");
}

void ReadPreemptionGates(const Field& gates, ParsedJob* job) {
  for (const auto& item : gates.Elements()) {
    item.OnlyMembers({"name"});
    const Field name = item["name"];
    if (!name.Require()) continue;
    const std::string text(name.StringOr(""));
    if (!IsQualifiedName(text)) name.Fail(kQualifiedNameRule);
    const auto& known = job->preemption_gates;
    if (std::find(known.begin(), known.end(), text) != known.end()) name.Fail("must be unique");
    job->preemption_gates.push_back(text);
  }
  if (job->preemption_gates.size() > limits::kPreemptionGates)
    gates.Fail("must have at most " + std::to_string(limits::kPreemptionGates) + " entries");
}

void ReadPodSets(const Field& spec, ParsedJob* job) {
  const Field list = spec["podSets"];
  if (!list.Require()) return;
  std::set<std::string_view> names;
  for (const auto& item : list.Elements()) {
    item.OnlyMembers({"name", "count", "minCount", "template", "topologyRequest"});
    const Field name = item["name"];
    const std::string_view text = name.StringOr(name.present() ? "" : "main");
    if (!IsDnsLabel(text)) name.Fail(kDnsLabelRule);
    if (!names.insert(text).second) name.Fail("must be unique: " + Quoted(text));
    const Field count_field = item["count"];
    if (!count_field.present()) count_field.Fail("is required");
    const std::int32_t count = count_field.CountOr(1, 1);
    const std::size_t bytes =
        job->name.size() + text.size() + std::to_string(count - 1).size() + 10;
    if (!job->name.empty() && bytes > kGeneratedBytes) {
      name.Fail("makes pod names of " + std::to_string(bytes) + " bytes; at most 63 are allowed");
    }
    PodRules rules = {.restart = RestartRule::kNeverOrOnFailureDefaulted};
    rules.may_be_flat = IsFlat(item["template"]);
    job->pod_sets.push_back(ReadPodSet(item["template"], std::string(text), count, rules));
    ReadAdmissionFields(item, &job->pod_sets.back());
  }
  CheckMinCounts(list, job->pod_sets);
  if (names.empty()) list.Fail("must have at least one pod set");
  CheckPodSets(list, job->pod_sets);
}

// Old and new fields for the priority class. Classes of Kubernetes itself are refused, and so is a
// number without a class.
void ReadPriority(const Field& spec, ParsedJob* job) {
  constexpr std::string_view kForeign =
      "names a PriorityClass of Kubernetes; name a WorkloadPriorityClass";
  const Field source = spec["priorityClassSource"];
  const auto text = source.String();
  if (text && !text->empty() && *text != "kueue.x-k8s.io/workloadpriorityclass")
    source.Fail(std::string(kForeign));
  const Field reference = spec["priorityClassRef"];
  reference.OnlyMembers({"group", "kind", "name"});
  if (reference["kind"].StringOr("WorkloadPriorityClass") != "WorkloadPriorityClass")
    reference["kind"].Fail(std::string(kForeign));
  std::string_view name = spec["priorityClassName"].StringOr("");
  if (name.empty()) name = reference["name"].StringOr("");
  if (!name.empty()) job->priority_class = name;
  const Field number = spec["priority"];
  if (number.Int().value_or(0) != 0 && job->priority_class.empty()) {
    number.Fail("a number without a class is not supported: name a WorkloadPriorityClass");
  }
}

void ReadQueueName(const Field& spec, ParsedJob* job) {
  const Field queue = spec["queueName"];
  if (const auto text = queue.String(); text && !text->empty()) {
    if (!IsDnsSubdomain(*text)) queue.Fail(std::string("a queue's name ") + kDnsSubdomainRule);
    job->queue = *text;
  }
  const Field admission = spec["admission"];
  if (admission.Object() == nullptr) return;
  // Flavors in an old admission are not binding: admission is decided anew.
  admission.OnlyMembers({"clusterQueue", "podSetFlavors", "podSetAssignments"});
  const Field cluster_queue = admission["clusterQueue"];
  if (cluster_queue.Require()) {
    const std::string_view text = cluster_queue.StringOr("");
    if (!IsDnsSubdomain(text)) cluster_queue.Fail(kDnsSubdomainRule);
    job->expected_cluster_queue = std::string(text);
  }
}

void ParseWorkload(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers({"queueName", "podSets", "priority", "priorityClassName", "priorityClassSource",
                    "priorityClassRef", "active", "maximumExecutionTimeSeconds", "admission",
                    "preemptionGates"});
  ReadPreemptionGates(spec["preemptionGates"], job);
  ReadQueueName(spec, job);
  ReadPriority(spec, job);
  ReadPodSets(spec, job);
  job->hold = !spec["active"].BoolOr(true);
  const auto seconds = spec["maximumExecutionTimeSeconds"].Int(1, INT32_MAX);
  if (!seconds) return;
  job->max_execution_s = *seconds;
  if (job->time_limit_s == 0 || *seconds < job->time_limit_s) job->time_limit_s = *seconds;
}

// The pod template of a pod set. A flat one is first moved below `spec`.
json::object& TemplateOf(json::object& pod_set) {
  auto& pod_template = MakeObjectAt(pod_set, "template");
  if (!pod_template.contains("spec") && pod_template.contains("containers")) {
    json::object spec = std::move(pod_template);
    pod_template = json::object{{"spec", std::move(spec)}};
  }
  return pod_template;
}

std::string NameOf(json::object& pod_set) {
  const json::string* name = FindText(pod_set, "name");
  return name == nullptr ? "main" : std::string(*name);
}

void VisitWorkloadTemplates(json::object& manifest, const TemplateVisitor& visit) {
  for (auto& item : MakeObjectAt(manifest, "spec")["podSets"].as_array()) {
    visit(NameOf(item.as_object()), TemplateOf(item.as_object()));
  }
}

// The spec of the indexed Job that a pod set becomes, with the number of pods that was admitted.
json::object JobSpecOf(json::object& pod_set, const JobRecord& job) {
  auto& pod_template = TemplateOf(pod_set);
  auto& pod_spec = MakeObjectAt(pod_template, "spec");
  if (!pod_spec.contains("restartPolicy")) pod_spec["restartPolicy"] = "Never";
  const std::int32_t declared = pod_set.at("count").to_number<std::int32_t>();
  const std::int32_t pods = AdmittedCount(job, NameOf(pod_set), declared);
  json::object spec = {{"completionMode", "Indexed"}, {"parallelism", pods}, {"completions", pods}};
  spec["template"] = std::move(pod_template);
  CleanJobSpec(spec);
  return spec;
}

// Makes the manifest one of this kind.
void NameAs(ShapeKind kind, json::object& manifest) {
  const ShapeInfo& info = ShapeInfoOf(kind);
  manifest["apiVersion"] = info.api_version;
  manifest["kind"] = info.name;
}

// A Workload becomes an indexed Job, or with several pod sets a JobSet of one indexed Job each.
void PrepareWorkload(json::object& manifest, const RenderContext& context,
                     std::vector<RenderedObject>*) {
  json::array pod_sets = std::move(MakeObjectAt(manifest, "spec")["podSets"].as_array());
  if (pod_sets.size() == 1) {
    json::object spec = JobSpecOf(pod_sets[0].as_object(), context.job);
    spec["suspend"] = context.suspended;
    NameAs(ShapeKind::kJob, manifest);
    manifest["spec"] = std::move(spec);
    return;
  }
  json::array jobs;
  for (auto& item : pod_sets) {
    auto& pod_set = item.as_object();
    const std::string name = NameOf(pod_set);
    jobs.push_back(json::object{{"name", name},
                                {"replicas", 1},
                                {"template", {{"spec", JobSpecOf(pod_set, context.job)}}}});
  }
  NameAs(ShapeKind::kJobSet, manifest);
  manifest["spec"] =
      json::object{{"suspend", context.suspended}, {"replicatedJobs", std::move(jobs)}};
}

}  // namespace

std::string OnlyPodSetOf(const json::value& workload) {
  json::value copy = workload;
  json::array& pod_sets = copy.at("spec").at("podSets").as_array();
  return pod_sets.size() == 1 ? NameOf(pod_sets[0].as_object()) : "";
}

const ShapeOps kWorkloadOps = {ShapeKind::kWorkload, ParseWorkload, VisitWorkloadTemplates,
                               PrepareWorkload};

}  // namespace muster::shapes
