// Relay: passes bytes between one client and gRPC, in both directions, and bounds what the
// connection costs.
//
// Not thread-safe: everything happens on the io_context's one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/grpc/front/frame_meter.h"
#include "api/net/tls/tls_filter.h"

namespace muster::api::front {

class Relay;

/// What all relays share; it outlives them. Front implements it.
class RelayHost {
 public:
  virtual ~RelayHost() = default;
  virtual boost::asio::io_context& context() = 0;
  /// Reports `resets` more cancelled calls. Returns how long the relay is not to read from its
  /// client, in milliseconds.
  virtual std::int64_t PauseMs(std::size_t resets) = 0;
  /// The number of open calls has changed by `more`. May cut any relay, the caller included.
  virtual void OnStreams(std::ptrdiff_t more) = 0;
  virtual void OnCut(const std::string& why) = 0;
  /// The TLS handshake failed.
  virtual void OnRefused(const std::string& why) = 0;
  /// The TLS handshake is over and nothing has been passed on; `tls` has the client's certificate.
  virtual void OnSecured(Relay& relay, const net::TlsFilter& tls) = 0;
  /// The relay passes nothing on any more. It may still linger, so that its client can read the
  /// reason.
  virtual void OnLeft(Relay* relay) = 0;
  /// Whether one more relay may linger; if so, EndLinger follows.
  virtual bool BeginLinger() = 0;
  virtual void EndLinger() = 0;
};

/// Milliseconds of a clock that never goes back.
std::int64_t NowMs();

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  /// Takes ownership of both descriptors, which must be non-blocking.
  Relay(RelayHost& host, int client, int server);
  ~Relay();
  /// The client speaks TLS; until the handshake is over the relay keeps gRPC's end of the socket
  /// pair, which it takes ownership of. Called before Begin.
  void Secure(net::TlsContextPtr context, int server_end);
  /// Gives gRPC's end away; -1 if it has been given.
  int TakeServerEnd();
  void Begin();
  /// Sends the client a GOAWAY with the reason, if it can be sent, and ends the connection.
  void Cut(const std::string& why);
  void Close();
  /// Called once a second. Closes a connection that has not sent its preface in `preface_ms`, or
  /// takes nothing for `stall_ms`.
  void OnTick(std::int64_t preface_ms, std::int64_t stall_ms);

  std::size_t open_streams() const { return counted_streams_; }
  /// When the client last sent something.
  std::int64_t heard_ms() const { return heard_ms_; }

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;
  /// One direction. Nothing is read from `from` while bytes are pending for `to`.
  struct Way {
    Descriptor* from = nullptr;
    Descriptor* to = nullptr;
    std::string pending;
    std::size_t sent = 0;           // bytes of `pending` that have left, or are encrypted
    net::TlsFilter* tls = nullptr;  // encrypts what goes to the client; null: plain
    std::int64_t since_ms = 0;      // when bytes last left
    bool reading = false, writing = false, ended = false;
  };

  void Read(Way& way);
  void OnReadable(Way& way);
  // Of a connection with TLS (relay_tls.cc).
  void OnCipher(std::string_view bytes);
  void OnTlsFailed();
  void EndTls();
  bool Shaking() const { return tls_ != nullptr && !tls_->open(); }
  /// Counts bytes against the budgets. False: the connection has been cut.
  bool Count(Way& way, std::string_view bytes);
  void CountStreams();
  void Pause(std::int64_t ms);
  void Write(Way& way, std::string_view bytes);
  void AwaitWritable(Way& way);
  void OnWritable(Way& way);
  void OnEnd(Way& way);
  /// Takes the relay out of the host's list and returns its open calls.
  void Leave();
  void Linger();
  /// Closes in limits a relay that has left the host's list.
  void EndSoon();
  void OnLinger();
  /// Sends what the socket takes of `bytes` and returns how much; -1 if the socket is broken.
  static std::ptrdiff_t SendSome(Descriptor& to, std::string_view bytes);
  /// The same through the filter, if the way has one: returns how many of `bytes` are encrypted.
  static std::ptrdiff_t SendSome(Way& way, std::string_view bytes);
  /// Bytes wait for the socket, plain or encrypted.
  static bool Holds(const Way& way) {
    return way.sent < way.pending.size() || (way.tls != nullptr && !way.tls->wire().empty());
  }

  RelayHost& host_;
  Descriptor client_, server_;
  std::unique_ptr<net::TlsFilter> tls_;
  int server_end_ = -1;  // gRPC's end, until the handshake is over
  Way up_, down_;        // to the server, to the client
  FrameMeter meter_;
  boost::asio::steady_timer timer_;  // of a pause, then of the lingering
  std::size_t counted_streams_ = 0;
  std::size_t lingered_ = 0;
  const std::int64_t begun_ms_;
  std::int64_t heard_ms_;
  bool paused_ = false, cut_ = false, left_ = false, lingering_ = false, closed_ = false;
};

}  // namespace muster::api::front
