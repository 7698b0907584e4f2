#include "api/rest/http/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "api/rest/http/dispatch.h"
#include "api/rest/http/plain_problem.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

constexpr std::int64_t kRequestTicks =
    20;  // a whole request must arrive in this many seconds: slow-loris
constexpr std::int64_t kSlowTicks = 2;    // a request that takes longer to arrive may make room
constexpr std::int64_t kStallTicks = 30;  // an answer of which nothing leaves
constexpr std::int64_t kLingerTicks = 2;  // for a refused client to read its answer
constexpr std::size_t kLingerBytes = 16 << 20;
constexpr std::int64_t kHeldBytes = 256 << 20;  // half-read requests of all connections together
// Sent ahead of the answer to the request before: one more request of the largest kind.
constexpr std::size_t kPipelinedBytes = limits::kRequestBytes + limits::kHeaderBytes;
constexpr int kPiecesPerTurn = 4;  // then a long body lets others use the pool

}  // namespace

Connection::Connection(int fd, std::shared_ptr<ConnectionHost> host)
    : host_(std::move(host)),
      fd_(fd),
      reader_(host_->routes),
      since_(host_->tick.load()),
      idle_turn_(++host_->turn) {}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::CountHeldLocked() {
  const std::size_t held = state_ == State::kClosed ? 0 : reader_.held();
  host_->held_bytes += static_cast<std::int64_t>(held) - static_cast<std::int64_t>(counted_held_);
  counted_held_ = held;
}

void Connection::OnBytes(std::string_view bytes) {
  Lock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    lingered_ += bytes.size();
    if (lingered_ > kLingerBytes) CloseLocked();
    return;
  }
  if (streaming_) return;  // what follows an endless answer is never read
  if (busy_ && reader_.unparsed() + bytes.size() > kPipelinedBytes) return CloseLocked();
  reader_.Feed(bytes);
  CountHeldLocked();
  if (busy_ && host_->held_bytes > kHeldBytes) return CloseLocked();
  if (!driving_) Drive(lock);
}

void Connection::OnEnd() {
  Lock lock(mutex_);
  input_ended_ = true;
  if (state_ == State::kClosed) return;
  // A stream's reader that closes is gone; whoever waits for an answer may have closed its sending
  // side only. Between two answers requests may still wait here for the pool to take them up: they
  // are taken up now, and what no whole request is left of is closed.
  if (state_ == State::kLingering || streaming_) return CloseLocked();
  if (!busy_ && !driving_) Drive(lock);
}

void Connection::Drive(Lock& lock) {
  driving_ = true;
  while (state_ == State::kOpen && !busy_) {
    const bool was_mid_request = reader_.mid_request();
    const RequestReader::Step step = reader_.Next();
    if (reader_.mid_request() && !was_mid_request) since_ = host_->tick.load();
    if (step == RequestReader::Step::kNeedMore) {
      CountHeldLocked();
      if (host_->held_bytes > kHeldBytes && reader_.held() > 0) {
        RefuseLocked({503, "too many half-sent requests are held; try again later", false, ""});
      } else if (input_ended_) {
        CloseLocked();
      }
      break;
    }
    if (step == RequestReader::Step::kContinue) {
      out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      FlushLocked();
      continue;
    }
    CountHeldLocked();
    if (step == RequestReader::Step::kRefused) {
      RefuseLocked(reader_.refusal());
      break;
    }
    Run(lock, reader_.Take());
  }
  driving_ = false;
}

void Connection::Run(Lock& lock, ReadRequest read) {
  busy_ = true;
  keep_alive_ = read.keep_alive && !host_->stopping;
  http_1_0_ = read.http_1_0;
  head_ = read.request.head;
  chunked_ = answer_complete_ = false;
  route_ = read.match.index;
  started_ns_ = Workers::NowNs();
  ++host_->active;
  lock.unlock();
  try {
    Dispatch(shared_from_this(), *host_, std::move(read));
  } catch (...) {  // out of memory: this connection ends, the others go on
    lock.lock();
    return CloseLocked();
  }
  lock.lock();
}

void Connection::RefuseLocked(const Refusal& refusal) {
  Response response = PlainProblem(refusal.kubernetes, refusal.status, refusal.detail);
  if (!refusal.allow.empty()) response.headers.emplace_back("Allow", refusal.allow);
  keep_alive_ = false;
  head_ = http_1_0_ = false;
  host_->access.Count(-1, refusal.status, 0);
  AppendHead(response, false, response.body.size(), true);
  out_ += response.body;
  busy_ = true;
  answer_complete_ = true;
  ++host_->active;
  if (FlushLocked()) AfterFlushLocked();
}

void Connection::AppendHead(const Response& response, bool chunked, std::size_t length,
                            bool has_length) {
  char number[24];
  const auto append_number = [&](std::size_t value) {
    const auto end = std::to_chars(number, number + sizeof number, value).ptr;
    out_.append(number, static_cast<std::size_t>(end - number));
  };
  out_.reserve(out_.size() + 256 + (chunked ? 0 : length));
  out_ += "HTTP/1.1 ";
  append_number(static_cast<std::size_t>(response.status));
  out_ += ' ';
  out_ += StatusPhrase(response.status);
  out_ += "\r\nContent-Type: ";
  out_ += response.content_type;
  if (has_length) {
    out_ += "\r\nContent-Length: ";
    append_number(length);
  } else if (chunked) {
    out_ += "\r\nTransfer-Encoding: chunked";
  }
  for (const auto& [name, value] : response.headers) {
    out_ += "\r\n";
    out_ += name;
    out_ += ": ";
    for (const char c : value) out_ += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
  if (!keep_alive_) {
    out_ += "\r\nConnection: close";
  } else if (http_1_0_) {
    out_ += "\r\nConnection: keep-alive";
  }
  out_ += "\r\nX-Content-Type-Options: nosniff\r\n\r\n";
}

void Connection::Finish(Response response) {
  Lock lock(mutex_);
  host_->access.Count(route_, response.status, Workers::NowNs() - started_ns_);
  if (state_ == State::kClosed) return;
  if (host_->stopping) keep_alive_ = false;
  progress_ = host_->tick.load();
  const bool open_ended = response.producer || response.stream;
  if (open_ended) {
    chunked_ = !http_1_0_;
    if (http_1_0_) keep_alive_ = false;
    AppendHead(response, chunked_, 0, false);
  } else {
    AppendHead(response, false, response.body.size(), true);
    if (!head_) out_ += response.body;
  }
  answer_complete_ = head_ || !open_ended;
  if (!answer_complete_ && response.producer) {
    producer_ = std::move(response.producer);
    pumping_ = true;
  }
  StreamStart stream;
  if (!answer_complete_ && response.stream) {
    streaming_ = true;
    stream = std::move(response.stream);
  }
  if (FlushLocked()) AfterFlushLocked();
  if (!stream) return;
  lock.unlock();
  stream(shared_from_this());  // a client that has gone meanwhile shows as over()
}

void Connection::AppendPiece(std::string_view data) {
  if (data.empty()) return;
  if (!chunked_) {
    out_ += data;
    return;
  }
  char size[20];
  const auto end = std::to_chars(size, size + sizeof size, data.size(), 16).ptr;
  out_.append(size, static_cast<std::size_t>(end - size));
  out_ += "\r\n";
  out_ += data;
  out_ += "\r\n";
}

/// Sends what the socket takes; true if nothing is left. Closes a broken connection.
bool Connection::FlushLocked() {
  if (waiting_) return false;
  while (sent_ < out_.size()) {
    const ssize_t sent =
        ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      sent_ += static_cast<std::size_t>(sent);
      progress_ = host_->tick.load();
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (sent_ > (256 << 10)) {
        out_.erase(0, sent_);
        sent_ = 0;
      }
      waiting_ = true;
      if (!writable_) writable_ = std::make_unique<Workers::Writable>(host_->workers);
      writable_->Wait(fd_, [self = shared_from_this()] { self->OnWritable(); });
      return false;
    }
    CloseLocked();
    return false;
  }
  out_.clear();
  if (out_.capacity() > (64 << 10)) out_.shrink_to_fit();
  sent_ = 0;
  return true;
}

void Connection::OnWritable() {
  Lock lock(mutex_);
  if (state_ == State::kClosed) return;
  writable_->Cancel();
  waiting_ = false;
  if (FlushLocked()) AfterFlushLocked();
}

/// Everything queued has left: what comes next?
void Connection::AfterFlushLocked() {
  if (state_ == State::kClosed || !busy_) return;
  if (answer_complete_) {
    EndAnswerLocked();
  } else if (pumping_) {
    host_->workers.Post([self = shared_from_this()] { self->Pump(); });
  } else if (when_drained_) {
    host_->workers.PostWriter(std::exchange(when_drained_, nullptr));
  }
}

void Connection::Pump() {
  BodyProducer producer;
  {
    const Lock lock(mutex_);
    if (state_ == State::kClosed) return;
    producer = std::move(producer_);
  }
  for (int i = 0; i < kPiecesPerTurn; ++i) {
    std::string piece;
    bool more = false, failed = false;
    try {
      more = producer(&piece);
    } catch (...) {
      failed = true;
    }
    Lock lock(mutex_);
    if (state_ == State::kClosed) return;
    if (failed)
      return CloseLocked();  // a cut chunked body tells the client; a made-up end would not
    AppendPiece(piece);
    if (!more) {
      if (chunked_) out_ += "0\r\n\r\n";
      pumping_ = false;
      answer_complete_ = true;
      if (FlushLocked()) AfterFlushLocked();
      return;
    }
    if (!FlushLocked()) {
      if (state_ != State::kClosed) producer_ = std::move(producer);
      return;  // OnWritable goes on
    }
  }
  const Lock lock(mutex_);
  producer_ = std::move(producer);
  AfterFlushLocked();
}

void Connection::EndAnswerLocked() {
  busy_ = false;
  streaming_ = false;
  since_ = host_->tick.load();
  idle_turn_ = ++host_->turn;
  --host_->active;
  if (host_->stopping) host_->answered();
  if (input_ended_ && reader_.unparsed() == 0) return CloseLocked();
  if (!keep_alive_) return LingerLocked();
  if (!driving_ && (reader_.unparsed() > 0 || input_ended_)) {
    host_->workers.Post([self = shared_from_this()] {
      Lock lock(self->mutex_);
      if (!self->driving_ && self->state_ == State::kOpen) self->Drive(lock);
    });
  }
}

/// Closing at once with bytes unread would reset the connection and lose the answer on its way.
void Connection::LingerLocked() {
  ::shutdown(fd_, SHUT_WR);
  state_ = State::kLingering;
  since_ = host_->tick.load();
  if (input_ended_) CloseLocked();
}

void Connection::CloseLocked() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  over_.store(true, std::memory_order_release);
  CountHeldLocked();
  if (busy_) {
    busy_ = false;
    --host_->active;
    if (host_->stopping) host_->answered();
  }
  writable_.reset();
  ::shutdown(fd_, SHUT_RDWR);  // Pistache sees the end and lets its own descriptor go
  ::close(fd_);
  fd_ = -1;
  out_ = {};
  producer_ = nullptr;
  if (when_drained_) host_->workers.PostWriter(std::exchange(when_drained_, nullptr));
  host_->forget(this);
}

bool Connection::Write(std::string_view data) {
  const Lock lock(mutex_);
  if (state_ != State::kOpen || !streaming_ || answer_complete_) return false;
  if (waiting_ && out_.size() - sent_ + data.size() > limits::kStreamBacklogBytes) {
    CloseLocked();  // too slow
    return false;
  }
  AppendPiece(data);
  if (FlushLocked()) AfterFlushLocked();
  return state_ == State::kOpen;
}

void Connection::WhenDrained(std::function<void()> next) {
  const Lock lock(mutex_);
  if (state_ != State::kOpen || out_.empty()) {
    host_->workers.PostWriter(std::move(next));
  } else {
    when_drained_ = std::move(next);
  }
}

void Connection::End() {
  const Lock lock(mutex_);
  if (state_ != State::kOpen || !streaming_ || answer_complete_) return;
  if (chunked_) out_ += "0\r\n\r\n";
  answer_complete_ = true;
  over_.store(true, std::memory_order_release);
  if (FlushLocked()) AfterFlushLocked();
}

void Connection::Reap(std::int64_t tick, std::int64_t idle_ticks) {
  const Lock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    if (tick - since_ > kLingerTicks) CloseLocked();
  } else if (!out_.empty()) {
    if (tick - progress_ > kStallTicks) CloseLocked();
  } else if (!busy_ && !driving_ && reader_.mid_request()) {
    if (tick - since_ > kRequestTicks)
      RefuseLocked({408, "the request did not arrive in time", false, ""});
  } else if (!busy_ && !driving_ && tick - since_ > idle_ticks) {
    CloseLocked();
  }
}

std::optional<std::uint64_t> Connection::DispensableLocked() const {
  constexpr std::uint64_t kAfterIdleOnes = std::uint64_t{1} << 62;
  if (state_ == State::kClosed || busy_ || driving_ || !out_.empty()) return std::nullopt;
  if (state_ == State::kOpen && reader_.mid_request()) {
    if (host_->tick.load() - since_ <= kSlowTicks) return std::nullopt;
    return kAfterIdleOnes + idle_turn_;
  }
  return idle_turn_;
}

std::optional<std::uint64_t> Connection::Dispensable() const {
  const Lock lock(mutex_);
  return DispensableLocked();
}

void Connection::MakeRoom() {
  const Lock lock(mutex_);
  if (DispensableLocked()) CloseLocked();
}

void Connection::Wind() {
  const Lock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (streaming_ && !answer_complete_) {
    if (chunked_) out_ += "0\r\n\r\n";
    answer_complete_ = true;
    keep_alive_ = false;
    over_.store(true, std::memory_order_release);
    if (FlushLocked()) AfterFlushLocked();
  } else if (!busy_) {
    CloseLocked();
  }
}

void Connection::Close() {
  const Lock lock(mutex_);
  CloseLocked();
}

}  // namespace muster::rest
