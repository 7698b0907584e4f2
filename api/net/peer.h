// Peer: what the kernel and TLS say of the other end of a connection, before it has sent a request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::net {

/// What a verified client certificate says: Kubernetes takes the user from the common name and the
/// groups from the organizations.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string issuer;              // SHA-256 of the issuer's name in DER, hexadecimal
  std::string serial;              // hexadecimal
  std::int64_t not_after_s = 0;    // seconds since 1970
  std::string fingerprint_sha256;  // hexadecimal
};

/// A plain value, made when a connection is accepted and shared by all of its requests.
struct Peer {
  enum class Kind : std::uint8_t { kUnix, kLoopback, kRemote };
  Kind kind = Kind::kRemote;
  /// The account of the client's process as the kernel knows it: SO_PEERCRED of a Unix socket, or
  /// the owner of the other end of a loopback connection. Unset if the kernel does not say.
  std::optional<std::uint32_t> uid;
  std::string address;     // "unix", "127.0.0.1:40112"
  bool encrypted = false;  // TLS
  /// Null without a client certificate; one that was not verified never gets here.
  std::shared_ptr<const PeerCertificate> certificate;
};
using PeerPtr = std::shared_ptr<const Peer>;

/// Asks the kernel about an accepted socket. For a TCP connection from this host's loopback
/// address the owner of the client's socket is looked up (sock_diag(7); /proc/net/tcp where that is
/// not available), and only while that socket is established and has an owner: a socket that is
/// being closed is told as root's. Never fails: what is not known stays unset.
Peer PeerOf(int fd);

}  // namespace muster::net
