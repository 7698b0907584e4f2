// Frames: eight bytes (length, type, number of descriptors) and the payload. Descriptors travel
// with the first byte of their frame, so they arrive in the order of the frames and are counted
// off one queue.
#include "clients/steps/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace muster::steps {
namespace {

struct Header {
  std::uint32_t length;
  std::uint16_t type;
  std::uint16_t descriptors;
};
static_assert(sizeof(Header) == 8);

// Descriptors that may arrive for one frame with all its kDescriptors frames.
constexpr std::size_t kMostHeld = 64'000;

}  // namespace

// Seven bits a byte, the lowest first, signs folded to the lowest bit: most numbers are small.
void PayloadWriter::Number(std::int64_t value) {
  std::uint64_t bits =
      (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  while (bits >= 0x80) {
    out_ += static_cast<char>((bits & 0x7f) | 0x80);
    bits >>= 7;
  }
  out_ += static_cast<char>(bits);
}

std::int64_t PayloadReader::Number() {
  std::uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    bits |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
    }
  }
  Fail();
  return 0;
}

PayloadReader& PayloadReader::Fail() {
  ok_ = false;
  rest_ = {};
  return *this;
}

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  if (flags >= 0) ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

void Channel::Queue(MessageType type, std::string_view payload,
                    std::vector<Descriptor> descriptors) {
  const Header header{static_cast<std::uint32_t>(payload.size()), static_cast<std::uint16_t>(type),
                      static_cast<std::uint16_t>(descriptors.size())};
  Unsent unsent;
  unsent.bytes.reserve(sizeof(header) + payload.size());
  unsent.bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  unsent.bytes += payload;
  unsent.descriptors = std::move(descriptors);
  unsent_bytes_ += unsent.bytes.size();
  out_.push_back(std::move(unsent));
}

// More descriptors than one frame carries go ahead in frames of their own.
void Channel::Send(MessageType type, std::string payload, std::vector<Descriptor> descriptors) {
  if (broken_) return;
  if (payload.size() > kMostPayload || unsent_bytes_ + payload.size() > kMostUnsent) {
    broken_ = true;
    return;
  }
  std::size_t at = 0;
  while (descriptors.size() - at > kMostDescriptors) {
    std::vector<Descriptor> some;
    for (std::size_t i = 0; i < kMostDescriptors; ++i) some.push_back(std::move(descriptors[at++]));
    Queue(MessageType::kDescriptors, {}, std::move(some));
  }
  descriptors.erase(descriptors.begin(), descriptors.begin() + static_cast<std::ptrdiff_t>(at));
  Queue(type, payload, std::move(descriptors));
  Flush();
}

// One sendmsg; false if the kernel takes no more now.
bool Channel::SendOne(Unsent* unsent) {
  iovec part{unsent->bytes.data() + unsent->sent, unsent->bytes.size() - unsent->sent};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)];
  if (!unsent->descriptors.empty()) {
    const std::size_t size = sizeof(int) * unsent->descriptors.size();
    std::memset(control, 0, sizeof(cmsghdr));
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    int* out = reinterpret_cast<int*>(CMSG_DATA(head));
    for (const Descriptor& one : unsent->descriptors) *out++ = one.get();
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EINTR) return true;
    stalled_ = errno == ETOOMANYREFS;
    if (errno != EAGAIN && !stalled_) broken_ = true;
    return false;
  }
  stalled_ = false;
  unsent->descriptors.clear();
  unsent->sent += static_cast<std::size_t>(sent);
  return true;
}

void Channel::Flush() {
  while (!out_.empty() && !broken_) {
    Unsent& first = out_.front();
    if (!SendOne(&first)) return;
    if (first.sent < first.bytes.size()) continue;
    unsent_bytes_ -= first.bytes.size();
    out_.pop_front();
  }
}

// Also after a failed send: what the other side said before it left may still wait here.
bool Channel::Receive() {
  in_.erase(0, std::exchange(read_, 0));
  char buffer[64 << 10];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (kMostDescriptors + 3))];
  iovec part{buffer, sizeof(buffer)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const int* fds = reinterpret_cast<const int*>(CMSG_DATA(head));
    for (std::size_t i = 0; i < count; ++i) arrived_.emplace_back(fds[i]);
  }
  if (got == 0 || (message.msg_flags & MSG_CTRUNC) != 0 || arrived_.size() > kMostHeld)
    return false;
  in_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::optional<Frame> Channel::Next() {
  while (true) {
    Header header;
    if (in_.size() - read_ < sizeof(header)) return std::nullopt;
    std::memcpy(&header, in_.data() + read_, sizeof(header));
    if (header.length > kMostPayload || header.descriptors > kMostDescriptors ||
        held_.size() > kMostHeld) {
      broken_ = true;
      return std::nullopt;
    }
    if (in_.size() - read_ - sizeof(header) < header.length) return std::nullopt;
    if (arrived_.size() < header.descriptors) {
      broken_ = true;
      return std::nullopt;
    }
    for (std::uint16_t i = 0; i < header.descriptors; ++i) {
      held_.push_back(std::move(arrived_.front()));
      arrived_.pop_front();
    }
    Frame frame;
    frame.type = static_cast<MessageType>(header.type);
    frame.payload = in_.substr(read_ + sizeof(header), header.length);
    read_ += sizeof(header) + header.length;
    if (frame.type == MessageType::kDescriptors) continue;
    frame.descriptors = std::exchange(held_, {});
    return frame;
  }
}

bool PeerIsOwner(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

namespace {

// "/proc/self/fd/5/NAME"; false if the name is too long for a socket address.
bool AddressIn(int directory, const std::string& name, sockaddr_un* out) {
  out->sun_family = AF_UNIX;
  const int size = std::snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/%s",
                                 directory, name.c_str());
  if (size > 0 && static_cast<std::size_t>(size) < sizeof(out->sun_path)) return true;
  errno = ENAMETOOLONG;
  return false;
}

}  // namespace

Descriptor ListenIn(int directory, const std::string& name) {
  sockaddr_un address{};
  if (!AddressIn(directory, name, &address)) return {};
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::unlinkat(directory, name.c_str(), 0);
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  ::umask(before);
  if (bound != 0 || ::listen(socket.get(), 1024) != 0) return {};
  return socket;
}

Descriptor ConnectIn(int directory, const std::string& name) {
  sockaddr_un address{};
  if (!AddressIn(directory, name, &address)) return {};
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return {};
  return socket;
}

}  // namespace muster::steps
