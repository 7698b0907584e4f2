// JobSet: one pod set per replicated job, of replicas x min(parallelism, completions) pods (rule
// A6).
//
// The checks are those of JobSet's webhooks. Among them are the lengths of generated names: a pod
// is called <set>-<replicated job>-<replica>-<index>-<suffix>, which must be a DNS label. Names of
// replicated jobs may have capitals; pod sets have them in lower case, as Kueue does.
#include <algorithm>
#include <cctype>
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

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

using NameSet = std::set<std::string_view>;

// Checks that a policy's targets are replicated jobs of this set.
void CheckTargets(const Field& targets, const NameSet& known) {
  for (const auto& target : targets.Elements()) {
    const auto name = target.String();
    if (name && !known.contains(*name)) target.Fail("names no replicated job: " + Quoted(*name));
  }
}

// A replicated job may depend only on those before it, so that there is no cycle.
void CheckDependsOn(const Field& replicated, const NameSet& earlier) {
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
void ReadReplicatedJob(const Field& replicated, NameSet* names, ParsedJob* job) {
  replicated.OnlyMembers({"name", "groupName", "template", "replicas", "dependsOn"});
  const Field name = replicated["name"];
  std::string_view text;
  if (name.Require()) text = name.StringOr("");
  if (name.present() && !IsDns1035Label(Lower(text))) name.Fail(kDns1035LabelRule);
  CheckDependsOn(replicated, *names);
  if (!names->insert(text).second) name.Fail("must be unique: " + Quoted(text));
  const std::int32_t replicas = replicated["replicas"].CountOr(1, 1);
  const Field spec = replicated["template"]["spec"];
  if (!replicated["template"].Require() || !spec.Require() || spec.Object() == nullptr) return;
  CheckLabels(replicated["template"]["metadata"]["labels"]);
  CheckAnnotations(replicated["template"]["metadata"]["annotations"]);
  const JobSpecFacts facts = ReadJobSpec(
      spec, {.restart = RestartRule::kNeverOrOnFailureDefaulted, .indexed_by_default = true});
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

void CheckSuccessPolicy(const Field& policy, const NameSet& names) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"operator", "targetReplicatedJobs"});
  if (policy["operator"].Require()) (void)policy["operator"].OneOf({"All", "Any"});
  CheckTargets(policy["targetReplicatedJobs"], names);
}

void CheckFailurePolicy(const Field& policy, const NameSet& names) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"maxRestarts", "restartStrategy", "rules"});
  (void)policy["maxRestarts"].Count(0);
  (void)policy["restartStrategy"].OneOf({"Recreate", "BlockingRecreate"});
  const Field rules = policy["rules"];
  const auto* list = rules.Array();
  if (list != nullptr && list->size() > kFailurePolicyRules)
    rules.Fail("must have at most 20 rules");
  NameSet rule_names;
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

void CheckPodNetwork(const Field& network) {
  network.OnlyMembers({"enableDNSHostnames", "subdomain", "publishNotReadyAddresses"});
  (void)network["enableDNSHostnames"].Bool();
  (void)network["publishNotReadyAddresses"].Bool();
  const auto subdomain = network["subdomain"].String();
  if (subdomain && !IsDns1035Label(*subdomain)) network["subdomain"].Fail(kDns1035LabelRule);
}

// The pod whose address all pods are told.
void CheckCoordinator(const Field& coordinator, const NameSet& names) {
  if (coordinator.Object() == nullptr) return;
  coordinator.OnlyMembers({"replicatedJob", "jobIndex", "podIndex"});
  const Field target = coordinator["replicatedJob"];
  if (target.Require() && target.String() && !names.contains(*target.String())) {
    target.Fail("names no replicated job: " + Quoted(*target.String()));
  }
  (void)coordinator["jobIndex"].Count(0);
  (void)coordinator["podIndex"].Count(0);
}

void ParseJobSet(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers({"replicatedJobs", "network", "successPolicy", "failurePolicy", "startupPolicy",
                    "suspend", "coordinator", "managedBy", "ttlSecondsAfterFinished"});
  const Field list = spec["replicatedJobs"];
  NameSet names;
  if (list.Require()) {
    for (const auto& replicated : list.Elements()) ReadReplicatedJob(replicated, &names, job);
    if (names.empty()) list.Fail("must have at least one replicated job");
  }
  CheckPodNetwork(spec["network"]);
  CheckSuccessPolicy(spec["successPolicy"], names);
  CheckFailurePolicy(spec["failurePolicy"], names);
  CheckStartup(spec);
  CheckCoordinator(spec["coordinator"], names);
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

void PrepareJobSet(json::object& manifest, const RenderContext& context,
                   std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  spec.erase("ttlSecondsAfterFinished");
  spec.erase("managedBy");
  spec["suspend"] = context.suspended;
  for (auto& replicated : spec["replicatedJobs"].as_array()) {
    CleanJobSpec(MakeObjectAt(MakeObjectAt(replicated.as_object(), "template"), "spec"));
  }
}

}  // namespace

const ShapeOps kJobSetOps = {ShapeKind::kJobSet, ParseJobSet, VisitJobSetTemplates, PrepareJobSet};

}  // namespace muster::shapes
