// Names of resource properties are taken apart at their first '-': the measure in front of it, the
// resource behind it. Amounts are 128-bit billionths; RealOf turns one into the real number that
// scores are computed with.
#include "schedd/model/member_property.h"

#include <array>
#include <utility>

namespace muster {
namespace {

constexpr PropertyAmount kBillion = 1'000'000'000;
// Every integer up to it is exact in a double.
constexpr PropertyAmount kExactReal = PropertyAmount{1} << 53;

constexpr std::array<std::pair<std::string_view, ResourceMeasure>, 3> kMeasures = {{
    {"total", ResourceMeasure::kTotal},
    {"allocatable", ResourceMeasure::kAllocatable},
    {"available", ResourceMeasure::kAvailable},
}};

}  // namespace

double RealOf(PropertyAmount amount) {
  const bool exact = -kExactReal <= amount && amount <= kExactReal;
  // One division rounds once; a larger amount is divided in two parts.
  if (exact) return static_cast<double>(amount) / 1e9;
  return static_cast<double>(amount / kBillion) + static_cast<double>(amount % kBillion) / 1e9;
}

std::string_view PropertyOperatorName(PropertyOperator op) {
  switch (op) {
    case PropertyOperator::kGt:
      return "Gt";
    case PropertyOperator::kGe:
      return "Ge";
    case PropertyOperator::kEq:
      return "Eq";
    case PropertyOperator::kNe:
      return "Ne";
    case PropertyOperator::kLt:
      return "Lt";
    case PropertyOperator::kLe:
      return "Le";
    case PropertyOperator::kIn:
      return "In";
    case PropertyOperator::kNotIn:
      return "NotIn";
    case PropertyOperator::kExists:
      return "Exists";
    case PropertyOperator::kDoesNotExist:
      return "DoesNotExist";
  }
  return "";
}

// Nothing is written to *property if the name is none.
bool ReadResourceProperty(std::string_view name, ResourceProperty* property) {
  if (!name.starts_with(kResourcePropertyPrefix)) return false;
  name.remove_prefix(kResourcePropertyPrefix.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash + 1 == name.size()) return false;
  for (const auto& [text, measure] : kMeasures) {
    if (name.substr(0, dash) != text) continue;
    *property = {measure, name.substr(dash + 1)};
    return true;
  }
  return false;
}

}  // namespace muster
