// The options and environment variables of srun, salloc and sattach, by their manual pages (22.05
// and newer): one row each, with what becomes of it. None is ignored in silence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::steps {

enum class Tool : std::uint8_t { kSrun, kSalloc };

enum class OptionUse : std::uint8_t {
  kAbsent,  // no option of this command
  kTaken,
  kAllocation,  // taken where an allocation is made; a step inside a job has no use for it
  kHow,         // says how, not how much: sent with an allocation and shown by scontrol
  kRefused,
};

struct OptionRow {
  const char* name;
  int argument;  // 0 none, 1 required, 2 optional
  char letter;   // 0: none
  OptionUse srun, salloc;
  const char* why;  // of a refusal
};
const std::vector<OptionRow>& OptionRows();

enum class InputUse : std::uint8_t {
  kRead,
  kOutside,  // read where an allocation is made; inside a job it tells what the job has
  kRefused,
  kWithoutEffect,
};
struct InputRow {
  const char* name;
  const char* option;  // that it stands for, "" for none
  InputUse use;
  const char* why;  // it is refused or has no effect
};
const std::vector<InputRow>& InputRows(Tool tool);

/// The options of one command line (or one component of it) by their long names; the last of
/// several counts. An option without an argument has the value "".
struct OptionValues {
  std::map<std::string, std::string> values;
  /// Those that the command line gave; the others are from variables.
  std::map<std::string, bool> given;
  std::vector<std::string> command;
  bool Has(const std::string& name) const { return values.contains(name); }
  std::string Get(const std::string& name) const {
    const auto at = values.find(name);
    return at == values.end() ? "" : at->second;
  }
};

/// A command line that cannot be carried out. An empty message: getopt_long has printed one.
struct OptionRefusal {
  std::string message;
  int exit = 1;
};

/// Reads the variables of the manual page, then the words behind the command's name up to the first
/// that is no option. `inside`: the step runs inside a job, where variables that the job's own
/// environment carries ask for nothing.
std::optional<OptionRefusal> ReadOptions(Tool tool, int argc, char** argv, bool inside,
                                         OptionValues* out);

/// The text of --help.
std::string OptionHelp(Tool tool);

}  // namespace muster::steps
