// Envelope: the items of the engine's inbox: commands, answers of the store, and wake-ups of the
// loop.
#pragma once

#include <type_traits>
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
/// Ends a wait of the loop; it says nothing else.
struct Wake {};

using Envelope = std::variant<Command, AcceptDone, CommitDone, Wake>;

/// True for commands by which the dispatcher passes on what members say of attempts: the answers to
/// orders, and what is observed of objects. Nobody waits for an answer to them, so MemberReports
/// keeps them, in order, until a commit has room. FactsCommand is not one of them: facts concern a
/// member as a whole, and are needed at once.
template <class T>
inline constexpr bool kIsReport =
    std::is_same_v<T, ObservedCommand> || std::is_same_v<T, EnsuredCommand> ||
    std::is_same_v<T, RemovedCommand> || std::is_same_v<T, ConfirmedCommand> ||
    std::is_same_v<T, ListedCommand>;
inline bool IsReport(const Command& command) {
  return std::visit([]<class T>(const T&) { return kIsReport<T>; }, command);
}

}  // namespace muster
