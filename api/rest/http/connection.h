// Connection: one client's requests, in order. Bytes come from Pistache's reader; answers leave
// through a duplicated descriptor that this class owns. With TLS both pass a filter. So a late
// answer can never reach the next owner of a descriptor number, a half-closed client still gets its
// answer, and a full socket blocks no thread.
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

#include "api/net/peer.h"
#include "api/net/tls/tls_filter.h"
#include "api/rest/http/access_metrics.h"
#include "api/rest/http/byte_sink.h"
#include "api/rest/http/guard.h"
#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"

namespace muster::rest {

class Connection;

/// Bytes of incomplete requests: of all connections, or of those of one peer. It outlives those who
/// add to it.
using HeldBytes = std::atomic<std::int64_t>;

/// What all connections share. Each connection holds it, so it outlives them.
struct ConnectionHost {
  ConnectionHost(RouteTable table, Metrics& metrics, int pool_threads)
      : routes(std::move(table)),
        access(routes, metrics),
        tls_refused(metrics.GetCounter("muster_tls_handshakes_refused_total",
                                       "Connections that ended in the TLS handshake",
                                       {{"api", "rest"}})),
        workers(pool_threads) {}
  const RouteTable routes;
  AccessMetrics access;
  Counter& tls_refused;
  std::atomic<std::int64_t> tls_logged{-1};  // the tick of the last log line about TLS
  Workers workers;
  std::atomic<std::int64_t> tick{0};   // seconds since the start, counted by the reaper
  HeldBytes held_bytes{0};             // on all connections
  std::atomic<int> active{0};          // exchanges not answered yet
  std::atomic<std::uint64_t> turn{0};  // counts connections as they become idle
  std::atomic<bool> stopping{false};
  std::function<void(const Connection*)> forget;  // unlists a closed connection
  std::function<void()> answered;                 // after each exchange while stopping
};

class Connection final : public ByteSink,
                         public StreamSink,
                         public std::enable_shared_from_this<Connection> {
 public:
  /// Takes ownership of `fd`, a non-blocking stream socket whose other end is `peer` (may be null
  /// in tests). `peer_held`: shared by all connections of the peer; null if it is not bounded.
  Connection(int fd, std::shared_ptr<ConnectionHost> host, net::PeerPtr peer = nullptr,
             std::shared_ptr<HeldBytes> peer_held = nullptr);
  ~Connection() override;

  /// Speaks TLS, unless it is a Unix socket. Called before the first byte.
  void Secure(net::TlsContextPtr context);

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
  // connection_tls.cc.
  bool DecryptLocked(std::string_view bytes, std::string* plain);
  void OnSecuredLocked();
  void OnTlsFailedLocked();
  std::string_view NextLocked();
  void LeftLocked(std::size_t bytes);
  void EndTlsLocked();
  bool ShakingLocked() const { return tls_ != nullptr && tls_->shaking(); }
  void OnWritable();
  void AfterFlushLocked();
  void Pump();
  void EndAnswerLocked();
  void LingerLocked();
  void CloseLocked();
  void CountHeldLocked();
  bool PeerHoldsTooMuch() const;
  std::optional<std::uint64_t> DispensableLocked() const;

  const std::shared_ptr<ConnectionHost> host_;
  const std::shared_ptr<HeldBytes> peer_held_;
  mutable std::mutex mutex_;
  int fd_;
  State state_ = State::kOpen;
  std::atomic<bool> over_{false};
  /// Replaced once the handshake of TLS is over.
  net::PeerPtr peer_;
  /// Null: plain. Guarded by mutex_ like all else: the reading thread and the threads that answer
  /// use it, and OpenSSL takes no two at once.
  std::unique_ptr<net::TlsFilter> tls_;
  RequestReader reader_;
  std::size_t counted_held_ = 0;
  bool driving_ = false;  // a thread is in Drive
  bool busy_ = false;     // a request runs or its answer leaves
  bool input_ended_ = false;
  // The exchange that runs.
  bool keep_alive_ = true, http_1_0_ = false, head_ = false;
  bool chunked_ = false, answer_complete_ = false, streaming_ = false;
  int route_ = -1;
  std::string request_id_;
  std::int64_t started_ns_ = 0;
  BodyProducer producer_;
  bool pumping_ = false;
  std::function<void()> when_drained_;
  // Output.
  std::string out_;
  std::size_t sent_ = 0;  // bytes of out_ that have left, or are in the filter's `wire`
  bool waiting_ = false;  // the socket is full
  std::unique_ptr<Workers::Writable> writable_;
  // Time, in ticks of the host.
  std::int64_t since_ = 0;     // begin of the present phase
  std::int64_t progress_ = 0;  // when a byte last left
  std::uint64_t idle_turn_ = 0;
  std::size_t lingered_ = 0;
};

}  // namespace muster::rest
