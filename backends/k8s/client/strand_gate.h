// StrandGate: the way onto a client's strand for every other thread (timers, name look-ups, exec
// plugins, callers), and the lock on that way once the client has stopped, so that nobody posts to
// threads that may be gone. Those others may hold it longer than the threads live. Thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "schedd/base/check.h"

namespace muster::k8s {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

class StrandGate {
 public:
  explicit StrandGate(boost::asio::io_context& context)
      : strand_(boost::asio::make_strand(context)) {}

  /// False, and `work` is dropped, once closed.
  bool Post(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    boost::asio::post(*strand_, std::move(work));
    return true;
  }
  /// Runs `last` after everything that was posted; what comes later is refused. False if it was
  /// closed before.
  bool Close(std::function<void()> last) {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return false;
    boost::asio::post(*strand_, std::move(last));
    return true;
  }
  /// Once `last` has run: lets go of the strand, which must not be held when the threads end.
  void Release() {
    std::lock_guard lock(mutex_);
    MUSTER_CHECK(closed_);
    strand_.reset();
  }
  /// Not after Release.
  Strand strand() const {
    std::lock_guard lock(mutex_);
    MUSTER_CHECK(strand_.has_value());
    return *strand_;
  }
  /// False after Release.
  bool OnStrand() const {
    std::lock_guard lock(mutex_);
    return strand_.has_value() && strand_->running_in_this_thread();
  }

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Strand> strand_;
  bool closed_ = false;
};

}  // namespace muster::k8s
