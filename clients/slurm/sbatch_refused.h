// The options of Slurm's sbatch that Muster does not support. Each is refused with a sentence; none
// is ignored silently.
#pragma once

#include <cstddef>
#include <span>

namespace muster::slurm {

/// An option that is refused whenever it is given.
struct RefusedOption {
  const char* name;      // long name
  char letter;           // its short form, 0 if none
  int argument;          // getopt_long's no_argument, required_argument or optional_argument
  const char* sentence;  // why
};

std::span<const RefusedOption> RefusedOptions();
/// Null if no refused option has this letter.
const RefusedOption* RefusedByLetter(char letter);

}  // namespace muster::slurm
