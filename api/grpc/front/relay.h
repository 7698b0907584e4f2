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
    std::size_t sent = 0;       // bytes of `pending` that have left
    std::int64_t since_ms = 0;  // when bytes last left
    bool reading = false, writing = false, ended = false;
  };

  void Read(Way& way);
  void OnReadable(Way& way);
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
  void OnLinger();
  /// Sends what the socket takes of `bytes` and returns how much; -1 if the socket is broken.
  static std::ptrdiff_t SendSome(Descriptor& to, std::string_view bytes);

  RelayHost& host_;
  Descriptor client_, server_;
  Way up_, down_;  // to the server, to the client
  FrameMeter meter_;
  boost::asio::steady_timer timer_;  // of a pause, then of the lingering
  std::size_t counted_streams_ = 0;
  std::size_t lingered_ = 0;
  const std::int64_t begun_ms_;
  std::int64_t heard_ms_;
  bool paused_ = false, cut_ = false, left_ = false, lingering_ = false, closed_ = false;
};

}  // namespace muster::api::front
