// Connection: one client's requests, in order. Bytes come from Pistache's reader; answers leave
// through a duplicated descriptor that this class owns. So a late answer can never reach the next
// owner of a descriptor number, a half-closed client still gets its answer, and a full socket
// blocks no thread.
//
// One request runs at a time; the next is read when its answer has left. That keeps pipelined
// answers in order behind asynchronous handlers and bounds the output held to one answer.
// Thread-safe; `mutex_` guards all state.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/rest/http/access_metrics.h"
#include "api/rest/http/byte_sink.h"
#include "api/rest/http/guard.h"
#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"

namespace muster::rest {

class Connection;

/// What all connections share. Each connection holds it, so it outlives them.
struct ConnectionHost {
  ConnectionHost(RouteTable table, Metrics& metrics, int pool_threads)
      : routes(std::move(table)), access(routes, metrics), workers(pool_threads) {}
  const RouteTable routes;
  AccessMetrics access;
  Workers workers;
  std::atomic<std::int64_t> tick{0};        // seconds since the start, counted by the reaper
  std::atomic<std::int64_t> held_bytes{0};  // of incomplete requests on all connections
  std::atomic<int> active{0};               // exchanges not answered yet
  std::atomic<std::uint64_t> turn{0};       // counts connections as they become idle
  std::atomic<bool> stopping{false};
  std::function<void(const Connection*)> forget;  // unlists a closed connection
  std::function<void()> answered;                 // after each exchange while stopping
};

class Connection final : public ByteSink,
                         public StreamSink,
                         public std::enable_shared_from_this<Connection> {
 public:
  /// Takes ownership of `fd`, a non-blocking stream socket.
  Connection(int fd, std::shared_ptr<ConnectionHost> host);
  ~Connection() override;

  // ByteSink.
  void OnBytes(std::string_view bytes) override;
  void OnEnd() override;

  // StreamSink.
  bool Write(std::string_view data) override;
  void WhenDrained(std::function<void()> next) override;
  void End() override;
  bool over() const override { return over_.load(std::memory_order_acquire); }

  const std::shared_ptr<ConnectionHost>& host() const { return host_; }
  /// The answer to the request that runs. Called once per request, from any thread.
  void Finish(Response response);
  /// Closes the connection if it has exceeded its time: half-read request, idle, stalled or
  /// lingering.
  void Reap(std::int64_t tick, std::int64_t idle_ticks = kIdleTicks);
  static constexpr std::int64_t kIdleTicks = 300;  // between two requests
  /// Whether the connection may be closed to make room, and in which order: idle connections by the
  /// time they became idle, then requests that have been arriving for some seconds. nullopt: it may
  /// not.
  std::optional<std::uint64_t> Dispensable() const;
  /// Closes the connection, unless a request has begun meanwhile.
  void MakeRoom();
  /// For Stop: ends a stream or an idle connection at once; an answer in flight may still leave.
  void Wind();
  void Close();

 private:
  enum class State { kOpen, kLingering, kClosed };
  using Lock = std::unique_lock<std::mutex>;

  void Drive(Lock& lock);
  void Run(Lock& lock, ParsedRequest read);
  void RefuseLocked(const Refusal& refusal);
  void AppendHead(const Response& response, bool chunked, std::size_t length, bool has_length);
  void AppendPiece(std::string_view data);
  bool FlushLocked();
  void OnWritable();
  void AfterFlushLocked();
  void Pump();
  void EndAnswerLocked();
  void LingerLocked();
  void CloseLocked();
  void CountHeldLocked();
  std::optional<std::uint64_t> DispensableLocked() const;

  const std::shared_ptr<ConnectionHost> host_;
  mutable std::mutex mutex_;
  int fd_;
  State state_ = State::kOpen;
  std::atomic<bool> over_{false};
  RequestReader reader_;
  std::size_t counted_held_ = 0;
  bool driving_ = false;  // a thread is in Drive
  bool busy_ = false;     // a request runs or its answer leaves
  bool input_ended_ = false;
  // The exchange that runs.
  bool keep_alive_ = true, http_1_0_ = false, head_ = false;
  bool chunked_ = false, answer_complete_ = false, streaming_ = false;
  int route_ = -1;
  std::int64_t started_ns_ = 0;
  BodyProducer producer_;
  bool pumping_ = false;
  std::function<void()> when_drained_;
  // Output.
  std::string out_;
  std::size_t sent_ = 0;  // bytes of out_ that have left
  bool waiting_ = false;  // the socket is full
  std::unique_ptr<Workers::Writable> writable_;
  // Time, in ticks of the host.
  std::int64_t since_ = 0;     // begin of the present phase
  std::int64_t progress_ = 0;  // when a byte last left
  std::uint64_t idle_turn_ = 0;
  std::size_t lingered_ = 0;
};

}  // namespace muster::rest
