// StrandGate: the way for other threads (timers, name look-ups, exec plugins, callers) onto a
// client's strand. Once the client has stopped the gate is closed, so that no thread posts to an
// io_context that may be gone; such threads may hold the gate longer than the client lives.
// Thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

class StrandGate {
 public:
  explicit StrandGate(boost::asio::io_context& context)
      : strand_(boost::asio::make_strand(context)) {}

  /// False, and `work` is dropped, once the gate is closed.
  bool Post(std::function<void()> work) {
    MutexLock lock(mutex_);
    if (closed_) return false;
    boost::asio::post(*strand_, std::move(work));
    return true;
  }
  /// Runs `last` after everything that was posted before; later posts are refused. False if the
  /// gate was closed already.
  bool Close(std::function<void()> last) {
    MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return false;
    boost::asio::post(*strand_, std::move(last));
    return true;
  }
  /// To be called once `last` has run: drops the strand, which must not be held when the threads
  /// end.
  void Release() {
    MutexLock lock(mutex_);
    MUSTER_CHECK(closed_);
    strand_.reset();
  }
  /// Must not be called after Release.
  Strand strand() const {
    MutexLock lock(mutex_);
    MUSTER_CHECK(strand_.has_value());
    return *strand_;
  }
  /// False after Release.
  bool OnStrand() const {
    MutexLock lock(mutex_);
    return strand_.has_value() && strand_->running_in_this_thread();
  }

 private:
  mutable Mutex mutex_;
  std::optional<Strand> strand_ MUSTER_GUARDED_BY(mutex_);
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::k8s
