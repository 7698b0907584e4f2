// --signal (rule B30): names and numbers of signals, and when the job gets one.
#include <optional>
#include <string>
#include <utility>

#include "schedd/shapes/batch/sbatch_values.h"
#include "schedd/shapes/batch/sbatch_words.h"

namespace muster::shapes {

std::optional<int> SlurmSignalNumber(std::string_view text) {
  static constexpr std::pair<std::string_view, int> kSignals[] = {
      {"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"ABRT", 6},  {"KILL", 9},   {"USR1", 10},
      {"SEGV", 11}, {"USR2", 12}, {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15},  {"CHLD", 17},
      {"CONT", 18}, {"STOP", 19}, {"TSTP", 20}, {"TTIN", 21}, {"TTOU", 22},  {"URG", 23},
      {"XCPU", 24}, {"XFSZ", 25}, {"WINCH", 28}};
  if (const auto number = WholeNumber(text)) {
    if (*number < 1 || *number > 64) return std::nullopt;
    return static_cast<int>(*number);
  }
  std::string name(text);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const auto& [known, number] : kSignals) {
    if (known == name) return number;
  }
  return std::nullopt;
}

// The letters in front may stand together, in either order: "RB:".
std::optional<WarningSignal> ParseWarningSignal(std::string_view text) {
  WarningSignal signal;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    if (colon == 0 || colon > 2) return std::nullopt;
    for (const char c : text.substr(0, colon)) {
      if (c == 'B' || c == 'b')
        signal.batch_only = true;
      else if (c == 'R' || c == 'r')
        signal.reservation = true;
      else
        return std::nullopt;
    }
    text.remove_prefix(colon + 1);
  }
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    const auto seconds = WholeNumber(text.substr(at + 1));
    if (!seconds || *seconds > 65'535) return std::nullopt;
    signal.seconds_before = static_cast<std::int32_t>(*seconds);
  }
  const auto number = SlurmSignalNumber(text.substr(0, at));
  if (!number) return std::nullopt;
  signal.signal = *number;
  return signal;
}

}  // namespace muster::shapes
