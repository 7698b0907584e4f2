// ByteSink: the interface between the transport that reads (Pistache) and a connection. No Pistache
// type and no parsing here.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace muster::rest {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Bytes in order. Called by one reading thread at a time.
  virtual void OnBytes(std::string_view bytes) = 0;
  /// The peer sends no more: it closed, half-closed or broke the connection. The last call.
  virtual void OnEnd() = 0;
};

/// Makes the sink of a new connection. `fd` is the transport's own descriptor, valid only during
/// the call; the sink duplicates it to write. Null: the connection is refused and closed.
using ConnectionFactory = std::function<std::shared_ptr<ByteSink>(int fd)>;

}  // namespace muster::rest
