// The one thing that computed cells of several kinds need: a condition of the status.
#include "schedd/shapes/config/printer_columns.h"

#include "schedd/text/lenient.h"

namespace muster::shapes {

std::string ConditionText(const json::value& object, std::string_view type,
                          std::string_view member) {
  for (const json::value& condition : ArrayOrEmpty(object, {"status", "conditions"})) {
    if (ViewAt(condition, "type") == type) return TextAt(condition, member);
  }
  return "";
}

}  // namespace muster::shapes
