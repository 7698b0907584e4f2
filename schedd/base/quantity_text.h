// Texts of quantities: the form in which Kubernetes writes one back, and what is a mistake in one.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The text that an API server answers for the quantity `text` (apimachinery resource.Quantity): no
/// fraction, the largest suffix that loses nothing, in the family of suffixes that was written
/// ("1024Mi" is "1Gi", "0.5" is "500m", "10000" is "10k", "1500e3" is "1500e3"). nullopt if it is
/// no quantity or beyond 64 bits.
std::optional<std::string> CanonicalText(std::string_view text);

/// False if `text` is a quantity with a fraction of a unit of `resource`, such as half a GPU, pod
/// or byte. Amounts of cpu are counted in thousandths and may have a fraction.
bool IsWholeAmount(std::string_view resource, std::string_view text);
inline constexpr const char* kWholeAmountRule = "must be a whole number: only cpu has fractions";

/// True for resources that are counted in bytes. Kubernetes takes a fraction of a byte, with a
/// warning.
inline bool IsByteResource(std::string_view resource) {
  return resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

}  // namespace muster
