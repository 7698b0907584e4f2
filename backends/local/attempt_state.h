// AttemptState: the part of an attempt that must outlive the daemon, stored as attempt.json. It is
// written before anything that it describes is done. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/pods/json_read.h"
#include "backends/local/pods/pod_builder.h"

namespace muster::local {

/// How an attempt has ended; phase kPending: it has not.
struct Outcome {
  RemotePhase phase = RemotePhase::kPending;
  Reason reason = Reason::kNone;
  std::string message;
  WallTime ended;  // when its last pod was gone; not set before
};

struct AttemptState {
  DispatchKey key;
  JobId job;  // DispatchOrder::job; 0 in the record of a release that kept no number
  std::string remote_uid, api_version, kind, ns, name;
  /// DispatchOrder::account.
  std::optional<std::uint32_t> account;
  bool account_unknown = false;  // read from the record of a release that kept no account
  WallTime created, released;
  /// Set while its processes are suspended, and for how long they were before: a time limit does
  /// not run on meanwhile.
  WallTime paused_since;
  std::int64_t paused_us = 0;
  bool suspended = false;
  bool removing = false;   // its pods are being stopped for Remove
  bool keep_logs = false;  // RemovePolicy::keep_logs of that Remove
  bool removed = false;    // stopped by Remove, kept for its logs
  std::int64_t grace_ms = -1;
  std::int64_t scale = 0;  // DispatchOrder::scale of manifest.json
  std::vector<int> ports;
  /// ControllerOutput::memo of the last step.
  json::object memo;
  Outcome outcome;
};

/// The directory's name: <job uid>-<attempt>.
std::string AttemptDirectoryName(const DispatchKey& key);
Status WriteAttemptState(const std::string& dir, const AttemptState& state);
/// An error if the file is absent or unreadable.
Result<AttemptState> ReadAttemptState(const std::string& dir);

/// Writes the object and its dependents: manifest.json and dependents.json, with mode 0600, because
/// there may be Secrets.
Status WriteManifests(const std::string& dir, const DispatchOrder& order);
struct Manifests {
  json::object object;
  std::vector<Dependent> dependents;
};
Result<Manifests> ReadManifests(const std::string& dir);
/// kInvalidArgument if the text is no JSON object.
Result<json::object> ParseManifest(const std::string& text);

}  // namespace muster::local
