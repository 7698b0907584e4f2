// Steps and measured use as members report them. A step's record is written by the job's own user
// (he owns the file that the member reads it from), so nothing in it is believed: not the job, not
// the attempt, no text, no number. Pure (rules B53 and B54).
#pragma once

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/step.h"

namespace muster::changes {

/// Makes `step`, as it was reported at `seen`, a row of this attempt: its key is that of the
/// attempt, its texts are bounded and its numbers are in range. A step that runs has no end, and
/// any other has one. False, and then `step` is of no use, if its number or state is none.
bool TakeReported(StepRecord* step, JobId job, std::int32_t attempt, WallTime seen);
/// Closes a step that its attempt has left open when it ended; no effect on others.
void CloseUnended(StepRecord* step, WallTime end);
/// What was measured by two reports of one attempt: each amount only grows.
MeasuredUse MostOf(const MeasuredUse& a, const MeasuredUse& b);

}  // namespace muster::changes
