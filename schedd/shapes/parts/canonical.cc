// Walks a manifest and decides by the name of each member whether its value is a quantity, a map of
// quantities, or something to walk into. No schema is needed, because the names of quantity fields
// mean the same in every accepted kind; kinds whose data could contain such a name by chance
// (kPlainKinds) are not walked at all. A text that is no quantity stays as it is: validation
// reports it.
#include "schedd/shapes/parts/canonical.h"

#include <algorithm>
#include <string_view>

#include "schedd/base/quantity_text.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// Kinds that carry other objects or plain data.
constexpr std::string_view kPlainKinds[] = {"ConfigMap",
                                            "Secret",
                                            "ClusterResourceEnvelope",
                                            "ResourceEnvelope",
                                            "ClusterResourceOverride",
                                            "ResourceOverride"};
// Members that are one quantity, in every kind.
constexpr std::string_view kScalars[] = {"nominalQuota", "borrowingLimit", "lendingLimit",
                                         "sizeLimit", "divisor"};
// Members of one entry of a LimitRange: amounts by resource name.
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

// A map from resource names to quantities; null: nothing to do.
void CanonicaliseAmounts(json::value* amounts) {
  if (amounts == nullptr || !amounts->is_object()) return;
  for (auto& member : amounts->get_object()) CanonicaliseOne(&member.value());
}

// `resources` is a list in ClusterQueues and an object in pods; `overhead` is flat in pods and has
// `podFixed` in RuntimeClasses; `limits` is a list in LimitRanges and an object in containers.
void CanonicaliseMember(std::string_view key, json::value* value) {
  if (key == "metadata") return;  // labels and annotations are texts of the user
  if (IsOneOf(kScalars, key)) return CanonicaliseOne(value);
  if (key == "resources" && value->is_object()) {
    CanonicaliseAmounts(MutableMember(value, "requests"));
    CanonicaliseAmounts(MutableMember(value, "limits"));
    return;
  }
  if (key == "overhead") {
    CanonicaliseAmounts(value);
    CanonicaliseAmounts(MutableMember(value, "podFixed"));
    return;
  }
  if (key == "fairSharing") {
    if (json::value* weight = MutableMember(value, "weight")) CanonicaliseOne(weight);
    return;
  }
  if (key == "limits" && value->is_array()) {
    for (json::value& item : value->get_array()) {
      for (const std::string_view bound : kBounds) CanonicaliseAmounts(MutableMember(&item, bound));
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
  if (IsOneOf(kPlainKinds, ViewAt(value, "kind"))) return;
  for (auto& member : value->get_object()) CanonicaliseMember(member.key(), &member.value());
}

}  // namespace muster::shapes
