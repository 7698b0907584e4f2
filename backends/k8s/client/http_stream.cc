// HttpStream: connect, send a GET, read the head, then deliver the body line by line or as it
// comes.
//
// Back-pressure. While OnData returns false nothing is read, so TCP's window fills and the member
// waits.
//
// Silence. The idle time-out is not moved by every byte. One timer is set for the earliest moment
// at which the stream could have been silent for long enough; when it fires and bytes have come
// since, it is set again.
//
// A failure before the head counts against the member (ClientCore::Failed); afterwards it only ends
// the stream, since the member has answered.
#include "backends/k8s/client/http_stream.h"

#include <utility>

namespace muster::k8s {
namespace {

// The longest body of an answer other than 200.
constexpr std::size_t kRefusalBytes = 1u << 20;

}  // namespace

HttpStream::HttpStream(std::shared_ptr<ClientCore> core, StreamRequest request,
                       std::shared_ptr<StreamSink> sink)
    : core_(std::move(core)), request_(std::move(request)), sink_(std::move(sink)) {}

void HttpStream::Await() {
  timer_ = core_->deadlines().After(request_.open_timeout_ms, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const Error error = self->core_->Named(Unavailable("it did not begin its answer in time"));
    if (self->connection_ != nullptr) self->core_->Failed(error);
    self->End(error);
  });
}

void HttpStream::Start(const Auth& auth) {
  if (over_) return;
  auth_generation_ = auth.generation;
  reader_.emplace(0);
  connection_ = core_->Dial(
      auth, [self = shared_from_this(),
             head = core_->Head("GET", request_.target, auth) + "\r\n"](const Status& connected) {
        if (self->over_) return;
        if (!connected) return self->Lost(connected.error());
        self->connection_->Write(
            head, [] { return true; },
            [self](Connection::ErrorCode error) {
      if (self->over_) return;
      if (error) return self->Lost(Unavailable("cannot be written to: " + error.message()));
      self->Read();
            });
      });
}

// A failure before the head: it counts against the member.
void HttpStream::Lost(Error error) {
  error = core_->Named(std::move(error));
  const auto core = core_;
  End(error);
  core->Failed(error);
}

void HttpStream::Read() {
  if (reading_ || over_) return;
  reading_ = true;
  connection_->Read(
      [self = shared_from_this()](Connection::ErrorCode error, std::string_view bytes) {
    self->reading_ = false;
    if (!self->over_) self->Came(error, bytes);
  });
}

// Feeds the reader. An answer other than 200 is collected whole; a 200 is delivered as it comes.
void HttpStream::Came(Connection::ErrorCode error, std::string_view bytes) {
  const bool had_head = reader_->head_done();
  if (error && !had_head && RefusesOurCertificate(error))
    return Lost({Code::kUnauthenticated, "it refuses our client certificate"});
  const Status fed = error ? reader_->FeedEnd() : reader_->Feed(bytes);
  if (!reader_->head_done() || (!fed && !streaming_)) {
    if (!fed) return Lost(fed.error());
    return Read();
  }
  if (!had_head && !HeadCame()) return;
  if (over_) return;
  if (reader_->done()) how_ = Status(muster::Done{});
  if (!fed) how_ = Status(core_->Named(fed.error()));
  if (rest_.empty()) {
    rest_ = reader_->TakeBody();
  } else {
    rest_ += reader_->TakeBody();
  }
  if (streaming_) {
    heard_ = core_->clock().Now();
    return Deliver();
  }
  if (rest_.size() > kRefusalBytes)
    return End(core_->Named(Unavailable("its refusal has over 1 MiB")));
  if (!how_) return Read();
  const auto sink = sink_;
  if (!hushed()) sink->OnResponse({reader_->status(), std::move(rest_), reader_->retry_after_ms()});
  End(muster::Done{});
}

// The head is complete. False: the request is repeated with other credentials after a 401.
bool HttpStream::HeadCame() {
  core_->Succeeded();
  if (reader_->status() == 401) {
    if (renewed_ || !core_->credentials().Renew(auth_generation_)) return true;
    renewed_ = true;
    connection_->Close();
    core_->Wait(shared_from_this());
    return false;
  }
  core_->credentials().Accepted(auth_generation_);
  if (reader_->status() != 200) return true;
  streaming_ = true;
  heard_ = core_->clock().Now();
  core_->deadlines().Drop(&timer_);
  WatchForSilence();
  const auto sink = sink_;
  if (!hushed()) sink->OnResponse({200, {}, 0});
  return true;
}

// Sets the timer for the earliest moment at which the stream counts as stalled.
void HttpStream::WatchForSilence() {
  if (request_.idle_timeout_ms == 0 || over_) return;
  timer_ = core_->deadlines().At(heard_ + MillisToNanos(request_.idle_timeout_ms),
                                 [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_ = {};
    self->LookForSilence();
  });
}

// Ends the stream if it has stalled. Time in which the sink paused it does not count.
void HttpStream::LookForSilence() {
  const Monotonic now = core_->clock().Now();
  if (paused_) heard_ = now;
  if (now - heard_ < MillisToNanos(request_.idle_timeout_ms)) return WatchForSilence();
  End(core_->Named({Code::kDeadlineExceeded, "its stream has stalled"}));
}

// Passes on what has come, as far as the sink takes it, then reads on.
void HttpStream::Deliver() {
  const auto sink = sink_;
  std::size_t begin = 0;
  while (!over_ && !paused_) {
    std::size_t end = rest_.size();
    bool whole = !request_.lines && end > begin;
    if (request_.lines) {
      const std::size_t newline = rest_.find('\n', begin + scanned_);
      whole = newline != std::string::npos;
      if (whole) end = newline;
      // The last line may lack its newline, if the answer has ended in order.
      if (!whole) whole = how_ && how_->ok() && end > begin;
    }
    if (!whole) {
      scanned_ = end - begin;
      break;
    }
    scanned_ = 0;
    const std::string_view piece(rest_.data() + begin, end - begin);
    begin = std::min(rest_.size(), end + (request_.lines ? 1 : 0));
    if (!piece.empty() && !hushed()) paused_ = !sink->OnData(piece);
  }
  if (over_) return;
  rest_.erase(0, begin);
  if (paused_) return;
  if (how_) return End(*how_);
  if (rest_.size() > core_->options().max_line_bytes) {
    return End(core_->Named({Code::kResourceExhausted, "it sent a line without an end"}));
  }
  Read();
}

void HttpStream::Resume() {
  if (over_ || !paused_) return;
  paused_ = false;
  heard_ = core_->clock().Now();
  Deliver();
}

void HttpStream::End(Status how) {
  if (over_) return;
  over_ = true;
  const auto self = shared_from_this();
  core_->deadlines().Drop(&timer_);
  if (connection_ != nullptr) connection_->Close();
  core_->Remove(this);
  const auto sink = std::exchange(sink_, nullptr);
  if (!hushed()) sink->OnEnd(how);
}

void StreamHandle::Close() {
  stream_->Hush();
  if (core_->gate().OnStrand()) return stream_->End(muster::Done{});
  core_->gate().Post([stream = stream_] { stream->End(muster::Done{}); });
}

void StreamHandle::Resume() {
  core_->gate().Post([stream = stream_] { stream->Resume(); });
}

}  // namespace muster::k8s
