// Quantities: the text that an API server would write back means the same, and is its own.
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "tests/fuzz/fuzz.h"

using muster::fuzz::Require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = muster::fuzz::Text(data, size);
  for (const char* resource : {"cpu", "memory", "nvidia.com/gpu"}) {
    const auto amount = muster::ParseQuantity(resource, text);
    if (!amount.ok()) continue;
    const auto again = muster::ParseQuantity(resource, muster::FormatQuantity(resource, *amount));
    Require(again.ok() && *again == *amount, "an amount that is written is read as the same");
  }
  if (const auto canonical = muster::CanonicalText(text)) {
    Require(muster::CanonicalText(*canonical) == canonical, "a canonical text is its own");
    const auto before = muster::ParseQuantity("cpu", text);
    const auto after = muster::ParseQuantity("cpu", *canonical);
    // Texts with more digits than amounts have are refused, although their canonical text is not.
    Require(!before.ok() || (after.ok() && *before == *after), "the canonical text means the same");
  }
  static_cast<void>(muster::ParseReal(text));
  static_cast<void>(muster::ParseBillionths(text));
  return 0;
}
