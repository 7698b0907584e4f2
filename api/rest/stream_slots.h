// StreamSlots: at most limits::kStreams open streams of events and logs together, shared fairly
// among users. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"

namespace muster::rest {

/// The place of one open stream; destroying it frees the place. May outlive the StreamSlots.
class StreamSlot {
 public:
  virtual ~StreamSlot() = default;
  /// Names the stream that holds the place, so that it can be ended when another user needs the
  /// place.
  virtual void Attach(std::weak_ptr<StreamSink> sink) = 0;
};

class StreamSlots {
 public:
  StreamSlots();
  /// A place for a stream of `user`; `counted` is held as long as the stream (api::StreamCounts).
  /// When all are taken, the user with the most streams, if that is at least two more than `user`
  /// has, loses the oldest one; else kResourceExhausted with a retry time.
  Result<std::shared_ptr<StreamSlot>> Take(const std::string& user,
                                           std::shared_ptr<const void> counted);

 private:
  struct Table;
  class Slot;
  std::shared_ptr<Table> table_;
};

}  // namespace muster::rest
