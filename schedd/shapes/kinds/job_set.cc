// JobSet: one pod set per replicated job, of replicas x min(parallelism, completions) pods (rule
// A6).
//
// The checks are those of JobSet's webhooks. Among them are the lengths of generated names: a pod
// is called <set>-<replicated job>-<replica>-<index>-<suffix>, which must be a DNS label. Names of
// replicated jobs may have capitals; pod sets have them in lower case, as Kueue does.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/kinds/job_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kPodSuffixBytes = 6;  // "-" and five random characters
constexpr std::size_t kFailurePolicyRules = 20;
constexpr std::size_t kLabelBytes = 63;

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

/// What a replicated job makes, for the coordinator.
struct Extent {
  std::int32_t replicas = 1, completions = 1;
  bool indexed = true;
};
/// The replicated jobs read so far, by name.
using Known = std::map<std::string_view, Extent>;

// Checks that a policy's targets are replicated jobs of this set.
void CheckTargets(const Field& targets, const Known& known) {
  for (const auto& target : targets.Elements()) {
    const auto name = target.String();
    if (name && !known.contains(*name)) target.Fail("names no replicated job: " + Quoted(*name));
  }
}

// A replicated job may depend only on those before it, so that there is no cycle.
void CheckDependsOn(const Field& replicated, const Known& earlier) {
  const Field list = replicated["dependsOn"];
  for (const auto& item : list.Elements()) {
    item.OnlyMembers({"name", "status"});
    const Field name = item["name"];
    if (name.Require() && name.String() && !earlier.contains(*name.String())) {
      name.Fail("must name a replicated job that stands before this one: " +
                Quoted(*name.String()));
    }
    if (item["status"].Require()) (void)item["status"].OneOf({"Ready", "Complete"});
  }
}

// The longest name of a pod must be a DNS label; `pods` is the number of pods of one replica.
void CheckGeneratedNames(const Field& name, const ParsedJob& job, std::string_view replicated,
                         std::int32_t replicas, std::int64_t pods) {
  if (job.name.empty()) return;
  const std::size_t bytes = job.name.size() + 1 + replicated.size() + 1 +
                            std::to_string(replicas - 1).size() + 1 +
                            std::to_string(pods - 1).size() + kPodSuffixBytes;
  if (bytes > 63) {
    name.Fail("makes pod names of " + std::to_string(bytes) + " bytes; at most 63 are allowed");
  }
}

// Appends the pod set of one replicated job. `names` has those of the replicated jobs before it,
// and receives its own.
void ReadReplicatedJob(const Field& replicated, Known* names, ParsedJob* job) {
  replicated.OnlyMembers({"name", "groupName", "template", "replicas", "dependsOn"});
  const Field name = replicated["name"];
  std::string_view text;
  if (name.Require()) text = name.StringOr("");
  if (name.present() && !IsDns1035Label(Lower(text))) name.Fail(kDns1035LabelRule);
  CheckDependsOn(replicated, *names);
  const auto [own, added] = names->try_emplace(text);
  if (!added) name.Fail("must be unique: " + Quoted(text));
  const std::int32_t replicas = replicated["replicas"].CountOr(1, 1);
  own->second.replicas = replicas;
  const Field spec = replicated["template"]["spec"];
  if (!replicated["template"].Require() || !spec.Require() || spec.Object() == nullptr) return;
  CheckLabels(replicated["template"]["metadata"]["labels"]);
  CheckAnnotations(replicated["template"]["metadata"]["annotations"]);
  const JobSpecFacts facts = ReadJobSpec(spec, {.restart = RestartRule::kNeverOrOnFailureDefaulted,
                                                .indexed_by_default = true,
                                                .default_restart = "OnFailure"});
  own->second = {replicas, facts.completions, facts.indexed};
  spec["managedBy"].Refuse("belongs to the JobSet: its jobs are its own");
  const std::int64_t pods = SaturatingMul(replicas, facts.pods);
  CheckGeneratedNames(name, *job, text, replicas, facts.pods);
  if (pods > limits::kPodsPerJob) {
    replicated["replicas"].Fail("makes " + std::to_string(pods) + " pods; at most " +
                                std::to_string(limits::kPodsPerJob) + " are allowed");
    return;
  }
  job->pod_sets.push_back(ReadPodSet(spec["template"], Lower(text), static_cast<std::int32_t>(pods),
                                     {.restart = RestartRule::kNeverOrOnFailureDefaulted}));
}

void CheckSuccessPolicy(const Field& policy, const Known& names) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"operator", "targetReplicatedJobs"});
  if (policy["operator"].Require()) (void)policy["operator"].OneOf({"All", "Any"});
  CheckTargets(policy["targetReplicatedJobs"], names);
}

void CheckFailurePolicy(const Field& policy, const Known& names) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"maxRestarts", "restartStrategy", "rules"});
  (void)policy["maxRestarts"].Count(0);
  (void)policy["restartStrategy"].OneOf({"Recreate", "BlockingRecreate"});
  const Field rules = policy["rules"];
  const auto* list = rules.Array();
  if (list != nullptr && list->size() > kFailurePolicyRules)
    rules.Fail("must have at most 20 rules");
  std::set<std::string_view> rule_names;
  for (const auto& rule : rules.Elements()) {
    rule.OnlyMembers({"name", "action", "onJobFailureReasons", "targetReplicatedJobs"});
    const Field name = rule["name"];
    if (name.present() && !rule_names.insert(name.StringOr("")).second) name.Fail("must be unique");
    if (rule["action"].Require()) {
      (void)rule["action"].OneOf(
          {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"});
    }
    for (const auto& reason : rule["onJobFailureReasons"].Elements()) {
      (void)reason.OneOf({"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                          "MaxFailedIndexesExceeded", "PodFailurePolicy"});
    }
    CheckTargets(rule["targetReplicatedJobs"], names);
  }
}

// startupPolicy InOrder and dependsOn are two ways to order replicated jobs: only one may be used.
void CheckStartup(const Field& spec) {
  const Field policy = spec["startupPolicy"];
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"startupPolicyOrder"});
  const Field order = policy["startupPolicyOrder"];
  if (!order.Require() || order.OneOf({"AnyOrder", "InOrder"}) != "InOrder") return;
  for (const auto& replicated : spec["replicatedJobs"].Elements()) {
    replicated["dependsOn"].Refuse("must be absent when startupPolicyOrder is InOrder");
  }
}

// Returns the subdomain of the pods' names, which is by default the name of the set.
std::string ReadPodNetwork(const Field& network, const std::string& set) {
  network.OnlyMembers({"enableDNSHostnames", "subdomain", "publishNotReadyAddresses"});
  (void)network["enableDNSHostnames"].Bool();
  (void)network["publishNotReadyAddresses"].Bool();
  const auto subdomain = network["subdomain"].String();
  if (subdomain && !IsDns1035Label(*subdomain)) network["subdomain"].Fail(kDns1035LabelRule);
  return std::string(subdomain.value_or(set));
}

// The pod whose address all pods are told, in a label too. It must be one that the JobSet makes.
void CheckCoordinator(const Field& coordinator, const Known& known, const std::string& set,
                      const std::string& subdomain) {
  if (coordinator.Object() == nullptr) return;
  coordinator.OnlyMembers({"replicatedJob", "jobIndex", "podIndex"});
  const Field target = coordinator["replicatedJob"];
  const Field job_index = coordinator["jobIndex"], pod_index = coordinator["podIndex"];
  const std::int32_t job = job_index.CountOr(0, 0), pod = pod_index.CountOr(0, 0);
  if (!target.Require() || !target.String()) return;
  const std::string name(*target.String());
  const auto found = known.find(name);
  if (found == known.end()) return target.Fail("names no replicated job: " + Quoted(name));
  const Extent& extent = found->second;
  if (!extent.indexed) target.Fail("must have completionMode Indexed: its pods have no numbers");
  if (job >= extent.replicas) job_index.Fail("must be less than the replicas of " + Quoted(name));
  if (pod >= extent.completions)
    pod_index.Fail("must be less than the completions of " + Quoted(name));
  const std::size_t bytes = set.size() + 1 + name.size() + 1 + std::to_string(job).size() + 1 +
                            std::to_string(pod).size() + 1 + subdomain.size();
  if (!set.empty() && bytes > kLabelBytes) {
    coordinator.Fail("makes a label of " + std::to_string(bytes) +
                     " bytes, the address of that pod; at most 63 are allowed");
  }
}

void ParseJobSet(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers({"replicatedJobs", "network", "successPolicy", "failurePolicy", "startupPolicy",
                    "suspend", "coordinator", "managedBy", "ttlSecondsAfterFinished"});
  const Field list = spec["replicatedJobs"];
  Known names;
  if (list.Require()) {
    for (const auto& replicated : list.Elements()) ReadReplicatedJob(replicated, &names, job);
    if (names.empty()) list.Fail("must have at least one replicated job");
  }
  const std::string subdomain = ReadPodNetwork(spec["network"], job->name);
  CheckSuccessPolicy(spec["successPolicy"], names);
  CheckFailurePolicy(spec["failurePolicy"], names);
  CheckStartup(spec);
  CheckCoordinator(spec["coordinator"], names, job->name, subdomain);
  CheckManagedBy(spec["managedBy"], "jobset.sigs.k8s.io/jobset-controller");
  (void)spec["suspend"].Bool();
  job->ttl_after_finished_s = spec["ttlSecondsAfterFinished"].Int(0, INT32_MAX).value_or(-1);
  CheckPodSets(list, job->pod_sets);
}

void VisitJobSetTemplates(json::object& manifest, const TemplateVisitor& visit) {
  for (auto& replicated : manifest["spec"].at("replicatedJobs").as_array()) {
    auto& object = replicated.as_object();
    visit(Lower(std::string_view(object.at("name").as_string())),
          MakeObjectAt(MakeObjectAt(MakeObjectAt(object, "template"), "spec"), "template"));
  }
}

// Writes out the defaults of JobSet's webhook, which not every member has. Only a Job of one pod
// may do without completions.
void FillInDefaults(json::object& job_spec) {
  const auto absent = [](json::object& object, const char* key) {
    const json::value* value = object.if_contains(key);
    return value == nullptr || value->is_null();
  };
  if (absent(job_spec, "completionMode")) {
    job_spec["completionMode"] = "Indexed";
    if (absent(job_spec, "completions")) job_spec["completions"] = 1;
  }
  json::object& pod = MakeObjectAt(MakeObjectAt(job_spec, "template"), "spec");
  if (absent(pod, "restartPolicy")) pod["restartPolicy"] = "OnFailure";
}

void PrepareJobSet(json::object& manifest, const RenderContext& context,
                   std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  spec.erase("ttlSecondsAfterFinished");
  spec.erase("managedBy");
  spec["suspend"] = context.suspended;
  for (auto& replicated : spec["replicatedJobs"].as_array()) {
    json::object& job_spec = MakeObjectAt(MakeObjectAt(replicated.as_object(), "template"), "spec");
    FillInDefaults(job_spec);
    CleanJobSpec(job_spec);
  }
}

}  // namespace

const ShapeOps kJobSetOps = {ShapeKind::kJobSet, ParseJobSet, VisitJobSetTemplates, PrepareJobSet};

}  // namespace muster::shapes
