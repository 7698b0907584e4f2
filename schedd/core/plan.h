// Plan: what one cycle decided. Diagnostics are data in it; nothing is logged while deciding.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster::core {

/// Reserve quota for a workload and place it.
struct Admit {
  JobPtr job;
  AdmissionPtr admission;
  std::string cluster;  // "" only when the snapshot has no clusters
  std::int32_t borrowing_level = 0;
};

/// A workload that was looked at and cannot start now. With `park` its whole class waits for a
/// flush; with `block` it is the head of a StrictFIFO queue and the queue waits behind it; with
/// neither, another workload of the same round took what it needed and it is tried again
/// (PendingQueues::Settle does what this says).
struct NotAdmitted {
  JobPtr job;
  Reason reason = Reason::kNone;
  std::string message;  // the sentence a user reads (kueue.md 3.1)
  bool park = false;
  bool block = false;
};

struct Plan {
  std::vector<Admit> admits;              // in the order decided
  std::vector<NotAdmitted> not_admitted;  // each workload at most once, last verdict
  bool more_work = false;                 // the budget ended the cycle: call again
  std::size_t heads_evaluated = 0;
  bool empty() const { return admits.empty() && not_admitted.empty(); }
};

}  // namespace muster::core
