// Properties of member clusters: what a placement may ask for and sort by (rule P6). A
// value is a Kubernetes quantity, exact in billionths, or a text. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A quantity in billionths of its unit (ParseBillionths).
using PropertyAmount = __int128;

/// The amount as the 64-bit real number that scores are computed with: whole units exactly.
double RealOf(PropertyAmount amount);

/// The six operators of KubeFleet's property selectors; In, NotIn, Exists, DoesNotExist are
/// Muster's, for texts.
enum class PropertyOperator : std::uint8_t {
  kGt,
  kGe,
  kEq,
  kNe,
  kLt,
  kLe,
  kIn,
  kNotIn,
  kExists,
  kDoesNotExist
};
/// "Gt", ...
std::string_view PropertyOperatorName(PropertyOperator op);

/// One expression of a propertySelector.
struct PropertyExpression {
  std::string name;
  PropertyOperator op = PropertyOperator::kEq;
  PropertyAmount amount = 0;        // of the six
  std::vector<std::string> values;  // as written; what kIn and kNotIn compare
  bool operator==(const PropertyExpression&) const = default;
};

/// Names that Muster computes itself, from the facts of a member.
inline constexpr std::string_view kNodeCountProperty = "kubernetes-fleet.io/node-count";
inline constexpr std::string_view kVersionProperty = "k8s.io/k8s-version";
/// resources.kubernetes-fleet.io/{total,allocatable,available}-RESOURCE, any resource.
inline constexpr std::string_view kResourcePropertyPrefix = "resources.kubernetes-fleet.io/";

enum class ResourceMeasure : std::uint8_t { kTotal, kAllocatable, kAvailable };
/// A resource property, taken apart at the first '-': "nvidia.com/gpu" and "ephemeral-storage" are
/// resources as any other (KubeFleet refuses both, rule P6).
struct ResourceProperty {
  ResourceMeasure measure = ResourceMeasure::kTotal;
  std::string_view resource;  // into the name that was given
};
/// False if `name` is none.
bool ReadResourceProperty(std::string_view name, ResourceProperty* property);

/// What is declared of a member beyond its facts: annotation muster.io/properties, costs.
struct MemberProperties {
  std::map<std::string, PropertyAmount> amounts;  // of those that are quantities
  std::map<std::string, std::string> texts;       // of all, as written
  bool operator==(const MemberProperties&) const = default;
};

}  // namespace muster
