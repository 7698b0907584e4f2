// What members and backends say to the engine: part of Command (command.h).
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace muster {

struct ObservedCommand {
  Observation observation;
};
struct FactsCommand {
  ClusterFacts facts;
};
/// Outcome of Backend::Ensure.
struct EnsuredCommand {
  DispatchKey key;
  Result<RemoteRef> outcome;
};
/// Outcome of Backend::Remove.
struct RemovedCommand {
  DispatchKey key;
  Result<RemovalResult> outcome;
};
/// Outcome of Backend::Confirm.
struct ConfirmedCommand {
  DispatchKey key;
  std::string uid;  // of the object that was asked for
  Result<Presence> outcome;
};
/// A complete list of one cluster: attempts that are live in the database and missing here are
/// asked for by name and uid.
struct ListedCommand {
  std::string cluster;
  std::vector<Observation> observations;
  /// Attempts whose Ensure was under way while the list was taken: their absence proves nothing.
  std::vector<DispatchKey> unsure;
};

}  // namespace muster
