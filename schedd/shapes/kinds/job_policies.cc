// The policies of a batch/v1 Job: podFailurePolicy, successPolicy and the back-off per index. They
// are checked by the rules of the Kubernetes API and carried out by the member, so only what is
// wrong is read here.
#include <algorithm>
#include <set>

#include "schedd/base/names.h"
#include "schedd/shapes/kinds/job_spec.h"
#include "schedd/text/indexes.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kPolicyRules = 20;
constexpr std::size_t kExitCodes = 255;

// The container that a rule names must be in the Job's template.
void CheckContainerExists(const Field& spec, const Field& name) {
  const auto wanted = name.String();
  if (!wanted) return;
  const Field pod = spec["template"]["spec"];
  for (const auto list : {"containers", "initContainers"}) {
    for (const auto& container : pod[list].Elements()) {
      if (container["name"].StringOr("") == *wanted) return;
    }
  }
  name.Fail("names no container of the template: " + Quoted(*wanted));
}

// onExitCodes of a rule. 0 cannot be listed with In: a container that ends with it has not failed.
void CheckExitCodes(const Field& spec, const Field& codes) {
  codes.OnlyMembers({"containerName", "operator", "values"});
  CheckContainerExists(spec, codes["containerName"]);
  const Field op = codes["operator"];
  std::string_view chosen;
  if (op.Require()) chosen = op.OneOf({"In", "NotIn"}).value_or("");
  const Field values = codes["values"];
  if (!values.Require()) return;
  std::set<std::int64_t> seen;
  std::int64_t last = -1;
  for (const auto& value : values.Elements()) {
    const auto code = value.Int(0, INT32_MAX);
    if (!code) continue;
    if (*code == 0 && chosen == "In")
      value.Fail("must not be 0: a pod that ends with 0 has not failed");
    if (!seen.insert(*code).second) value.Fail("must be unique");
    if (*code < last) value.Fail("must be in ascending order");
    last = std::max(last, *code);
  }
  const auto* list = values.Array();
  if (list != nullptr && list->empty()) values.Fail("must have at least one exit code");
  if (list != nullptr && list->size() > kExitCodes) values.Fail("must have at most 255 exit codes");
}

void CheckPodConditions(const Field& patterns) {
  for (const auto& pattern : patterns.Elements()) {
    pattern.OnlyMembers({"type", "status"});
    if (pattern["type"].Require() && !IsQualifiedName(pattern["type"].StringOr("x"))) {
      pattern["type"].Fail(kQualifiedNameRule);
    }
    (void)pattern["status"].OneOf({"True", "False", "Unknown"});
  }
}

void CheckPodFailurePolicy(const Field& spec, const char* default_restart) {
  const Field policy = spec["podFailurePolicy"];
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"rules"});
  const Field restart = spec["template"]["spec"]["restartPolicy"];
  if (restart.StringOr(default_restart) != "Never")
    restart.Fail("must be Never when podFailurePolicy is set");
  if (spec["podReplacementPolicy"].StringOr("Failed") != "Failed") {
    spec["podReplacementPolicy"].Fail("must be Failed when podFailurePolicy is set");
  }
  const Field rules = policy["rules"];
  if (!rules.Require()) return;
  const auto* list = rules.Array();
  if (list != nullptr && list->size() > kPolicyRules) rules.Fail("must have at most 20 rules");
  for (const auto& rule : rules.Elements()) {
    rule.OnlyMembers({"action", "onExitCodes", "onPodConditions"});
    const Field action = rule["action"];
    if (action.Require() &&
        action.OneOf({"FailJob", "FailIndex", "Ignore", "Count"}) == "FailIndex" &&
        !spec["backoffLimitPerIndex"].present()) {
      action.Fail("FailIndex needs backoffLimitPerIndex");
    }
    const auto* conditions = rule["onPodConditions"].Array();
    const bool by_condition = conditions != nullptr && !conditions->empty();
    if (rule["onExitCodes"].present() == by_condition) {
      rule.Fail("must have exactly one of onExitCodes and onPodConditions");
    }
    if (rule["onExitCodes"].present()) CheckExitCodes(spec, rule["onExitCodes"]);
    CheckPodConditions(rule["onPodConditions"]);
  }
}

// A rule names indexes, a number of them, or both; the number is at most that of the indexes named.
void CheckSuccessPolicy(const Field& spec, bool indexed, std::int64_t completions) {
  const Field policy = spec["successPolicy"];
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"rules"});
  if (!indexed) policy.Fail("needs completionMode Indexed");
  const Field rules = policy["rules"];
  if (!rules.Require()) return;
  const auto* list = rules.Array();
  if (list != nullptr && list->empty()) rules.Fail("must have at least one rule");
  if (list != nullptr && list->size() > kPolicyRules) rules.Fail("must have at most 20 rules");
  for (const auto& rule : rules.Elements()) {
    rule.OnlyMembers({"succeededIndexes", "succeededCount"});
    const Field indexes = rule["succeededIndexes"];
    const Field count = rule["succeededCount"];
    if (!indexes.present() && !count.present()) {
      rule.Fail("must have succeededIndexes or succeededCount");
    }
    std::int64_t most = completions;
    if (const auto text = indexes.String()) {
      const auto named = CountIndexes(*text, completions);
      if (!named) indexes.Fail("must be ascending indexes below completions, such as \"0,2-4\"");
      most = named.value_or(most);
    }
    (void)count.Int(1, most);
  }
}

// backoffLimitPerIndex and maxFailedIndexes, which needs the former.
void CheckPerIndex(const Field& spec, const char* default_restart, bool indexed,
                   std::int64_t completions) {
  const Field limit = spec["backoffLimitPerIndex"];
  const Field failed = spec["maxFailedIndexes"];
  (void)limit.Count(0);
  (void)failed.Int(0, completions);
  if (limit.present()) {
    if (!indexed) limit.Fail("needs completionMode Indexed");
    const Field restart = spec["template"]["spec"]["restartPolicy"];
    if (restart.StringOr(default_restart) != "Never")
      restart.Fail("must be Never when backoffLimitPerIndex is set");
  } else if (failed.present()) {
    failed.Fail("needs backoffLimitPerIndex");
  }
}

}  // namespace

void CheckJobPolicies(const Field& spec, const JobSpecRules& rules, bool indexed,
                      std::optional<std::int32_t> completions) {
  (void)spec["podReplacementPolicy"].OneOf({"TerminatingOrFailed", "Failed"});
  const std::int64_t wanted = completions.value_or(1);
  CheckPodFailurePolicy(spec, rules.default_restart);
  CheckSuccessPolicy(spec, indexed, wanted);
  CheckPerIndex(spec, rules.default_restart, indexed, wanted);
}

}  // namespace muster::shapes
