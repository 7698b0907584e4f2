// FrameStream: a connected stream socket that carries frames: four bytes of length, most
// significant first, then so many bytes.
//
// One thread reads; any thread sends. Sending never blocks: a thread of the stream's own writes,
// and a peer that does not read is cut off when too much waits for it.
#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::launcher {

class FrameStream {
 public:
  /// Takes the descriptor over. `most_bytes`: of one frame; `waiting_bytes`: of all frames that
  /// wait to be written.
  FrameStream(int fd, std::size_t most_bytes, std::size_t waiting_bytes);
  /// Ends the stream.
  ~FrameStream();
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  /// Waits for the next frame. Errors: kUnavailable (the stream has ended, or SetReadTimeout's time
  /// is over), kInvalidArgument (the frame is too long; the stream cannot be read any further).
  Result<std::string> Read();
  /// Waits until Read has something to read, which the end of the stream is too; false: nothing
  /// came within this time.
  bool Await(std::int64_t ms) const;
  /// 0: wait for ever, the default.
  void SetReadTimeout(std::int64_t ms);
  /// False if the stream has ended, the frame is too long, or too much waits already; the last ends
  /// the stream.
  bool Send(std::string frame);
  /// Waits until all that was sent is written, but no longer than this, and ends the stream.
  void EndAfterSending(std::int64_t within_ms);
  /// Ends both directions at once: a Read under way returns, and frames that wait are dropped.
  void End();
  /// The user of the process at the other end, as the kernel knows it; unset: not known.
  std::optional<uid_t> peer() const;

 private:
  void Write();
  bool WriteAll(const char* data, std::size_t size) const;

  const int fd_;
  const std::size_t most_bytes_, waiting_most_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::size_t waiting_bytes_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool ended_ MUSTER_GUARDED_BY(mutex_) = false;
  bool closing_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread writer_;
};

}  // namespace muster::launcher
