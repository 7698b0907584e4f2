// Signals by name or number, as scancel takes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::slurm {

/// "USR1", "SIGUSR1" or "10" in any case; nullopt if it is no signal.
std::optional<int> ParseSignal(std::string_view text);
/// "USR1" of 10; "12" for a signal without a name.
std::string SignalText(int number);

}  // namespace muster::slurm
