// Topology, AdmissionCheck, LimitRange and RuntimeClass: their readers and their entries in the
// table of kinds. The first two are part of what admission decides by; the other two change how
// much a job asks for, and take effect on the jobs that wait.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/model/topology.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/pod_amounts.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::int64_t kRetryDelayMinutes = 15;  // Kueue's default

ResourceList ReadAmountMap(const Field& amounts) {
  ResourceList list;
  for (const auto& [resource, field] : amounts.Members()) {
    if (!IsQualifiedName(resource))
      field.Fail(std::string("a resource's name ") + kQualifiedNameRule);
    if (!field.present()) field.Fail("must be a quantity, not null");
    const auto amount = field.Quantity(resource);
    if (!amount) continue;
    if (!IsByteResource(resource) && !IsWholeAmount(resource, *QuantityText(*field.value())))
      field.Fail(kWholeAmountRule);
    SetAmount(&list, resource, *amount);
  }
  return list;
}

// maxLimitRequestRatio. A ratio is written as a quantity; it is read like an amount of CPU, to a
// thousandth.
std::vector<std::pair<std::string, double>> ReadRatios(const Field& ratios) {
  std::vector<std::pair<std::string, double>> list;
  for (const auto& [resource, field] : ratios.Members()) {
    const auto milli = field.Quantity("cpu");
    if (!milli) continue;
    if (*milli < 1000) field.Fail("must be at least 1");
    list.emplace_back(resource, static_cast<double>(*milli) / 1000);
  }
  return list;
}

// Checks min <= defaultRequest <= default <= max, for each resource that both sides of a comparison
// have.
void CheckRange(const Field& item, const LimitRange::Item& range) {
  const auto in_order = [&](const ResourceList& low, const ResourceList& high, const char* field,
                            const char* message) {
    for (const auto& [resource, amount] : low) {
      const auto same = [&](const ResourceAmount& other) { return other.resource == resource; };
      const auto found = std::find_if(high.begin(), high.end(), same);
      if (found != high.end() && amount > found->amount) item[field].Named(resource).Fail(message);
    }
  };
  in_order(range.min, range.max, "min", "must be at most max");
  in_order(range.min, range.default_request, "min", "must be at most defaultRequest");
  in_order(range.min, range.default_limit, "min", "must be at most default");
  in_order(range.default_request, range.max, "defaultRequest", "must be at most max");
  in_order(range.default_request, range.default_limit, "defaultRequest", "must be at most default");
  in_order(range.default_limit, range.max, "default", "must be at most max");
}

LimitRange::Item ReadLimitItem(const Field& item, bool of_pod) {
  item.OnlyMembers({"type", "max", "min", "default", "defaultRequest", "maxLimitRequestRatio"});
  LimitRange::Item range;
  range.of_pod = of_pod;
  range.min = ReadAmountMap(item["min"]);
  range.max = ReadAmountMap(item["max"]);
  range.default_limit = ReadAmountMap(item["default"]);
  range.default_request = ReadAmountMap(item["defaultRequest"]);
  range.max_limit_request_ratio = ReadRatios(item["maxLimitRequestRatio"]);
  if (of_pod) {
    item["default"].Refuse("may not be specified when type is Pod");
    item["defaultRequest"].Refuse("may not be specified when type is Pod");
  }
  CheckRange(item, range);
  return range;
}

// True if the check's controller has set the condition Active; admission looks at nothing else of
// the status.
bool IsActive(const Field& status) {
  for (const auto& condition : status["conditions"].Elements()) {
    if (condition["type"].StringOr("") == "Active")
      return condition["status"].StringOr("") == "True";
  }
  return false;
}

}  // namespace

Topology ReadTopology(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  Topology topology;
  topology.name = NameOf(root);
  const Field spec = root["spec"];
  if (!spec.Require()) return topology;
  spec.OnlyMembers({"levels"});
  const Field levels = spec["levels"];
  if (!levels.Require()) return topology;
  const auto elements = levels.Elements();
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i].OnlyMembers({"nodeLabel"});
    const Field label = elements[i]["nodeLabel"];
    if (!label.Require()) continue;
    const std::string_view key = label.StringOr("");
    if (!IsQualifiedName(key)) label.Fail(kQualifiedNameRule);
    if (!seen.insert(key).second) label.Fail("must be unique: " + Quoted(key));
    if (key == kHostnameLabel && i + 1 < elements.size())
      label.Fail("kubernetes.io/hostname may only be the lowest level");
    topology.levels.emplace_back(key);
  }
  if (elements.empty()) levels.Fail("must name at least one level");
  if (elements.size() > limits::kTopologyLevels) {
    levels.Fail("must name at most " + std::to_string(limits::kTopologyLevels) + " levels");
  }
  return topology;
}

AdmissionCheck ReadAdmissionCheck(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  AdmissionCheck check;
  check.name = NameOf(root);
  check.active = IsActive(root["status"]);
  const Field spec = root["spec"];
  if (!spec.Require()) return check;
  spec.OnlyMembers({"controllerName", "parameters", "retryDelayMinutes"});
  const Field controller = spec["controllerName"];
  if (controller.Require()) {
    check.controller = controller.StringOr("");
    if (check.controller.empty()) controller.Fail("must not be empty");
  }
  check.retry_delay_s =
      spec["retryDelayMinutes"].Int(0, INT32_MAX).value_or(kRetryDelayMinutes) * 60;
  const Field parameters = spec["parameters"];
  parameters.OnlyMembers({"apiGroup", "kind", "name"});
  if (parameters.Object() != nullptr) {
    (void)parameters["kind"].Require();
    (void)parameters["name"].Require();
  }
  return check;
}

LimitRange ReadLimitRange(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec"});
  LimitRange range;
  range.name = NameOf(root);
  range.ns = root["metadata"]["namespace"].StringOr("");
  const Field spec = root["spec"];
  if (!spec.Require()) return range;
  spec.OnlyMembers({"limits"});
  const Field limits_field = spec["limits"];
  if (!limits_field.Require()) return range;
  std::set<std::string_view> seen;
  for (const auto& item : limits_field.Elements()) {
    const Field type = item["type"];
    if (!type.Require()) continue;
    const auto text = type.OneOf({"Pod", "Container", "PersistentVolumeClaim"});
    if (!text) continue;
    if (!seen.insert(*text).second) type.Fail("must be unique: " + Quoted(*text));
    // Volume claims are not charged against any quota here.
    if (*text == "PersistentVolumeClaim") continue;
    range.items.push_back(ReadLimitItem(item, *text == "Pod"));
  }
  return range;
}

RuntimeClass ReadRuntimeClass(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "handler", "overhead", "scheduling"});
  RuntimeClass runtime;
  runtime.name = NameOf(root);
  const Field handler = root["handler"];
  if (handler.Require() && !IsDnsLabel(handler.StringOr(""))) handler.Fail(kDnsLabelRule);
  root["overhead"].OnlyMembers({"podFixed"});
  runtime.overhead = ReadAmountMap(root["overhead"]["podFixed"]);
  // `scheduling` is applied by the member that runs the pods; Kueue does not look at it either.
  root["scheduling"].OnlyMembers({"nodeSelector", "tolerations"});
  return runtime;
}

namespace {

bool EndsAtHosts(const Topology& topology) {
  return !topology.levels.empty() && topology.levels.back() == kHostnameLabel;
}

// Placements of running jobs name domains of the levels. They keep their meaning only if every
// machine is a domain before and after.
Status CheckTopologyChange(const Topology& old, const Topology& now) {
  if (old.levels == now.levels || (EndsAtHosts(old) && EndsAtHosts(now))) return Done{};
  return InvalidField("spec.levels",
                      "may only change while kubernetes.io/hostname is and stays the lowest");
}

Status CheckAdmissionCheckChange(const AdmissionCheck& old, const AdmissionCheck& now) {
  if (old.controller == now.controller) return Done{};
  return InvalidField("spec.controllerName", "field is immutable: it is " + Quoted(old.controller));
}

// The form that decisions use: defaults that follow from other entries are filled in, as an API
// server does.
LimitRange ReadCompleteLimitRange(const Field& root) {
  LimitRange range = ReadLimitRange(root);
  CompleteDefaults(&range);
  return range;
}

// "cloud/zone > rack", from the widest level to the narrowest.
std::string LevelsCell(const json::value& topology) {
  std::string out;
  for (const json::value& level : ArrayOrEmpty(topology, {"spec", "levels"})) {
    if (!out.empty()) out += " > ";
    out += TextAt(level, "nodeLabel");
  }
  return out;
}

constexpr PrinterColumn kTopologyColumns[] = {kNameColumn, ComputedColumn("LEVELS", LevelsCell),
                                              kAgeColumn};

constexpr PrinterColumn kAdmissionCheckColumns[] = {
    kNameColumn,
    TextColumn("CONTROLLER", "spec.controllerName"),
    ConditionColumn("ACTIVE", "Active"),
    ConditionColumn("REASON", "Active", "reason", true),
    ConditionColumn("MESSAGE", "Active", "message", true),
    kAgeColumn,
};

constexpr PrinterColumn kLimitRangeColumns[] = {kNameColumn, kAgeColumn};

constexpr PrinterColumn kRuntimeClassColumns[] = {kNameColumn, TextColumn("HANDLER", "handler"),
                                                  kAgeColumn};

}  // namespace

constinit const KindInfo kTopologyKind = {
    .kind = ObjectKind::kTopology,
    .name = "Topology",
    .plural = "topologies",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "topologies",
    .check = CheckBy<ReadTopology>,
    .put = PutInto<ReadTopology, &ConfigView::topologies, CheckTopologyChange>,
    .remove = EraseFrom<&ConfigView::topologies>,
    .concern = Concern::kQueues,
    .sent = true,
    .cli_place = 7,
    .columns = kTopologyColumns,
};

constinit const KindInfo kAdmissionCheckKind = {
    .kind = ObjectKind::kAdmissionCheck,
    .name = "AdmissionCheck",
    .plural = "admissionchecks",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "admission_checks",
    .check = CheckBy<ReadAdmissionCheck>,
    .put = PutInto<ReadAdmissionCheck, &ConfigView::admission_checks, CheckAdmissionCheckChange>,
    .remove = EraseFrom<&ConfigView::admission_checks>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kController,
    .sent = true,
    .cli_place = 6,
    .columns = kAdmissionCheckColumns,
};

constinit const KindInfo kLimitRangeKind = {
    .kind = ObjectKind::kLimitRange,
    .name = "LimitRange",
    .plural = "limitranges",
    .group = "",
    .versions = {"v1", nullptr},
    .namespaced = true,
    .table = "limit_ranges",
    .check = CheckBy<ReadLimitRange>,
    .put = PutInto<ReadCompleteLimitRange, &ConfigView::limit_ranges>,
    .remove = EraseFrom<&ConfigView::limit_ranges>,
    .concern = Concern::kJobSizes,
    .sent = true,
    .short_names = {"limits"},
    .cli_name = "limits",
    .cli_place = 8,
    .columns = kLimitRangeColumns,
};

constinit const KindInfo kRuntimeClassKind = {
    .kind = ObjectKind::kRuntimeClass,
    .name = "RuntimeClass",
    .plural = "runtimeclasses",
    .group = "node.k8s.io",
    .versions = {"v1", nullptr},
    .namespaced = false,
    .table = "runtime_classes",
    .check = CheckBy<ReadRuntimeClass>,
    .put = PutInto<ReadRuntimeClass, &ConfigView::runtime_classes>,
    .remove = EraseFrom<&ConfigView::runtime_classes>,
    .concern = Concern::kJobSizes,
    .sent = true,
    .cli_place = 9,
    .columns = kRuntimeClassColumns,
};

}  // namespace muster::shapes
