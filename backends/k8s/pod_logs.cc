// PodLogs: log streams that are paused and resumed between reads.
//
// Kubernetes serves a log from its start and cannot seek. Read therefore opens the log once, drops
// the bytes before the offset, and keeps the stream: the next Read normally asks for the place
// where the last one ended. OnData collects up to kAheadBytes beyond what was read, then pauses the
// stream.
//
// Read waits for kFirstWait for the first bytes, then until the piece is full, the log has ended,
// or no bytes come for kQuiet. So a reader that follows a running container gets what there is
// without delay. A negative offset (the end of the log) reads the whole log and keeps only its last
// bytes.
//
// While a call reads a stream, it is taken out of the list: two readers of one log have two
// streams. Bytes that a node has rotated away are lost; an offset then counts from what is left.
#include "backends/k8s/pod_logs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/k8s/member_json.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr std::size_t kStreams = limits::kStreams;
constexpr std::int64_t kIdle = 60 * kNanosPerSecond;
// How much is read ahead of the caller.
constexpr std::size_t kAheadBytes = 1 << 20;
constexpr std::chrono::milliseconds kFirstWait{5000}, kQuiet{150}, kWholeWait{30'000};

bool Ended(const PodState& pod) {
  return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
}

}  // namespace

// One log, read from its first byte on.
class PodLogs::Stream final : public StreamSink {
 public:
  // Keeps the bytes from `begin` to the newest. `tail` > 0: keeps instead the last `tail` bytes of
  // all.
  Stream(std::int64_t begin, std::size_t tail) : begin_(begin), tail_(tail) {}

  void SetStream(std::shared_ptr<ApiStream> stream) {
    MutexLock lock(mutex_);
    stream_ = std::move(stream);
  }
  void Close() {
    std::shared_ptr<ApiStream> stream;
    {
      MutexLock lock(mutex_);
      stream.swap(stream_);
    }
    if (stream != nullptr) stream->Close();
  }

  void OnResponse(const ApiResponse& response) override {
    MutexLock lock(mutex_);
    opened_ = true;
    if (!response.ok()) failure_ = ErrorOf(response);
    changed_.NotifyAll();
  }
  bool OnData(std::string_view data) override {
    MutexLock lock(mutex_);
    const auto size = static_cast<std::int64_t>(data.size());
    total_ += size;
    if (tail_ > 0) {
      data_.append(data);
      if (data_.size() > 2 * tail_) data_.erase(0, data_.size() - tail_);
      begin_ = total_ - static_cast<std::int64_t>(data_.size());
    } else if (total_ > begin_) {
      // Bytes before `begin_` are dropped.
      const std::int64_t skip = std::max<std::int64_t>(0, size - (total_ - End()));
      data_.append(data.substr(static_cast<std::size_t>(skip)));
    }
    changed_.NotifyAll();
    paused_ = tail_ == 0 && data_.size() >= kAheadBytes;
    return !paused_;
  }
  void OnEnd(const Status& how) override {
    MutexLock lock(mutex_);
    opened_ = ended_ = true;
    if (!how.ok() && !failure_) failure_ = how.error();
    changed_.NotifyAll();
  }

  // Whether the byte at `offset` is still held or yet to come.
  bool Covers(std::int64_t offset) const {
    MutexLock lock(mutex_);
    return begin_ <= offset && !failure_;
  }
  // Waits for data at `offset`, until the piece is full, the log has ended, or it is quiet. A
  // stream that was quiet at the last read is not waited for. `answers`: the member answers before
  // the first byte, so that no answer is an error. `over`: the piece reaches to the end of the
  // answer.
  Result<LogChunk> Read(std::int64_t offset, std::size_t max_bytes, bool answers, bool* over) {
    MutexLock lock(mutex_);
    if (!waited_) {
      changed_.WaitFor(mutex_, kFirstWait,
                       [&]() MUSTER_REQUIRES(mutex_) { return ended_ || End() > offset; });
      waited_ = true;
    }
    const std::int64_t wanted = offset + static_cast<std::int64_t>(max_bytes);
    for (std::int64_t before = -1; !ended_ && !paused_ && total_ != before && End() < wanted;) {
      before = total_;
      if (!quiet_ || End() > offset || total_ < offset) {
        changed_.WaitFor(mutex_, kQuiet, [&]() MUSTER_REQUIRES(mutex_) {
          return ended_ || paused_ || End() >= wanted;
        });
      }
    }
    quiet_ = End() <= offset;
    if (failure_) return *failure_;
    if (answers && !opened_) return Unavailable("the member does not answer");
    LogChunk chunk = PieceLocked(offset, max_bytes);
    *over = ended_ && chunk.next_offset >= End();
    std::shared_ptr<ApiStream> resume;
    if (paused_ && data_.size() < kAheadBytes) {
      paused_ = false;
      resume = stream_;
    }
    lock.Unlock();
    if (resume != nullptr) resume->Resume();
    return chunk;
  }
  // Waits for the end of the whole answer, then gives its last `bytes`.
  Result<LogChunk> ReadTail(std::size_t bytes, std::size_t max_bytes) {
    MutexLock lock(mutex_);
    if (!changed_.WaitFor(mutex_, kWholeWait, [&]() MUSTER_REQUIRES(mutex_) { return ended_; }))
      return Unavailable("the log did not come in time");
    if (failure_) return *failure_;
    if (data_.size() > bytes) {
      data_.erase(0, data_.size() - bytes);
      begin_ = total_ - static_cast<std::int64_t>(data_.size());
    }
    return PieceLocked(begin_, max_bytes);
  }

 private:
  std::int64_t End() const MUSTER_REQUIRES(mutex_) {
    return begin_ + static_cast<std::int64_t>(data_.size());
  }

  // A piece from `offset` on. Bytes before it are dropped; those of the piece stay, so that the
  // same place can be read twice.
  LogChunk PieceLocked(std::int64_t offset, std::size_t max_bytes) MUSTER_REQUIRES(mutex_) {
    LogChunk chunk;
    const std::int64_t from = std::clamp(offset, begin_, End());
    data_.erase(0, static_cast<std::size_t>(from - begin_));
    begin_ = from;
    chunk.data = data_.substr(0, max_bytes);
    chunk.next_offset = std::max(offset, from + static_cast<std::int64_t>(chunk.data.size()));
    return chunk;
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<ApiStream> stream_ MUSTER_GUARDED_BY(mutex_);
  std::string data_ MUSTER_GUARDED_BY(mutex_);
  // The offset of data_[0] in the log.
  std::int64_t begin_ MUSTER_GUARDED_BY(mutex_) = 0;
  const std::size_t tail_;
  // Bytes received in all.
  std::int64_t total_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool opened_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ended_ MUSTER_GUARDED_BY(mutex_) = false;
  bool paused_ MUSTER_GUARDED_BY(mutex_) = false;
  bool waited_ MUSTER_GUARDED_BY(mutex_) = false;
  bool quiet_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ MUSTER_GUARDED_BY(mutex_);
};

PodLogs::~PodLogs() {
  for (const IdleStream& one : open_) one.stream->Close();
}

Result<LogChunk> PodLogs::Read(const SessionPtr& session, const PodState& pod,
                               const std::string& container, const LogQuery& query) {
  if (query.offset < 0) return ReadEnd(session, pod, container, query);
  std::shared_ptr<Stream> stream = Take(session.get(), pod, container, query);
  if (stream == nullptr) stream = OpenLog(session, pod, container, query, 0);
  bool over = false;
  // A kubelet answers a request that follows with the first line, which may be hours away.
  Result<LogChunk> chunk = stream->Read(query.offset, query.max_bytes, Ended(pod), &over);
  if (!chunk.ok() || over) {
    stream->Close();
    if (!chunk.ok()) return AsLogError(*session, chunk.error(), pod, container);
    // A stream may end while its pod runs on; the next Read opens another.
    chunk->ended = Ended(pod);
    return chunk;
  }
  Keep({session.get(), pod.uid, container, query.timestamps, std::move(stream), clock_.Now()});
  return chunk;
}

// A negative offset: reads the whole log for its last bytes.
Result<LogChunk> PodLogs::ReadEnd(const SessionPtr& session, const PodState& pod,
                                  const std::string& container, const LogQuery& query) {
  const auto bytes = static_cast<std::size_t>(
      std::min<std::int64_t>(-query.offset, static_cast<std::int64_t>(limits::kLogReadBytes)));
  const std::shared_ptr<Stream> stream = OpenLog(session, pod, container, query, bytes);
  Result<LogChunk> chunk = stream->ReadTail(bytes, query.max_bytes);
  stream->Close();
  if (!chunk.ok()) return AsLogError(*session, chunk.error(), pod, container);
  chunk->ended = Ended(pod) && query.max_bytes >= bytes;
  return chunk;
}

// Opens the log with follow, unless the pod has ended.
std::shared_ptr<PodLogs::Stream> PodLogs::OpenLog(const SessionPtr& session, const PodState& pod,
                                                  const std::string& container,
                                                  const LogQuery& query, std::size_t tail) {
  auto stream = std::make_shared<Stream>(std::max<std::int64_t>(0, query.offset), tail);
  StreamRequest request;
  request.target =
      ObjectPath("v1", "pods", pod.ns, pod.name) + "/log?container=" + PercentEncode(container);
  if (tail == 0 && !Ended(pod)) request.target += "&follow=true";
  if (query.timestamps) request.target += "&timestamps=true";
  request.lines = false;
  request.idle_timeout_ms = 0;
  request.open_timeout_ms = 10'000;
  stream->SetStream(session->client().OpenStream(std::move(request), stream));
  return stream;
}

// A member that refuses its own user says nothing about what the caller may read.
Error PodLogs::AsLogError(const Session& session, Error error, const PodState& pod,
                          const std::string& container) {
  // The API server answers 400 for a container that waits to start.
  if (error.code == Code::kInvalidArgument) error.code = Code::kFailedPrecondition;
  if (error.code == Code::kUnknown) error.code = Code::kUnavailable;
  error.detail = "log of " + pod.name + "/" + container + ": " + error.detail;
  if (error.code == Code::kUnauthenticated || error.code == Code::kPermissionDenied) {
    return Unavailable("member cluster " + session.member() +
                       " refuses to show it: " + error.detail);
  }
  return error;
}

// Takes an idle stream that can serve the query out of the list; null if there is none.
std::shared_ptr<PodLogs::Stream> PodLogs::Take(const Session* session, const PodState& pod,
                                               const std::string& container,
                                               const LogQuery& query) {
  MutexLock lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const IdleStream& one) {
    return one.session == session && one.pod_uid == pod.uid && one.container == container &&
           one.timestamps == query.timestamps && one.stream->Covers(query.offset);
  });
  if (found == open_.end()) return nullptr;
  std::shared_ptr<Stream> stream = std::move(found->stream);
  open_.erase(found);
  return stream;
}

// Puts a stream back. If the list is full, the longest unused one is closed.
void PodLogs::Keep(IdleStream open) {
  std::shared_ptr<Stream> oldest;
  {
    MutexLock lock(mutex_);
    open_.push_back(std::move(open));
    if (open_.size() > kStreams / 2) {
      oldest = std::move(open_.front().stream);
      open_.pop_front();
    }
  }
  if (oldest != nullptr) oldest->Close();
}

void PodLogs::CloseIdle() {
  std::list<IdleStream> idle;
  {
    MutexLock lock(mutex_);
    while (!open_.empty() && clock_.Now() - open_.front().used >= kIdle) {
      idle.splice(idle.end(), open_, open_.begin());
    }
  }
  for (const IdleStream& one : idle) one.stream->Close();
}

void PodLogs::Forget(const Session* session) {
  std::list<IdleStream> gone;
  {
    MutexLock lock(mutex_);
    for (auto one = open_.begin(); one != open_.end();) {
      const auto next = std::next(one);
      if (one->session == session) gone.splice(gone.end(), open_, one);
      one = next;
    }
  }
  for (const IdleStream& one : gone) one.stream->Close();
}

}  // namespace muster::k8s
