// HttpLoad: N keep-alive connections, each sending its next request when the last was answered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace muster::bench {

struct LoadResult {
  std::size_t answered = 0;  // 2xx
  std::size_t refused = 0;   // other answers
  double seconds = 0;
  std::vector<double> latencies;          // of the 2xx, seconds
  std::vector<std::string> acknowledged;  // request names answered 2xx, if `remember`
  std::string first_refusal;
  double rate() const { return seconds > 0 ? static_cast<double>(answered) / seconds : 0; }
};

struct LoadOptions {
  int port = 0;
  int connections = 8;
  std::size_t requests = 0;  // 0: until `seconds`
  double seconds = 0;
  bool remember = false;
  std::string method = "POST";
  /// Path and body of request number `i`, and its name.
  std::function<void(std::size_t i, std::string* name, std::string* path, std::string* body)> make;
};

/// One epoll thread; a connection that the server drops ends its part of the load.
LoadResult RunLoad(const LoadOptions& options);

}  // namespace muster::bench
