// HttpLoad: N keep-alive connections, each of which sends its next request when the last one is
// answered, or when the next one is due at a given rate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/tls_client.h"

namespace muster::bench {

struct LoadResult {
  std::size_t answered = 0;  // 2xx
  std::size_t refused = 0;   // other answers
  double seconds = 0;
  std::vector<double> latencies;          // seconds of each answer in 200..299
  std::vector<std::string> acknowledged;  // names of requests that were answered 2xx, if `remember`
  std::string first_refusal;
  double rate() const { return seconds > 0 ? static_cast<double>(answered) / seconds : 0; }
};

struct LoadOptions {
  int port = 0;
  int connections = 8;
  std::size_t requests = 0;  // 0: until `seconds`
  double seconds = 0;
  /// Requests a second over all connections, each sent when it is due, also if others have not
  /// been answered; a latency begins then, so that waiting for a connection counts. 0: each
  /// connection sends its next request at once.
  double rate = 0;
  bool remember = false;
  std::string method = "POST";
  /// Null: plain. The handshakes are over before the first request is sent.
  const TlsClient* tls = nullptr;
  /// Sent as `Authorization: Bearer`, one after another; empty: none.
  std::vector<std::string> bearer_tokens;
  /// Sets the name, path and body of request number `i`.
  std::function<void(std::size_t i, std::string* name, std::string* path, std::string* body)> make;
};

/// One epoll thread. A connection that the server closes sends no more requests.
LoadResult RunLoad(const LoadOptions& options);

}  // namespace muster::bench
