// The checks of `muster doctor`: each recomputes one invariant of a database from its rows.
//
// Thread-safe: nothing is shared, and nothing is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/admission_settings.h"
#include "schedd/store/store.h"

namespace muster::doctor {

enum class Severity : std::uint8_t {
  kOff,   // it should not be so
  kNote,  // it may be meant so; an administrator should know
};

/// The question of a check that SQL does not answer: one sentence for each thing that is off.
using WorldQuestion = std::vector<std::string> (*)(const StoredWorld&, const AdmissionSettings&);

/// One row of the table. Either `sql` or `world` is set, or neither: the schema's standing.
struct Check {
  const char* name;
  const char* invariant;  // "I1" to "I14" (docs/rules/dispatch.md, D21), or "" for what it rests on
  Severity severity;
  const char* sql;
  WorldQuestion world;
  const char* mend;  // what an administrator does
};

/// Every check, in the order in which they are shown.
const std::vector<Check>& Checks();

/// What one check found; nothing is off if `count` is 0 and `unasked` is empty.
struct Finding {
  const Check* check = nullptr;
  std::vector<std::string> what;  // at most limits::kDoctorTexts of them
  std::int64_t count = 0;
  /// Why the question could not be asked; counts as off.
  std::string unasked;
  bool IsOff() const {
    return !unasked.empty() || (count > 0 && check->severity == Severity::kOff);
  }
};

/// Asks every question of the database of `url`, whose role must see all rows (the owner of the
/// schema, or the daemon's). `settings`: those of the daemon, which say what counts as usage.
/// `expects_leader`: false for a private database whose daemon is known to be down.
/// kUnavailable: the database cannot be reached.
Result<std::vector<Finding>> Examine(const std::string& url, const AdmissionSettings& settings,
                                     bool expects_leader = true);

}  // namespace muster::doctor
