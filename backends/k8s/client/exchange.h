// Exchange: one request of a member's client, from Send to its callback. RequestQueue: the requests
// that wait for a connection. Used on the client's strand only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/connection.h"
#include "backends/k8s/client/deadlines.h"
#include "backends/k8s/client/response_reader.h"

namespace muster::k8s {

struct Exchange {
  enum class Stage { kWaiting, kConnecting, kWriting, kWritten, kOver };

  ApiRequest request;
  Callback<ApiResponse> done;
  Stage stage = Stage::kWaiting;
  Monotonic deadline;
  Deadlines::Key timer;
  std::uint64_t arrival = 0;  // numbers the requests in their order
  // These belong to the present attempt to send it.
  std::shared_ptr<Connection> connection;
  std::optional<ResponseReader> reader;
  std::uint64_t auth_generation = 0;
  bool reused = false;    // the connection has served another request before
  bool answered = false;  // a byte of the answer has come
  // These last over all attempts.
  bool fresh = false;    // needs a new connection
  bool renewed = false;  // credentials were renewed for it once
  bool probe = false;    // sent while the circuit is open

  bool safe() const { return request.method == "GET"; }
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// Requests in the order of urgency, then arrival. Every sixteenth turn goes to the oldest of all,
/// so that a flood of releases does not keep a list waiting for ever.
class RequestQueue {
 public:
  void Push(ExchangePtr exchange);
  /// Before all others of its urgency.
  void PushFront(ExchangePtr exchange);
  /// The next request that still waits; null if there is none. `lists`: a kList may be taken.
  ExchangePtr Pop(bool lists);
  /// All requests that wait, in the order of urgency.
  std::vector<ExchangePtr> TakeAll();

 private:
  using Line = std::deque<ExchangePtr>;
  static void DropFinished(Line* line);
  std::array<Line, 4> lines_;
  std::uint64_t pops_ = 0;
};

}  // namespace muster::k8s
