// The values of backends/backend.h as messages of launcher.proto, and back.
//
// Pure functions, thread-safe. The daemon's messages are not trusted: what cannot be such a value
// (a malformed uid, a number without a meaning) reads as nullopt.
#pragma once

#include <optional>
#include <string>

#include "backends/backend.h"
#include "backends/launcher/launcher.pb.h"
#include "schedd/base/clock.h"

namespace muster::launcher {

/// The version of launcher.proto; both programs come from one package, so it must be equal.
inline constexpr std::uint32_t kProtocolVersion = 2;

pb::Key ToWire(const DispatchKey& key);
std::optional<DispatchKey> KeyFrom(const pb::Key& from);

/// The permit travels as the time of its end.
pb::Order ToWire(const DispatchOrder& order);
/// `clock` is the one of the order's permit (CLOCK_MONOTONIC of this host) and must outlive it.
std::optional<DispatchOrder> OrderFrom(const pb::Order& from, const Clock& clock);

pb::Policy ToWire(const RemovePolicy& policy);
/// nullopt if the cause has no meaning.
std::optional<RemovePolicy> PolicyFrom(const pb::Policy& from);

pb::SignalCall ToWire(const DispatchKey& key, const SignalOrder& order);
/// Without the key. nullopt if the target has no meaning.
std::optional<SignalOrder> SignalFrom(const pb::SignalCall& from);

pb::ReadLogCall ToWire(const DispatchKey& key, const LogQuery& query);
/// Without the key.
LogQuery QueryFrom(const pb::ReadLogCall& from);

pb::Ref ToWire(const RemoteRef& ref);
RemoteRef RefFrom(const pb::Ref& from);

pb::Seen ToWire(const Observation& seen);
std::optional<Observation> ObservationFrom(const pb::Seen& from);

pb::Facts ToWire(const ClusterFacts& facts);
ClusterFacts FactsFrom(const pb::Facts& from);

pb::Pod ToWire(const PodStatus& pod);
PodStatus PodFrom(const pb::Pod& from);

pb::Log ToWire(const LogChunk& chunk);
LogChunk ChunkFrom(const pb::Log& from);

pb::Failure ToWire(const Error& error);
/// A code without a meaning reads as kInternal.
Error ErrorFrom(const pb::Failure& from);

}  // namespace muster::launcher
