// Each direction is a loop: wait until `from` is readable, receive up to 64 KB, count the bytes
// (FrameMeter), send them; what the socket does not take stays pending, and the direction reads no
// more until it has left. So a direction holds at most one piece.
//
// A connection ends in one of three ways. OnEnd: one side has finished sending; the other side is
// shut down for writing once everything has left. Cut: a budget is exceeded; the server's side is
// closed at once, the client gets what was pending up to the last whole frame, then a GOAWAY.
// Close: a socket is broken or a time is over. After the first two the relay lingers: it reads and
// drops what the client still sends, because closing a socket with unread bytes would reset the
// connection and destroy the last bytes on their way.
//
// With TLS (relay_tls.cc) what comes from the client is decrypted before it is counted, and what
// goes to it is encrypted as late as possible, a piece at a time.
#include "api/grpc/front/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

namespace muster::api::front {
namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::int64_t kPauseMostMs = 1000;
// How long, and for how many bytes, a relay lingers so that the client can read the reason.
constexpr std::int64_t kLingerMs = 2000;
constexpr std::size_t kLingerBytes = 1 << 20;

// The receive buffer. All relays run on one thread, so one buffer is enough.
char* Scratch() {
  static thread_local std::vector<char> bytes(kPieceBytes);
  return bytes.data();
}

ssize_t Receive(int fd) {
  ssize_t n = 0;
  do {
    n = ::recv(fd, Scratch(), kPieceBytes, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n;
}

// After a failed call: no bytes, or no room, at the moment.
bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             boost::asio::steady_timer::clock_type::now().time_since_epoch())
      .count();
}

Relay::Relay(RelayHost& host, int client, int server)
    : host_(host),
      client_(host.context(), client),
      server_(host.context(), server),
      timer_(host.context()),
      begun_ms_(NowMs()),
      heard_ms_(begun_ms_) {
  up_.from = down_.to = &client_;
  up_.to = down_.from = &server_;
}

Relay::~Relay() {
  if (server_end_ >= 0) ::close(server_end_);
}

void Relay::Begin() {
  Read(up_);
  Read(down_);
}

// Waits for bytes, unless the direction may not read now.
void Relay::Read(Way& way) {
  if (closed_ || cut_ || way.reading || way.ended || Holds(way)) return;
  if (paused_ && &way == &up_) return;
  way.reading = true;
  way.from->async_wait(Descriptor::wait_read, [self = shared_from_this(), &way](ErrorCode error) {
    way.reading = false;
    if (!error && !self->closed_ && !self->cut_) self->OnReadable(way);
  });
}

void Relay::OnReadable(Way& way) {
  const ssize_t n = Receive(way.from->native_handle());
  if (n < 0) return WouldBlock() ? Read(way) : Close();
  if (n == 0) return OnEnd(way);
  const std::string_view bytes(Scratch(), static_cast<std::size_t>(n));
  if (tls_ != nullptr && &way == &up_) return OnCipher(bytes);
  if (!Count(way, bytes)) return;
  Write(way, bytes);
  Read(way);
}

// What the client sends also counts as a sign of life (heard_ms_).
bool Relay::Count(Way& way, std::string_view bytes) {
  const std::int64_t now = NowMs();
  if (&way == &down_) {
    meter_.FromServer(bytes, now);
  } else {
    heard_ms_ = now;
    meter_.FromClient(bytes, now);
  }
  if (!meter_.why().empty()) {
    // The GOAWAY must follow the bytes that the meter has counted, or the client loses the borders
    // of frames.
    if (&way == &down_) Write(way, bytes);
    Cut(meter_.why());
    return false;
  }
  if (const std::size_t resets = meter_.TakeResets(); resets > 0) Pause(host_.PauseMs(resets));
  CountStreams();
  return !cut_ && !closed_;
}

// Reports the change in open calls; the host may cut this very relay because of it.
void Relay::CountStreams() {
  const auto more = static_cast<std::ptrdiff_t>(meter_.open_streams()) -
                    static_cast<std::ptrdiff_t>(counted_streams_);
  counted_streams_ = meter_.open_streams();
  if (more != 0) host_.OnStreams(more);
}

// Reads nothing from the client for `ms`, and again as long as the host's budget is exceeded.
void Relay::Pause(std::int64_t ms) {
  if (ms <= 0 || paused_) return;
  paused_ = true;
  timer_.expires_after(std::chrono::milliseconds(std::min(ms, kPauseMostMs)));
  timer_.async_wait([self = shared_from_this()](ErrorCode) {
    if (self->closed_ || self->cut_) return;
    self->paused_ = false;
    self->Pause(self->host_.PauseMs(0));
    self->Read(self->up_);
  });
}

std::ptrdiff_t Relay::SendSome(Descriptor& to, std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(to.native_handle(), bytes.data() + sent, bytes.size() - sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && WouldBlock()) break;
    if (n < 0) return -1;
    sent += static_cast<std::size_t>(n);
  }
  return static_cast<std::ptrdiff_t>(sent);
}

// Sends at once what the socket takes and keeps the rest.
void Relay::Write(Way& way, std::string_view bytes) {
  const std::ptrdiff_t sent = SendSome(way, bytes);
  if (sent < 0) return Close();
  way.pending.assign(bytes.substr(static_cast<std::size_t>(sent)));
  way.sent = 0;
  if (!Holds(way)) return;
  way.since_ms = NowMs();
  AwaitWritable(way);
}

void Relay::AwaitWritable(Way& way) {
  if (closed_ || way.writing) return;
  way.writing = true;
  way.to->async_wait(Descriptor::wait_write, [self = shared_from_this(), &way](ErrorCode error) {
    way.writing = false;
    if (!error && !self->closed_) self->OnWritable(way);
  });
}

// Sends more of the pending bytes. When the last one has left, the direction lingers, ends or reads
// on.
void Relay::OnWritable(Way& way) {
  if (cut_ && &way == &up_) return;
  const std::ptrdiff_t sent = SendSome(way, std::string_view(way.pending).substr(way.sent));
  if (sent < 0) return Close();
  if (sent > 0) way.since_ms = NowMs();
  way.sent += static_cast<std::size_t>(sent);
  if (Holds(way)) return AwaitWritable(way);
  way.pending = {};
  way.sent = 0;
  if (cut_) return Linger();
  if (way.ended) return OnEnd(way);
  Read(way);
}

// `from` sends no more. Once everything pending has left, `to` is shut down for writing.
void Relay::OnEnd(Way& way) {
  way.ended = true;
  if (Holds(way)) return;
  // gRPC has closed the connection; the client may not have read its last bytes yet.
  if (&way == &down_) {
    cut_ = true;
    Leave();
    return Linger();
  }
  ::shutdown(way.to->native_handle(), SHUT_WR);
}

void Relay::Cut(const std::string& why) {
  if (closed_ || cut_) return;
  cut_ = true;
  host_.OnCut(why);
  server_.close();
  Leave();
  if (Shaking()) return Close();
  // The client could not read a GOAWAY in the middle of another frame.
  std::string left = down_.pending.substr(down_.sent);
  if (left.size() < meter_.server_unfinished()) return Close();
  left.resize(left.size() - meter_.server_unfinished());
  left += meter_.GoAway(why);
  const bool waits = down_.writing;
  down_.pending = std::move(left);
  down_.sent = 0;
  down_.since_ms = NowMs();
  EndSoon();
  if (!waits) OnWritable(down_);
}

// The host's list does not have this relay any more, so no tick looks at it: a client that reads
// nothing would keep its descriptor for ever. Linger sets the timer anew.
void Relay::EndSoon() {
  timer_.expires_after(std::chrono::milliseconds(kLingerMs));
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (!error) self->Close();
  });
}

// Half-closes the client's socket and drops what the client sends, for a bounded time. Closing at
// once with bytes unread would reset the connection and lose what is on its way.
void Relay::Linger() {
  if (closed_ || lingering_) return;
  if (!host_.BeginLinger()) return Close();
  lingering_ = true;
  EndTls();
  ::shutdown(client_.native_handle(), SHUT_WR);
  if (server_.is_open()) server_.close();
  EndSoon();
  OnLinger();
}

// Reads and drops until the client closes, sends too much, or the time is over.
void Relay::OnLinger() {
  client_.async_wait(Descriptor::wait_read, [self = shared_from_this()](ErrorCode error) {
    if (error || self->closed_) return;
    const ssize_t n = Receive(self->client_.native_handle());
    if (n == 0 || (n < 0 && !WouldBlock())) return self->Close();
    if (n > 0) self->lingered_ += static_cast<std::size_t>(n);
    return self->lingered_ > kLingerBytes ? self->Close() : self->OnLinger();
  });
}

// Idempotent. The pointer to itself keeps the relay alive while the host forgets it.
void Relay::Close() {
  if (closed_) return;
  closed_ = cut_ = true;
  const auto self = shared_from_this();
  timer_.cancel();
  if (client_.is_open()) client_.close();
  if (server_.is_open()) server_.close();
  if (lingering_) host_.EndLinger();
  Leave();
}

void Relay::Leave() {
  if (left_) return;
  left_ = true;
  const auto streams = static_cast<std::ptrdiff_t>(counted_streams_);
  counted_streams_ = 0;
  host_.OnLeft(this);
  if (streams > 0) host_.OnStreams(-streams);
}

void Relay::OnTick(std::int64_t preface_ms, std::int64_t stall_ms) {
  const std::int64_t now = NowMs();
  if (!meter_.preface_done() && now - begun_ms_ > preface_ms) return Close();
  if (Holds(down_) && now - down_.since_ms > stall_ms) return Close();
}

}  // namespace muster::api::front
