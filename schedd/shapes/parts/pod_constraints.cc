// Reads scheduling constraints as the Kubernetes API validates them: operators and how many values
// each takes, effects, and keys and values of labels. Node affinity keeps its terms as they are:
// terms are alternatives, the expressions of one term must all match.
#include "schedd/shapes/parts/pod_constraints.h"

#include <algorithm>

#include "schedd/base/names.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

// An integer of at most 18 digits, which fits into 64 bits.
bool IsInteger(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The number of values follows from the operator: In and NotIn one or more, Exists and DoesNotExist
// none, Gt and Lt one integer.
Requirement ReadRequirement(const Field& expression) {
  expression.OnlyMembers({"key", "operator", "values"});
  Requirement requirement;
  const Field key = expression["key"];
  if (key.Require()) requirement.key = key.StringOr("");
  if (!requirement.key.empty() && !IsQualifiedName(requirement.key)) key.Fail(kQualifiedNameRule);
  const Field op = expression["operator"];
  if (op.Require()) {
    requirement.op =
        op.OneOf({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}).value_or("Exists");
  }
  const Field values = expression["values"];
  for (const auto& value : values.Elements()) requirement.values.emplace_back(value.StringOr(""));
  if ((requirement.op == "In" || requirement.op == "NotIn") && requirement.values.empty()) {
    values.Fail("is required when operator is " + requirement.op);
  }
  if ((requirement.op == "Exists" || requirement.op == "DoesNotExist") &&
      !requirement.values.empty()) {
    if (op.present()) values.Fail("must be empty when operator is " + requirement.op);
  }
  if (requirement.op == "Gt" || requirement.op == "Lt") {
    if (requirement.values.size() != 1 || !IsInteger(requirement.values[0])) {
      values.Fail("must be one integer when operator is " + requirement.op);
    }
  }
  return requirement;
}

// matchFields is left out: it names a node of a member cluster, which only that cluster can judge.
NodeSelectorTerm ReadTerm(const Field& term) {
  NodeSelectorTerm read;
  for (const auto& expression : term["matchExpressions"].Elements()) {
    read.match_expressions.push_back(ReadRequirement(expression));
  }
  return read;
}

// Required affinity is a list of alternative terms; preferred affinity has a weight for each term.
void ReadAffinity(const Field& affinity, SchedulingConstraints* out) {
  const Field node = affinity["nodeAffinity"];
  for (const auto& item : node["preferredDuringSchedulingIgnoredDuringExecution"].Elements()) {
    const Field weight = item["weight"];
    if (!weight.Require()) continue;
    const auto value = weight.Int(1, 100);
    if (!item["preference"].Require()) continue;
    out->preferred_terms.push_back(
        {static_cast<std::int32_t>(value.value_or(1)), ReadTerm(item["preference"])});
  }
  const Field required = node["requiredDuringSchedulingIgnoredDuringExecution"];
  if (required.Object() == nullptr) return;
  out->has_required_affinity = true;
  const Field terms = required["nodeSelectorTerms"];
  if (!terms.Require()) return;
  for (const auto& term : terms.Elements()) out->required_terms.push_back(ReadTerm(term));
  if (out->required_terms.empty()) terms.Fail("must name at least one term");
}

// An empty key tolerates every taint and therefore needs operator Exists; tolerationSeconds has a
// meaning only for NoExecute.
Toleration ReadToleration(const Field& field) {
  field.OnlyMembers({"key", "operator", "value", "effect", "tolerationSeconds"});
  Toleration toleration;
  toleration.key = field["key"].StringOr("");
  toleration.value = field["value"].StringOr("");
  toleration.op = field["operator"].OneOf({"", "Equal", "Exists"}).value_or("Equal");
  if (toleration.op.empty()) toleration.op = "Equal";
  toleration.effect =
      field["effect"].OneOf({"", "NoSchedule", "PreferNoSchedule", "NoExecute"}).value_or("");
  if (!toleration.key.empty() && !IsQualifiedName(toleration.key))
    field["key"].Fail(kQualifiedNameRule);
  if (toleration.key.empty() && toleration.op != "Exists") {
    field["operator"].Fail("must be Exists when key is empty");
  }
  if (toleration.op == "Exists" && !toleration.value.empty())
    field["value"].Fail("must be empty when operator is Exists");
  if (toleration.op == "Equal" && !IsLabelValue(toleration.value))
    field["value"].Fail(kLabelValueRule);
  toleration.seconds = field["tolerationSeconds"].Int();
  if (toleration.seconds && toleration.effect != "NoExecute") {
    field["effect"].Fail("must be NoExecute when tolerationSeconds is set");
  }
  return toleration;
}

}  // namespace

LabelMap ReadLabelMap(const Field& labels) {
  LabelMap map;
  CheckLabels(labels);
  for (const auto& [key, field] : labels.Members())
    map.emplace(std::string(key), std::string(field.StringOr("")));
  return map;
}

std::vector<Toleration> ReadTolerations(const Field& tolerations) {
  std::vector<Toleration> list;
  for (const auto& field : tolerations.Elements()) list.push_back(ReadToleration(field));
  return list;
}

// A taint is identified by key and effect.
std::vector<Taint> ReadTaints(const Field& taints) {
  std::vector<Taint> list;
  for (const auto& field : taints.Elements()) {
    field.OnlyMembers({"key", "value", "effect", "timeAdded"});
    Taint taint;
    if (field["key"].Require()) taint.key = field["key"].StringOr("");
    if (!taint.key.empty() && !IsQualifiedName(taint.key)) field["key"].Fail(kQualifiedNameRule);
    taint.value = field["value"].StringOr("");
    if (!IsLabelValue(taint.value)) field["value"].Fail(kLabelValueRule);
    if (field["effect"].Require()) {
      taint.effect =
          field["effect"].OneOf({"NoSchedule", "PreferNoSchedule", "NoExecute"}).value_or("");
    }
    const auto same = [&](const Taint& other) {
      return other.key == taint.key && other.effect == taint.effect;
    };
    if (std::any_of(list.begin(), list.end(), same))
      field.Fail("key and effect must be unique among the taints");
    list.push_back(std::move(taint));
  }
  return list;
}

// Null instead of an empty value: most pods have no constraints, and their records stay small.
std::shared_ptr<const SchedulingConstraints> ReadConstraints(const Field& pod_spec) {
  SchedulingConstraints constraints;
  constraints.node_selector = ReadLabelMap(pod_spec["nodeSelector"]);
  constraints.tolerations = ReadTolerations(pod_spec["tolerations"]);
  ReadAffinity(pod_spec["affinity"], &constraints);
  if (constraints == SchedulingConstraints{}) return nullptr;
  return std::make_shared<const SchedulingConstraints>(std::move(constraints));
}

}  // namespace muster::shapes
