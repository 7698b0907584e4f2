#include "clients/slurm/signals.h"

#include <signal.h>
#include <string.h>

#include "clients/slurm/command.h"
#include "clients/slurm/same_word.h"

namespace muster::slurm {
namespace {
constexpr int kHighestSignal = 64;
}

std::optional<int> ParseSignal(std::string_view text) {
  if (const auto number = ParseCount(text)) {
    if (*number < 1 || *number > kHighestSignal) return std::nullopt;
    return static_cast<int>(*number);
  }
  if (text.size() > 3 && SameWord(text.substr(0, 3), "SIG")) text.remove_prefix(3);
  for (int number = 1; number <= kHighestSignal; ++number) {
    const char* name = ::sigabbrev_np(number);
    if (name != nullptr && SameWord(text, name)) return number;
  }
  return std::nullopt;
}

std::string SignalText(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? std::to_string(number) : name;
}

}  // namespace muster::slurm
