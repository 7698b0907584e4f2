// Properties of member clusters, which placements may select and sort by (rule P6). A value is a
// Kubernetes quantity, exact in billionths, or a text. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A quantity in billionths of its unit (ParseBillionths).
using PropertyAmount = __int128;

/// The amount as the 64-bit real number with which scores are computed; whole units are exact.
double RealOf(PropertyAmount amount);

/// The six operators of KubeFleet's property selectors; In, NotIn, Exists and DoesNotExist are
/// Muster's own, for texts.
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
  /// Of the six operators of KubeFleet.
  PropertyAmount amount = 0;
  /// As written; compared by kIn and kNotIn.
  std::vector<std::string> values;
  bool operator==(const PropertyExpression&) const = default;
};

/// Properties that Muster computes itself, from reports of a member.
inline constexpr std::string_view kNodeCountProperty = "kubernetes-fleet.io/node-count";
inline constexpr std::string_view kVersionProperty = "k8s.io/k8s-version";
/// resources.kubernetes-fleet.io/{total,allocatable,available}-RESOURCE, any resource.
inline constexpr std::string_view kResourcePropertyPrefix = "resources.kubernetes-fleet.io/";

enum class ResourceMeasure : std::uint8_t { kTotal, kAllocatable, kAvailable };
/// The name of a resource property, taken apart at its first '-': "nvidia.com/gpu" and
/// "ephemeral-storage" are resources like any other (KubeFleet refuses both, rule P6).
struct ResourceProperty {
  ResourceMeasure measure = ResourceMeasure::kTotal;
  /// Points into the given name.
  std::string_view resource;
};
/// False if `name` is not the name of a resource property.
bool ReadResourceProperty(std::string_view name, ResourceProperty* property);

/// Properties that are declared of a member: annotation muster.io/properties, costs.
struct MemberProperties {
  /// Of those that are quantities.
  std::map<std::string, PropertyAmount> amounts;
  /// Of all, as written.
  std::map<std::string, std::string> texts;
  bool operator==(const MemberProperties&) const = default;
};

}  // namespace muster
