// The JSON columns `use` of attempts and steps: what was measured of their processes.
//
// Pure functions. A column that cannot be read is kDataLoss: this program did not write the row.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/model/step.h"

namespace muster::pg {

/// "" if nothing was measured: the column is null then.
std::string UseText(const MeasuredUse& use);
Result<MeasuredUse> ParseUse(std::string_view text);

}  // namespace muster::pg
