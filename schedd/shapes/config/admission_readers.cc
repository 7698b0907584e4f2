// Topology, AdmissionCheck, LimitRange and RuntimeClass.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/model/topology.h"
#include "schedd/shapes/config/object_readers.h"

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

// A ratio is a quantity too: thousandths are as fine as one can be.
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

// min <= defaultRequest <= default <= max, as far as they are given.
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

// True if a controller says that the check works. Its condition is all that admission looks at.
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

bool EndsAtHosts(const Topology& topology) {
  return !topology.levels.empty() && topology.levels.back() == kHostnameLabel;
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
    if (*text == "PersistentVolumeClaim") continue;  // claims cost no quota
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

}  // namespace muster::shapes
