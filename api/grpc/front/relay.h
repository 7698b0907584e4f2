// Relay: one connection between a client and gRPC, both ways, and what it may cost.
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

/// What all relays share. Outlives them.
class RelayHost {
 public:
  virtual ~RelayHost() = default;
  virtual boost::asio::io_context& context() = 0;
  /// After so many cancelled calls of one connection: how long it is to be read no further.
  virtual std::int64_t PauseMs(std::size_t resets) = 0;
  /// So many more calls are open; may cut any relay.
  virtual void OnStreams(std::ptrdiff_t more) = 0;
  virtual void OnCut(const std::string& why) = 0;
  /// It passes nothing on any more; it may still linger for its client to read why.
  virtual void OnLeft(Relay* relay) = 0;
  /// Whether one more may linger; then EndLinger follows.
  virtual bool BeginLinger() = 0;
  virtual void EndLinger() = 0;
};

/// Milliseconds since some start.
std::int64_t NowMs();

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  /// Takes ownership of both; non-blocking.
  Relay(RelayHost& host, int client, int server);
  void Begin();
  /// Tells the client why, if that can be told, and ends the connection.
  void Cut(const std::string& why);
  void Close();
  /// Once a second: ends what has not begun, or takes nothing, for too long.
  void OnTick(std::int64_t preface_ms, std::int64_t stall_ms);

  std::size_t open_streams() const { return counted_streams_; }
  /// When the client sent something last.
  std::int64_t heard_ms() const { return heard_ms_; }

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;
  /// One direction. While something is pending nothing more is read.
  struct Way {
    Descriptor* from = nullptr;
    Descriptor* to = nullptr;
    std::string pending;
    std::size_t sent = 0;  // of pending
    std::int64_t since_ms = 0;  // when bytes left last
    bool reading = false, writing = false, ended = false;
  };

  void Read(Way& way);
  void OnReadable(Way& way);
  /// False: the connection has been cut.
  bool Count(Way& way, std::string_view bytes);
  void CountStreams();
  void Pause(std::int64_t ms);
  void Write(Way& way, std::string_view bytes);
  void AwaitWritable(Way& way);
  void OnWritable(Way& way);
  void OnEnd(Way& way);
  /// Gives its calls and its place back.
  void Leave();
  void Linger();
  void OnLinger();
  /// Sends what the socket takes of `bytes`; -1: broken.
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
