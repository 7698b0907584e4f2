// The one table of sbatch's options, for #SBATCH lines, the command line and SBATCH_* variables
// alike (rules B6, B13): every option of Slurm's manual pages since 22.05, with its letter, its
// argument and what becomes of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace muster::shapes {

enum class SbatchArgument : std::uint8_t { kNone, kRequired, kOptional };

/// What an option does, and how its value is checked.
enum class SbatchMeaning : std::uint8_t {
  // Taken: sets the field of the REST form.
  kText,
  kCount,        // a number from 1 to a million
  kTime,         // a time limit
  kMemory,       // "4G"
  kNodes,        // min[-max]
  kTrue,         // a flag
  kFalse,        // a flag that sets the field to false
  kGpus,         // [type:]number
  kGres,         // a list of generic resources
  kExclusive,    // "", user, mcs, topo
  kNice,         // a number, 100 without one
  kPriority,     // a number, or TOP
  kSignal,       // [R|B:]SIG[@seconds]
  kMailType,     // a list of events
  kYesNo,        // yes or no
  kOpenMode,     // append or truncate
  kArray,        // the indexes of an array
  kRequeue,      // a flag that may have the value `expedite`
  kPropagate,    // names of limits: the client reads them, the names are kept
  // Kept: shown, without amounts.
  kHow,          // any text
  kHowFlag,
  kHowCount,     // a number from 1
  kHowNumber,    // a number from 0
  kHowHint,
  kHowDistribution,
  kHowProfile,
  kHowNoKill,    // "" or off
  kHowGresFlags,
  kHowTime,      // minutes or a time
  kHowNodeInfo,  // -B sockets[:cores[:threads]]
  kHowSwitches,  // count[@time]
  // Concerns the submitting command, which alone knows the caller's environment and files.
  kClient,
  kClientFlag,
  // Would give other resources than asked: refused by name.
  kRefused,
};

struct SbatchOption {
  std::string_view name;
  char letter;  // 0: none
  SbatchArgument argument;
  SbatchMeaning meaning;
  /// The field of the REST form; of an alias the same as of its option. Of an option that is kept,
  /// or concerns the client, the long name under which it is kept. Of a refused one the sentence.
  std::string_view field;
};

/// All options, sorted by name.
std::span<const SbatchOption> SbatchOptions();
/// The option of this long name; null if there is none.
const SbatchOption* FindSbatchOption(std::string_view name);
/// The option of this letter; null if there is none.
const SbatchOption* FindSbatchLetter(char letter);

}  // namespace muster::shapes
