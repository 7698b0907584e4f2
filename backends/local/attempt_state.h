// What of an attempt must outlive the process: attempt.json, written whole before anything it says
// is acted on. Plain values.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/pods/json_read.h"
#include "backends/local/pods/pod_builder.h"

namespace muster::local {

/// How an attempt ended; phase kPending: not yet.
struct Outcome {
  RemotePhase phase = RemotePhase::kPending;
  Reason reason = Reason::kNone;
  std::string message;
  WallTime ended;  // set when its last pod was gone
};

struct AttemptState {
  DispatchKey key;
  std::string remote_uid, api_version, kind, ns, name;
  WallTime created, released;
  bool suspended = false;
  bool removing = false;   // its pods are being stopped for Remove
  bool keep_logs = false;  // of that Remove
  bool removed = false;    // stopped by Remove, kept for its logs
  std::int64_t grace_ms = -1;
  std::int64_t scale = 0;  // DispatchOrder::scale of manifest.json
  std::vector<int> ports;
  json::object memo;  // of the controller
  Outcome outcome;
};

/// The directory's name: <job uid>-<attempt>.
std::string AttemptDirectoryName(const DispatchKey& key);
Status WriteAttemptState(const std::string& dir, const AttemptState& state);
/// Errors: absent or torn.
Result<AttemptState> ReadAttemptState(const std::string& dir);

/// The object and what it refers to: manifest.json and dependents.json (mode 0600: there may be
/// Secrets).
Status WriteManifests(const std::string& dir, const DispatchOrder& order);
struct Manifests {
  json::object object;
  std::vector<Dependent> dependents;
};
Result<Manifests> ReadManifests(const std::string& dir);
/// Errors (kInvalidArgument): not a JSON object.
Result<json::object> ParseManifest(const std::string& text);

}  // namespace muster::local
