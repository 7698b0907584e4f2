// Frames on a socket. End shuts the socket down, which wakes a thread that reads or writes it; the
// descriptor itself stays open until the destructor, so no thread meets a reused number.
#include "backends/launcher/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

namespace muster::launcher {
namespace {

constexpr std::size_t kLengthBytes = 4;

// False: the stream has ended, or its time is over.
bool ReadAll(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(fd, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

FrameStream::FrameStream(int fd, std::size_t most_bytes, std::size_t waiting_bytes)
    : fd_(fd), most_bytes_(most_bytes), waiting_most_(waiting_bytes) {
  writer_ = std::thread([this] { Write(); });
}

FrameStream::~FrameStream() {
  End();
  writer_.join();
  ::close(fd_);
}

// The frame grows as it arrives, so that a length alone costs no memory.
Result<std::string> FrameStream::Read() {
  constexpr std::size_t kPiece = 1 << 20;
  unsigned char head[kLengthBytes];
  if (!ReadAll(fd_, reinterpret_cast<char*>(head), kLengthBytes))
    return Unavailable("the connection has ended");
  std::size_t size = 0;
  for (const unsigned char byte : head) size = (size << 8) | byte;
  if (size > most_bytes_)
    return InvalidArgument("a message of " + std::to_string(size) + " bytes is too long");
  std::string frame;
  while (frame.size() < size) {
    const std::size_t before = frame.size();
    frame.resize(std::min(size, before + kPiece));
    if (!ReadAll(fd_, frame.data() + before, frame.size() - before))
      return Unavailable("the connection has ended");
  }
  return frame;
}

bool FrameStream::Await(std::int64_t ms) const {
  pollfd readable{fd_, POLLIN, 0};
  return ::poll(&readable, 1, static_cast<int>(ms)) > 0;
}

void FrameStream::SetReadTimeout(std::int64_t ms) {
  timeval time{};
  time.tv_sec = ms / 1000;
  time.tv_usec = static_cast<suseconds_t>(ms % 1000 * 1000);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

bool FrameStream::Send(std::string frame) {
  if (frame.size() > most_bytes_) return false;
  {
    MutexLock lock(mutex_);
    if (ended_ || closing_) return false;
    waiting_bytes_ += frame.size();
    if (waiting_bytes_ <= waiting_most_) {
      waiting_.push_back(std::move(frame));
      wake_.NotifyAll();
      return true;
    }
  }
  End();
  return false;
}

void FrameStream::EndAfterSending(std::int64_t within_ms) {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    wake_.NotifyAll();
    wake_.WaitFor(mutex_, std::chrono::milliseconds(within_ms),
                  [this]() MUSTER_REQUIRES(mutex_) { return ended_; });
  }
  End();
}

void FrameStream::End() {
  MutexLock lock(mutex_);
  if (ended_) return;
  ended_ = true;
  waiting_.clear();
  ::shutdown(fd_, SHUT_RDWR);
  wake_.NotifyAll();
}

std::optional<uid_t> FrameStream::peer() const {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || size != sizeof who)
    return std::nullopt;
  return who.uid;
}

bool FrameStream::WriteAll(const char* data, std::size_t size) const {
  while (size > 0) {
    const ssize_t sent = ::send(fd_, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// The writer's thread: until the stream ends, or until nothing waits in one that is closing.
void FrameStream::Write() {
  while (true) {
    std::string frame;
    {
      MutexLock lock(mutex_);
      wake_.Wait(mutex_, [this]() MUSTER_REQUIRES(mutex_) {
        return ended_ || closing_ || !waiting_.empty();
      });
      if (ended_ || waiting_.empty()) break;
      frame = std::move(waiting_.front());
      waiting_.pop_front();
    }
    char head[kLengthBytes];
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      head[i] = static_cast<char>(frame.size() >> (8 * (kLengthBytes - 1 - i)));
    const bool written = WriteAll(head, kLengthBytes) && WriteAll(frame.data(), frame.size());
    if (!written) break;
    MutexLock lock(mutex_);
    waiting_bytes_ -= frame.size();
  }
  End();
}

}  // namespace muster::launcher
