// The part of the daemon's configuration that says how callers prove who they are.
#pragma once

#include <string>

namespace muster {

class AccessTable;
struct DaemonConfig;

struct AccessConfig {
  /// The Unix socket of REST; "": DATA_DIR/run/muster.sock, "none": no socket. That of gRPC is
  /// beside it.
  std::string socket;
  /// Whether TCP clients of this host are known by their account; only if `loopback_peers_set`.
  bool loopback_peers_set = false, loopback_peers = true;
};

/// True if callers can prove who they are by something other than the account that this host's
/// kernel tells. Without that only the accounts of this host can use the server.
bool HasRemoteMethod(const DaemonConfig& config);

/// A sentence for `muster status` if there is a remote method, and the roles still have the binding
/// of an installation without one, which binds everybody who is known (rule U8); "" otherwise.
std::string LocalUsersProblem(bool remote_method, const AccessTable& roles);

}  // namespace muster
