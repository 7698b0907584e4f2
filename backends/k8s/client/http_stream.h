// HttpStream: one long answer on a connection of its own, passed to a StreamSink as it comes.
// Strand only. StreamHandle is the end that its user holds.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/client_core.h"

namespace muster::k8s {

class HttpStream : public std::enable_shared_from_this<HttpStream> {
 public:
  HttpStream(std::shared_ptr<ClientCore> core, StreamRequest request,
             std::shared_ptr<StreamSink> sink);
  /// Starts the time-out for the response's head.
  void Await();
  /// Connects and sends the request; the core calls it when there are credentials.
  void Start(const Auth& auth);
  /// Ends the stream, with OnEnd unless its user has closed it.
  void End(Status how);
  void Resume();
  bool over() const { return over_; }
  /// Any thread: no call of the sink begins after it.
  void Hush() { hushed_.store(true, std::memory_order_release); }

 private:
  void Read();
  void Came(Connection::ErrorCode error, std::string_view bytes);
  bool HeadCame();
  void Lost(Error error);
  void Deliver();
  void WatchForSilence();
  void LookForSilence();
  bool hushed() const { return hushed_.load(std::memory_order_acquire); }

  const std::shared_ptr<ClientCore> core_;
  const StreamRequest request_;
  std::shared_ptr<StreamSink> sink_;
  std::atomic<bool> hushed_{false};
  std::shared_ptr<Connection> connection_;
  std::optional<ResponseReader> reader_;
  std::uint64_t auth_generation_ = 0;
  Deadlines::Key timer_;
  Monotonic heard_;         // the time of the last byte
  bool streaming_ = false;  // the head was 200
  bool renewed_ = false;    // credentials were renewed for it once
  bool paused_ = false;     // OnData returned false
  bool reading_ = false;    // a read is under way
  bool over_ = false;
  std::string rest_;           // received, not delivered: part of a line, or held back by a pause
  std::size_t scanned_ = 0;    // so many bytes of rest_ have no newline
  std::optional<Status> how_;  // the answer has ended, and something may still be undelivered
};

/// Its destructor closes the stream.
class StreamHandle final : public ApiStream {
 public:
  StreamHandle(std::shared_ptr<ClientCore> core, std::shared_ptr<HttpStream> stream)
      : core_(std::move(core)), stream_(std::move(stream)) {}
  ~StreamHandle() override { Close(); }
  void Close() override;
  void Resume() override;

 private:
  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<HttpStream> stream_;
};

}  // namespace muster::k8s
