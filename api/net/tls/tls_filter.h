// TlsFilter: the TLS of one connection of a server, between bytes of the network and bytes of the
// protocol above. It touches no socket: its owner passes in what it has received, and sends what
// `wire` holds.
//
// Not thread-safe. OpenSSL's connection object is not safe even for one reader beside one writer (a
// read may have to write, and both share its state), so an owner that receives on one thread and
// sends on another calls the filter under one lock.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "api/net/peer.h"
#include "api/net/tls/tls_context.h"

namespace muster::net {

class TlsFilter {
 public:
  enum class State {
    kHandshake,
    kOpen,
    kEnded,   // the peer has said that it sends no more; Encrypt still works
    kPlain,   // the client's first byte is not TLS: it speaks plain HTTP
    kFailed,  // see problem(); `wire` may hold an alert that tells the client
  };

  /// `protocol` is the ALPN name of what is spoken ("h2", "http/1.1"). A client that offers only
  /// others is refused; with `required` also one that offers none.
  TlsFilter(TlsContextPtr context, std::string protocol, bool required);
  ~TlsFilter();
  TlsFilter(const TlsFilter&) = delete;
  TlsFilter& operator=(const TlsFilter&) = delete;

  /// Takes bytes of the network and appends what they say to `*plain`. Answers of the handshake go
  /// to `wire`.
  State Receive(std::string_view bytes, std::string* plain);
  /// Encrypts at most limits::kTlsPieceBytes of `plain` into `wire`; returns how many it took. To
  /// be called when `wire` is empty. 0: the connection is not open, or failed.
  std::size_t Encrypt(std::string_view plain);
  /// Tells the peer that no more comes (close_notify). Idempotent.
  void End();

  /// What is to be sent. Valid until the next call.
  std::string_view wire() const { return std::string_view(wire_).substr(sent_); }
  /// The first `bytes` of `wire` have left.
  void Sent(std::size_t bytes);

  State state() const { return state_; }
  bool open() const { return opened_ && state_ != State::kFailed; }
  /// Bytes have come and the handshake is not over.
  bool shaking() const { return begun_ && state_ == State::kHandshake; }
  /// Of kFailed: one sentence for the log.
  const std::string& problem() const { return problem_; }
  /// Of the client, verified; null if it sent none, and before the handshake is over.
  const std::shared_ptr<const PeerCertificate>& certificate() const { return certificate_; }
  const TlsContext& context() const { return *context_; }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const;
  };
  void Shake();
  void OnOpen();
  void Read(std::string* plain);
  void Fail(std::string why);
  void Collect();

  const TlsContextPtr context_;
  const std::string protocol_;
  const bool required_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;  // owned by ssl_
  State state_ = State::kHandshake;
  bool begun_ = false, opened_ = false, told_end_ = false;
  std::string wire_;
  std::size_t sent_ = 0;
  std::string problem_;
  std::shared_ptr<const PeerCertificate> certificate_;
};

}  // namespace muster::net
