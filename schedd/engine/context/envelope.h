// Envelope: what arrives at the engine's loop: commands, the store's answers, and wake-ups.
#pragma once

#include <variant>
#include <vector>

#include "schedd/store/store.h"
#include "schedd/world/command.h"

namespace muster {

/// The store's answer to the oldest Store::Accept that it has not answered yet.
struct AcceptDone {
  Result<std::vector<Result<AcceptedJob>>> outcome;
};
/// The store's answer to the oldest Store::Commit that it has not answered yet.
struct CommitDone {
  Result<CommitVersion> outcome;
};
struct Wake {};

using Envelope = std::variant<Command, AcceptDone, CommitDone, Wake>;

/// True for what members say of attempts: it may wait, in order, for room in a commit.
bool IsReport(const Command& command);

}  // namespace muster
