// Connection: one TCP connection to a member, with TLS or without. It moves bytes; ResponseReader
// reads the HTTP.
//
// Used on the strand only. One Open, then one Write and one Read at a time. After Close no handler
// is called.
#pragma once

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/k8s/client/permitted_socket.h"
#include "backends/k8s/client/strand_gate.h"
#include "backends/k8s/client/tls_setup.h"
#include "schedd/base/result.h"

namespace muster::k8s {

/// The server that a connection must reach.
struct PeerIdentity {
  std::string address;  // host:port as the kubeconfig has it, for sentences
  std::string name;     // that its certificate must have
  bool skip_verify = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using ErrorCode = boost::system::error_code;

  /// `tls` null: plain TCP. `generation`: of the credentials that it is made with.
  Connection(const Strand& strand, std::shared_ptr<TlsContext> tls, std::uint64_t generation);

  /// Tries the endpoints in order, then TLS. The error's detail is the end of a sentence:
  /// kUnavailable or kUnauthenticated.
  void Open(std::vector<Endpoint> endpoints, PeerIdentity peer,
            std::function<void(const Status&)> done);
  /// Asks `may` right before each part of the bytes goes to the kernel; false ends the write with
  /// operation_aborted, and the connection can only be closed then.
  void Write(std::string bytes, std::function<bool()> may, std::function<void(ErrorCode)> done);
  /// At least one byte; the view is valid during the call.
  void Read(std::function<void(ErrorCode, std::string_view)> done);
  void Close();
  bool closed() const { return closed_; }
  /// True if an idle connection can take a request: the member has neither closed it nor sent
  /// anything.
  bool Quiet();
  std::uint64_t generation() const { return generation_; }

 private:
  void Handshake(const PeerIdentity& peer, std::function<void(const Status&)> done);

  PermittedSocket socket_;
  const std::shared_ptr<TlsContext> tls_context_;  // outlives tls_
  std::optional<boost::asio::ssl::stream<PermittedSocket&>> tls_;
  const std::uint64_t generation_;
  bool closed_ = false;
  std::vector<Endpoint> endpoints_;
  std::string out_;
  std::array<char, 16 << 10> in_;  // one TLS record
};

}  // namespace muster::k8s
