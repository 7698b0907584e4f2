// PodLogs: output of containers by byte offset, over an API that only knows "from the start" and
// "from now on". A log that is read piece by piece is one open stream of the member, kept for a
// minute between the pieces; a place that the stream has passed is read from the start again.
//
// Thread-safe; Read blocks, within bounds. At most kStreams streams are kept open, each with at
// most about a megabyte.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

class PodLogs {
 public:
  explicit PodLogs(const Clock& clock) : clock_(clock) {}
  ~PodLogs();

  /// Part of the output of `container` of `pod`. kFailedPrecondition: the container has not
  /// started.
  Result<LogChunk> Read(const SessionPtr& session, const PodState& pod,
                        const std::string& container, const LogQuery& query);
  /// Closes streams that have not been read from for a minute. To be called every few seconds.
  void CloseIdle();
  /// Closes every stream of a session that ends.
  void Forget(const Session* session);

 private:
  class Stream;
  /// A stream that waits for the next Read.
  struct IdleStream {
    const Session* session = nullptr;
    std::string pod_uid, container;
    bool timestamps = false;
    std::shared_ptr<Stream> stream;
    Monotonic used;
  };
  std::shared_ptr<Stream> Take(const Session* session, const PodState& pod,
                               const std::string& container, const LogQuery& query);
  void Keep(IdleStream open);
  static std::shared_ptr<Stream> OpenLog(const SessionPtr& session, const PodState& pod,
                                         const std::string& container, const LogQuery& query,
                                         std::size_t tail);
  static Error AsLogError(const Session& session, Error error, const PodState& pod,
                          const std::string& container);
  Result<LogChunk> ReadEnd(const SessionPtr& session, const PodState& pod,
                           const std::string& container, const LogQuery& query);

  const Clock& clock_;
  Mutex mutex_;
  // The streams that no call is reading; the longest unused first.
  std::list<IdleStream> open_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::k8s
