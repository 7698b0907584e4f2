// Connection: one client's requests, in order. Bytes come from Pistache's reader; answers leave
// through a duplicated descriptor that this class owns. With TLS both pass a filter. So a late
// answer can never reach the next owner of a descriptor number, a half-closed client still gets its
// answer, and a full socket blocks no thread.
//
// One request runs at a time; the next is read when its answer has left. That keeps pipelined
// answers in order behind asynchronous handlers and bounds the output held to one answer.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/net/peer.h"
#include "api/net/tls/tls_filter.h"
#include "api/rest/http/access_metrics.h"
#include "api/rest/http/byte_sink.h"
#include "api/rest/http/guard.h"
#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"
#include "schedd/base/limits_member_reads.h"
#include "schedd/base/mutex.h"

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
        workers(pool_threads, limits::kRestMemberThreads) {}
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
  void Break() override;
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

  void Drive() MUSTER_REQUIRES(mutex_);
  void Run(ParsedRequest read) MUSTER_REQUIRES(mutex_);
  void RefuseLocked(const Refusal& refusal) MUSTER_REQUIRES(mutex_);
  void AppendHead(const Response& response, bool chunked, std::size_t length, bool has_length)
      MUSTER_REQUIRES(mutex_);
  void AppendPiece(std::string_view data) MUSTER_REQUIRES(mutex_);
  bool FlushLocked() MUSTER_REQUIRES(mutex_);
  void BreakLocked() MUSTER_REQUIRES(mutex_);
  // connection_tls.cc.
  bool DecryptLocked(std::string_view bytes, std::string* plain) MUSTER_REQUIRES(mutex_);
  void OnSecuredLocked() MUSTER_REQUIRES(mutex_);
  void OnTlsFailedLocked() MUSTER_REQUIRES(mutex_);
  std::string_view NextLocked() MUSTER_REQUIRES(mutex_);
  void LeftLocked(std::size_t bytes) MUSTER_REQUIRES(mutex_);
  void EndTlsLocked() MUSTER_REQUIRES(mutex_);
  bool ShakingLocked() const MUSTER_REQUIRES(mutex_) { return tls_ != nullptr && tls_->shaking(); }
  void OnWritable();
  void AfterFlushLocked() MUSTER_REQUIRES(mutex_);
  void Pump();
  void EndAnswerLocked() MUSTER_REQUIRES(mutex_);
  void LingerLocked() MUSTER_REQUIRES(mutex_);
  void CloseLocked() MUSTER_REQUIRES(mutex_);
  void CountHeldLocked() MUSTER_REQUIRES(mutex_);
  bool PeerHoldsTooMuch() const;
  std::optional<std::uint64_t> DispensableLocked() const MUSTER_REQUIRES(mutex_);

  const std::shared_ptr<ConnectionHost> host_;
  const std::shared_ptr<HeldBytes> peer_held_;
  mutable Mutex mutex_;
  int fd_ MUSTER_GUARDED_BY(mutex_);
  State state_ MUSTER_GUARDED_BY(mutex_) = State::kOpen;
  std::atomic<bool> over_{false};
  /// Replaced once the handshake of TLS is over.
  net::PeerPtr peer_ MUSTER_GUARDED_BY(mutex_);
  /// Null: plain. The reading thread and the threads that answer use it, and OpenSSL takes no two
  /// at once.
  std::unique_ptr<net::TlsFilter> tls_ MUSTER_GUARDED_BY(mutex_);
  RequestReader reader_ MUSTER_GUARDED_BY(mutex_);
  std::size_t counted_held_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool driving_ MUSTER_GUARDED_BY(mutex_) = false;  // a thread is in Drive
  bool busy_ MUSTER_GUARDED_BY(mutex_) = false;     // a request runs or its answer leaves
  bool input_ended_ MUSTER_GUARDED_BY(mutex_) = false;
  // The exchange that runs.
  bool keep_alive_ MUSTER_GUARDED_BY(mutex_) = true;
  bool http_1_0_ MUSTER_GUARDED_BY(mutex_) = false;
  bool head_ MUSTER_GUARDED_BY(mutex_) = false;
  bool chunked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool answer_complete_ MUSTER_GUARDED_BY(mutex_) = false;
  bool streaming_ MUSTER_GUARDED_BY(mutex_) = false, end_tells_ MUSTER_GUARDED_BY(mutex_) = false;
  int route_ MUSTER_GUARDED_BY(mutex_) = -1;
  std::string request_id_ MUSTER_GUARDED_BY(mutex_);
  std::int64_t started_ns_ MUSTER_GUARDED_BY(mutex_) = 0;
  BodyProducer producer_ MUSTER_GUARDED_BY(mutex_);
  bool pumping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool asks_member_ MUSTER_GUARDED_BY(mutex_) = false;  // see Response
  std::function<void()> when_drained_ MUSTER_GUARDED_BY(mutex_);
  // Output.
  std::string out_ MUSTER_GUARDED_BY(mutex_);
  // Bytes of out_ that have left, or are in the filter's `wire`.
  std::size_t sent_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool waiting_ MUSTER_GUARDED_BY(mutex_) = false;  // the socket is full
  std::unique_ptr<Workers::Writable> writable_ MUSTER_GUARDED_BY(mutex_);
  // Time, in ticks of the host.
  std::int64_t since_ MUSTER_GUARDED_BY(mutex_) = 0;     // begin of the present phase
  std::int64_t progress_ MUSTER_GUARDED_BY(mutex_) = 0;  // when a byte last left
  std::uint64_t idle_turn_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::size_t lingered_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::rest
