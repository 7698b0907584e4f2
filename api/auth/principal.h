// Principal: the user in whose name a request is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/time.h"

namespace muster::auth {

/// A plain value. What an authenticator established; nothing of it comes from the request alone.
struct Principal {
  std::string user;
  std::vector<std::string> groups;
  /// How the name was established: "unix" or "loopback" (the kernel told the account of the
  /// client's process), "certificate", "jwt", "token", "munge", or "internal" for the daemon
  /// itself.
  std::string method;
  /// The local account, if the kernel or munge told it or the access token names one: the jobs of
  /// local members run as this user. Never taken from a request.
  std::optional<std::uint32_t> uid;
  /// When the credential ends; unset: it does not.
  WallTime expires;
  /// The user that acts as `user`; "" if nobody does (Kubernetes' impersonation).
  std::string impersonator;
  /// The groups of that user, so that its right to act as `user` can be asked about again.
  std::vector<std::string> impersonator_groups = {};
  /// Names the credential, so that open streams can be asked again: the AccessToken's name, the
  /// JWT's issuer and key, "ISSUER:SERIAL" of a certificate (net::PeerCertificate), "uid:NUMBER" of
  /// an account.
  std::string credential;
  /// For the audit trail: "unix:UID" or the client's address.
  std::string source;
  /// For the audit trail and the log. The client may have chosen it.
  std::string request_id;
  /// Of this process; 0 outside of requests. Never the client's choice.
  std::uint64_t request = 0;
};

}  // namespace muster::auth
