#include "schedd/shapes/parts/canonical.h"

#include <algorithm>
#include <string_view>

#include "schedd/base/quantity_text.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kPlainKinds[] = {"ConfigMap",
                                            "Secret",
                                            "ClusterResourceEnvelope",
                                            "ResourceEnvelope",
                                            "ClusterResourceOverride",
                                            "ResourceOverride"};
// Members that are one quantity wherever they stand.
constexpr std::string_view kScalars[] = {"nominalQuota", "borrowingLimit", "lendingLimit",
                                         "sizeLimit", "divisor"};
// Members of one entry of a LimitRange.
constexpr std::string_view kBounds[] = {"max", "min", "default", "defaultRequest",
                                        "maxLimitRequestRatio"};

template <std::size_t N>
bool IsOneOf(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void CanonicaliseOne(json::value* value) {
  if (value->is_object() || value->is_array()) return;
  const auto text = QuantityText(*value);
  if (!text) return;
  const auto canonical = CanonicalText(*text);
  if (canonical) value->emplace_string().assign(canonical->data(), canonical->size());
}

// Amounts by resource name.
void CanonicaliseAmounts(json::value* amounts) {
  if (amounts == nullptr || !amounts->is_object()) return;
  for (auto& member : amounts->get_object()) CanonicaliseOne(&member.value());
}

json::value* MemberOf(json::value* value, std::string_view key) {
  return value->is_object() ? value->get_object().if_contains(key) : nullptr;
}

void CanonicaliseMember(std::string_view key, json::value* value) {
  if (key == "metadata") return;  // texts of the user
  if (IsOneOf(kScalars, key)) return CanonicaliseOne(value);
  if (key == "resources" && value->is_object()) {
    CanonicaliseAmounts(MemberOf(value, "requests"));
    CanonicaliseAmounts(MemberOf(value, "limits"));
    return;
  }
  if (key == "overhead") {
    CanonicaliseAmounts(value);
    CanonicaliseAmounts(MemberOf(value, "podFixed"));
    return;
  }
  if (key == "fairSharing") {
    if (json::value* weight = MemberOf(value, "weight")) CanonicaliseOne(weight);
    return;
  }
  if (key == "limits" && value->is_array()) {
    for (json::value& item : value->get_array()) {
      for (const std::string_view bound : kBounds) CanonicaliseAmounts(MemberOf(&item, bound));
    }
    return;
  }
  CanonicaliseQuantities(value);
}

}  // namespace

void CanonicaliseQuantities(json::value* value) {
  if (value->is_array()) {
    for (json::value& item : value->get_array()) CanonicaliseQuantities(&item);
    return;
  }
  if (!value->is_object()) return;
  const json::value* kind = MemberOf(value, "kind");
  if (kind != nullptr && kind->is_string() &&
      IsOneOf(kPlainKinds, std::string_view(kind->get_string())))
    return;
  for (auto& member : value->get_object()) CanonicaliseMember(member.key(), &member.value());
}

}  // namespace muster::shapes
