// What comes to the engine's loop and what is on its way from it: envelopes, batches of
// submissions, sent commits. Plain values of the engine thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/engine/transaction.h"
#include "schedd/world/command.h"

namespace muster {

/// The submissions of one Store::Accept, and whom to answer. The store gets `jobs`; the rest stays
/// here.
struct AcceptBatch {
  struct Group {
    Callback<std::vector<Result<Submitted>>> done;
    std::size_t first = 0, count = 0;
    std::size_t refused = 0;  // the last of the command, for which the queue had no room
  };
  std::vector<NewJob> jobs;
  std::vector<JobPtr> records;
  std::vector<Group> groups;
  std::int64_t config_version = 0;  // whose LocalQueues resolved their ClusterQueues
  bool built_on_older = false;      // some were made by an older one
  Monotonic sent{};
};

struct SentCommit {
  Transaction transaction;
  Monotonic sent;
  bool heartbeat = false;  // it has nothing to write: only whether it could is of interest
};

struct AcceptDone {
  Result<std::vector<Result<Accepted>>> outcome;
};
struct CommitDone {
  Result<CommitVersion> outcome;
};
struct Wake {};

using Envelope = std::variant<Command, AcceptDone, CommitDone, Wake>;

/// What was found of a class of waiting jobs, for its members that were not looked at themselves.
struct Verdict {
  Reason reason = Reason::kNone;
  std::string message;
  Monotonic swept;
};

/// True for what members say of attempts: it may wait, in order, for room in a commit.
bool IsReport(const Command& command);
/// True if the store would refuse the same PlanCommit every time: a constraint or a value, not the
/// database's health. Then an invariant is broken and the daemon stops.
bool RefusedForGood(const Error& error);
/// What a user is told when a write failed: always kUnavailable, and whether anything may have been
/// written.
Error WriteError(const Error& error);

}  // namespace muster
