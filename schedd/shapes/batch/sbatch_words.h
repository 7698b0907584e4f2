// Reads options of sbatch as getopt_long(3) reads a command line, and checks each value in Slurm's
// words. #SBATCH lines, command lines and SBATCH_* variables are read by these functions, so that
// a value means the same wherever it stands (rules B6, B7).
//
// Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/shapes/batch/sbatch_table.h"
#include "schedd/text/json.h"

namespace muster::shapes {

inline constexpr int kSbatchRefusal = 1;    // exit status of a request that is refused
inline constexpr int kSbatchUsage = 255;    // exit status of a wrong option

/// Why a word or a value is refused.
struct SbatchProblem {
  std::string message;
  int exit = kSbatchUsage;
  /// getopt's own: "sbatch: MESSAGE" and a pointer to --help, instead of "sbatch: error: MESSAGE".
  bool of_getopt = false;
};

/// What the options of one source say.
struct SbatchRequest {
  json::object fields;  // of the REST form
  /// Options that concern the submitting command, by long name; a flag has "".
  std::map<std::string, std::string, std::less<>> client;

  bool Has(std::string_view name) const { return client.find(name) != client.end(); }
};

/// Applies one option; the last of several wins. `value` is "" for a flag and for an optional
/// argument that is absent.
std::optional<SbatchProblem> ApplySbatchOption(const SbatchOption& option, std::string_view value,
                                               SbatchRequest* out);

/// Applies the options from `words[*at]` on and stops at the first word that is no option; `*at`
/// becomes its index, or the number of words.
std::optional<SbatchProblem> ReadSbatchWords(const std::vector<std::string>& words, std::size_t* at,
                                             SbatchRequest* out);

/// Lays the fields of a source over those of a source of lower precedence. Where fields contradict
/// each other (kinds of memory, kinds of GPU requests), one of the higher source removes all of the
/// lower one.
void OverlaySbatchFields(json::object lower, json::object* higher);

/// Makes `fields` the component after those that `leader` has (`#SBATCH hetjob`, or ":" on the
/// command line). A component says name and amounts only; what else it says must be what the leader
/// says.
std::optional<SbatchProblem> AddSbatchComponent(json::object fields, json::object* leader);

/// True for the fields that a component may have.
bool IsComponentField(std::string_view field);

/// "USR1", "SIGUSR1" or "10" as its number; nothing for an unknown signal.
std::optional<int> SlurmSignalNumber(std::string_view text);

}  // namespace muster::shapes
