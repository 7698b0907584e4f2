// The life of a request: OnBytes feeds the guard (RequestReader); Drive takes complete requests out
// of it and runs one (Run, Dispatch); the handler's answer comes to Finish, which writes the head
// into out_ and sends what the socket takes (FlushLocked). AfterFlushLocked then decides what comes
// next: the answer is complete (EndAnswerLocked), a long body has a next piece (Pump, on the pool),
// or a stream has drained. EndAnswerLocked makes the connection idle and drives on if more bytes
// have arrived.
//
// A full socket is registered with the writer thread (OnWritable) and continues there; no thread
// ever waits for it. State::kLingering: a refused client has its answer and gets time to read it
// while what it still sends is dropped. Times are counted in the host's one-second ticks, and Reap
// closes what has exceeded them.
//
// Functions named ...Locked run with mutex_ held. Run and Drive release it while a handler runs.
#include "api/rest/http/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "api/auth/request_id.h"
#include "api/rest/http/dispatch.h"
#include "api/rest/http/plain_problem.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

// Bytes that a refused client may still send while it reads its answer.
constexpr std::size_t kLingerBytes = 16 << 20;
// What a client may send ahead of the present answer: one request of the largest size.
constexpr std::size_t kPipelinedBytes = limits::kRequestBytes + limits::kHeaderBytes;
// Pieces of a long body that are made before other connections may use the pool's thread.
constexpr int kPiecesPerTurn = 4;

}  // namespace

Connection::Connection(int fd, std::shared_ptr<ConnectionHost> host, net::PeerPtr peer,
                       std::shared_ptr<HeldBytes> peer_held)
    : host_(std::move(host)),
      peer_held_(std::move(peer_held)),
      fd_(fd),
      peer_(std::move(peer)),
      reader_(host_->routes, peer_ != nullptr && peer_->kind == net::Peer::Kind::kUnix),
      since_(host_->tick.load()),
      idle_turn_(++host_->turn) {}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

// Keeps the sums of held bytes, the host's and the peer's, in step with this reader.
void Connection::CountHeldLocked() {
  const std::size_t held = state_ == State::kClosed ? 0 : reader_.held();
  const auto more = static_cast<std::int64_t>(held) - static_cast<std::int64_t>(counted_held_);
  host_->held_bytes += more;
  if (peer_held_ != nullptr) *peer_held_ += more;
  counted_held_ = held;
}

bool Connection::PeerHoldsTooMuch() const {
  return peer_held_ != nullptr && *peer_held_ > limits::kHalfSentBytesPerPeer;
}

void Connection::OnBytes(std::string_view bytes) {
  MutexLock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    lingered_ += bytes.size();
    if (lingered_ > kLingerBytes) CloseLocked();
    return;
  }
  std::string plain;
  if (tls_ != nullptr) {
    if (!DecryptLocked(bytes, &plain)) return;
    bytes = plain;
  }
  // A request after an endless answer would never be answered.
  if (streaming_ && input_ended_) return CloseLocked();
  if (streaming_) return;
  // A client that sends ahead of its answers may fill one request and no more.
  if (busy_ && reader_.unparsed() + bytes.size() > kPipelinedBytes) return CloseLocked();
  reader_.Feed(bytes);
  CountHeldLocked();
  // No answer can be given while another one is on its way, so the connection is closed.
  if (busy_ && (host_->held_bytes > limits::kHalfSentBytes || PeerHoldsTooMuch()))
    return CloseLocked();
  if (!driving_) Drive();
}

void Connection::OnEnd() {
  MutexLock lock(mutex_);
  input_ended_ = true;
  if (state_ == State::kClosed) return;
  // A client that closes during a stream is gone. A client that waits for an answer may have closed
  // only its sending side, so the answer is still sent. If no request runs, complete requests may
  // still be in the reader: Drive runs them, and closes when there are none left.
  if (state_ == State::kLingering || streaming_) return CloseLocked();
  if (!busy_ && !driving_) Drive();
}

// Takes requests out of the reader and runs them until one is under way or more bytes are needed.
// Only one thread drives at a time (driving_).
void Connection::Drive() {
  driving_ = true;
  while (state_ == State::kOpen && !busy_) {
    // The time limit of a request counts from its first byte.
    const bool was_mid_request = reader_.mid_request();
    const RequestReader::Step step = reader_.Next();
    if (reader_.mid_request() && !was_mid_request) since_ = host_->tick.load();
    // The reader has no complete request: either too much is held for its peer or for all, or the
    // client has finished sending, or the next bytes decide.
    if (step == RequestReader::Step::kNeedMore) {
      CountHeldLocked();
      if (PeerHoldsTooMuch() && reader_.held() > 0) {
        RefuseLocked({429, "one peer has too many half-sent requests; try again later", false, ""});
      } else if (host_->held_bytes > limits::kHalfSentBytes && reader_.held() > 0) {
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
    Run(reader_.Take());
  }
  driving_ = false;
}

// Starts one request. The handler runs without the lock; it may answer before Dispatch returns.
void Connection::Run(ParsedRequest read) {
  busy_ = true;
  keep_alive_ = read.keep_alive && !host_->stopping;
  http_1_0_ = read.http_1_0;
  head_ = read.request.head;
  chunked_ = answer_complete_ = false;
  route_ = read.match.index;
  read.request.peer = peer_;
  if (!auth::SaneRequestId(read.request.request_id))
    read.request.request_id = auth::NextRequestId();
  request_id_ = read.request.request_id;
  started_ns_ = Workers::NowNs();
  ++host_->active;
  bool failed = false;
  {
    const MutexUnlock free(mutex_);
    try {
      Dispatch(shared_from_this(), *host_, std::move(read));
    } catch (...) {  // out of memory: only this connection ends
      failed = true;
    }
  }
  if (failed) CloseLocked();
}

// Answers bytes that the guard refused; the connection ends after this answer.
void Connection::RefuseLocked(const Refusal& refusal) {
  Response response = PlainProblem(refusal.kubernetes, refusal.status, refusal.detail);
  if (!refusal.allow.empty()) response.headers.emplace_back("Allow", refusal.allow);
  keep_alive_ = false;
  head_ = http_1_0_ = false;
  request_id_.clear();
  host_->access.Count(-1, refusal.status, 0);
  AppendHead(response, false, response.body.size(), true);
  out_ += response.body;
  busy_ = true;
  answer_complete_ = true;
  ++host_->active;
  if (FlushLocked()) AfterFlushLocked();
}

// Line breaks in a header's value are replaced by blanks, so that no value can forge a header.
void Connection::AppendHead(const Response& response, bool chunked, std::size_t length,
                            bool has_length) {
  char number[24];
  const auto append_number = [&](std::size_t value) MUSTER_REQUIRES(mutex_) {
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
  if (!request_id_.empty()) {
    out_ += "\r\nX-Request-Id: ";
    out_ += request_id_;
  }
  if (!keep_alive_) {
    out_ += "\r\nConnection: close";
  } else if (http_1_0_) {
    out_ += "\r\nConnection: keep-alive";
  }
  if (tls_ != nullptr) out_ += "\r\nStrict-Transport-Security: max-age=31536000";
  out_ += "\r\nX-Content-Type-Options: nosniff\r\n\r\n";
}

// Writes the answer's head and, if it has one, its whole body; starts a long body or a stream.
void Connection::Finish(Response response) {
  MutexLock lock(mutex_);
  host_->access.Count(route_, response.status, Workers::NowNs() - started_ns_);
  if (state_ == State::kClosed) return;
  if (host_->stopping) keep_alive_ = false;
  progress_ = host_->tick.load();
  // An open-ended answer is chunked; HTTP/1.0 has no chunks, so the end of the connection ends it.
  const bool open_ended = response.producer || response.stream;
  if (open_ended) {
    chunked_ = !http_1_0_;
    if (http_1_0_) keep_alive_ = false;
    AppendHead(response, chunked_, 0, false);
  } else {
    // A 304 would tell of the length of what the client has.
    AppendHead(response, false, response.body.size(), response.status != 304);
    if (!head_) out_ += response.body;
  }
  answer_complete_ = head_ || !open_ended;
  // The first pieces are made on the pool, once the head has left.
  if (!answer_complete_ && response.producer) {
    producer_ = std::move(response.producer);
    pumping_ = true;
    asks_member_ = response.asks_member;
  }
  StreamStart stream;
  if (!answer_complete_ && response.stream) {
    streaming_ = true;
    end_tells_ = response.end_tells;
    stream = std::move(response.stream);
  }
  if (FlushLocked()) AfterFlushLocked();
  if (!stream) return;
  lock.Unlock();
  stream(shared_from_this());  // if the client has gone meanwhile, over() is true
}

// A piece of an open-ended body: one chunk, or plain bytes to an HTTP/1.0 client.
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

// Sends what the socket takes; true if nothing is left. If the socket is full, waits for it on the
// writer thread. Closes a broken connection.
bool Connection::FlushLocked() {
  if (waiting_) return false;
  for (std::string_view next = NextLocked(); !next.empty(); next = NextLocked()) {
    const ssize_t sent = ::send(fd_, next.data(), next.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      LeftLocked(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // Long answers release what has left before they wait.
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
  // Only a filter that failed leaves something.
  if (sent_ < out_.size()) return CloseLocked(), false;
  out_.clear();
  if (out_.capacity() > (64 << 10)) out_.shrink_to_fit();
  sent_ = 0;
  return true;
}

// On the writer thread: the socket takes bytes again.
void Connection::OnWritable() {
  MutexLock lock(mutex_);
  if (state_ == State::kClosed) return;
  writable_->Cancel();
  waiting_ = false;
  if (FlushLocked()) AfterFlushLocked();
}

// Everything queued has left: starts whatever comes next.
void Connection::AfterFlushLocked() {
  if (state_ == State::kClosed || !busy_) return;
  if (answer_complete_) {
    EndAnswerLocked();
  } else if (pumping_) {
    auto pump = [self = shared_from_this()] { self->Pump(); };
    asks_member_ ? host_->workers.PostMember(std::move(pump))
                 : host_->workers.Post(std::move(pump));
  } else if (when_drained_) {
    host_->workers.PostWriter(std::exchange(when_drained_, nullptr));
  }
}

// Makes the next pieces of a long body, on a pool. The producer is taken out while it runs without
// the lock, since it may block.
void Connection::Pump() {
  BodyProducer producer;
  {
    const MutexLock lock(mutex_);
    // Without a producer another turn has it: with TLS, a turn is also begun when an answer of the
    // protocol itself has left.
    if (state_ == State::kClosed || !producer_) return;
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
    MutexLock lock(mutex_);
    if (state_ == State::kClosed) return;
    // A chunked body that is cut off tells the client that it is not whole; a last chunk would not.
    if (failed) return CloseLocked();
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
      return;  // OnWritable continues
    }
  }
  const MutexLock lock(mutex_);
  producer_ = std::move(producer);
  AfterFlushLocked();
}

// The answer has left. If the client has sent more, the next request is taken up on the pool and
// not here, because this may be the writer thread, which must not run handlers.
void Connection::EndAnswerLocked() {
  busy_ = false;
  streaming_ = false;
  since_ = host_->tick.load();
  idle_turn_ = ++host_->turn;
  --host_->active;
  if (host_->stopping) host_->answered();
  // The client sends no more and nothing is left to answer.
  if (input_ended_ && reader_.unparsed() == 0) return CloseLocked();
  if (!keep_alive_) return LingerLocked();
  if (!driving_ && (reader_.unparsed() > 0 || input_ended_)) {
    host_->workers.Post([self = shared_from_this()] {
      MutexLock lock(self->mutex_);
      if (!self->driving_ && self->state_ == State::kOpen) self->Drive();
    });
  }
}

// Closing at once with bytes unread would reset the connection and lose the answer on its way.
void Connection::LingerLocked() {
  EndTlsLocked();
  ::shutdown(fd_, SHUT_WR);
  state_ = State::kLingering;
  since_ = host_->tick.load();
  if (input_ended_) CloseLocked();
}

// Idempotent. Releases what the connection holds, counts its request as answered, and runs the
// callback of WhenDrained, which then finds over() true.
void Connection::CloseLocked() {
  if (state_ == State::kClosed) return;
  if (!busy_) EndTlsLocked();
  state_ = State::kClosed;
  over_.store(true, std::memory_order_release);
  CountHeldLocked();
  if (busy_) {
    busy_ = false;
    --host_->active;
    if (host_->stopping) host_->answered();
  }
  writable_.reset();
  ::shutdown(fd_, SHUT_RDWR);  // Pistache then sees the end and closes its own descriptor
  ::close(fd_);
  fd_ = -1;
  out_ = {};
  producer_ = nullptr;
  if (when_drained_) host_->workers.PostWriter(std::exchange(when_drained_, nullptr));
  host_->forget(this);
}

// A slow reader is dropped here: a stream's writer must not wait for it.
bool Connection::Write(std::string_view data) {
  const MutexLock lock(mutex_);
  if (state_ != State::kOpen || !streaming_ || answer_complete_) return false;
  if (waiting_ && out_.size() - sent_ + data.size() > limits::kStreamBacklogBytes) {
    CloseLocked();  // the reader is too slow
    return false;
  }
  AppendPiece(data);
  if (FlushLocked()) AfterFlushLocked();
  return state_ == State::kOpen;
}

void Connection::WhenDrained(std::function<void()> next) {
  const MutexLock lock(mutex_);
  if (state_ != State::kOpen || out_.empty()) {
    host_->workers.PostWriter(std::move(next));
  } else {
    when_drained_ = std::move(next);
  }
}

void Connection::End() {
  const MutexLock lock(mutex_);
  if (state_ != State::kOpen || !streaming_ || answer_complete_) return;
  if (chunked_) out_ += "0\r\n\r\n";
  answer_complete_ = true;
  over_.store(true, std::memory_order_release);
  if (FlushLocked()) AfterFlushLocked();
}

// Without the last chunk, and behind what was written before.
void Connection::Break() {
  const MutexLock lock(mutex_);
  if (state_ != State::kOpen || !streaming_ || answer_complete_) return;
  BreakLocked();
}

void Connection::BreakLocked() {
  answer_complete_ = true;
  keep_alive_ = false;
  over_.store(true, std::memory_order_release);
  if (FlushLocked()) AfterFlushLocked();
}

// A stream gets its last chunk, so that its client sees a proper end; one whose end tells that
// everything was sent does not get it, so that its client sees that it was cut off.
void Connection::Wind() {
  const MutexLock lock(mutex_);
  if (state_ == State::kClosed) return;
  if (streaming_ && !answer_complete_) {
    if (chunked_ && !end_tells_) out_ += "0\r\n\r\n";
    BreakLocked();
  } else if (!busy_) {
    CloseLocked();
  }
}

void Connection::Close() {
  const MutexLock lock(mutex_);
  CloseLocked();
}

}  // namespace muster::rest
