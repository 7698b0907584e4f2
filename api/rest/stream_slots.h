// StreamSlots: at most limits::kStreams open streams, of events and logs together, shared fairly
// among users. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/rest/http/message.h"

namespace muster::rest {

/// Held while a stream is open. May outlive the StreamSlots.
class StreamSlot {
 public:
  virtual ~StreamSlot() = default;
  /// The stream that holds it, so that it can be ended when another user needs its place.
  virtual void Attach(std::weak_ptr<StreamSink> sink) = 0;
};

class StreamSlots {
 public:
  StreamSlots();
  /// Null when all are taken and `user` has a fair share: else the user who has the most, at least
  /// two more, loses the oldest.
  std::shared_ptr<StreamSlot> Take(const std::string& user);

 private:
  struct Table;
  class Slot;
  std::shared_ptr<Table> table_;
};

}  // namespace muster::rest
