// Signals by their names, as scancel and kill take them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::api {

/// The number of "USR1", "SIGUSR1", "sigusr1", "RTMIN+1" or "10" on this host. kInvalidArgument on
/// field `signal` for anything else.
Result<int> SignalOf(std::string_view text);
/// "USR1"; the number as text if it has no name of its own.
std::string SignalName(int number);

}  // namespace muster::api
