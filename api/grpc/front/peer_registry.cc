// A number names a connection only while the connection lives, but a call may start late: gRPC
// reads its headers, queues its handler, the client goes away, gRPC closes the descriptor, and the
// kernel gives its number to the next connection, perhaps of another user. The handler would then
// find that user. So the number of a connection that has ended rests for half a minute, far longer
// than a handler waits to start. A client of the very same identity may take it over at once, since
// nobody could tell the two apart: otherwise one user's burst of short connections would use up all
// numbers.
#include "api/grpc/front/peer_registry.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api::front {
namespace {

bool SameIdentity(const net::Peer& a, const net::Peer& b) {
  const auto print = [](const net::Peer& peer) {
    return peer.certificate == nullptr ? std::string() : peer.certificate->fingerprint_sha256;
  };
  return a.kind == b.kind && a.uid == b.uid && print(a) == print(b);
}

}  // namespace

// An open entry whose number the kernel gives out again is one that gRPC has closed first.
bool PeerRegistry::RestsLocked(int number, const net::PeerPtr& peer, std::int64_t now_ms) const {
  const auto found = entries_.find(number);
  if (found == entries_.end() || SameIdentity(*found->second.peer, *peer)) return false;
  return found->second.open || now_ms - found->second.left_ms < limits::kGrpcNumberRestMs;
}

int PeerRegistry::Adopt(int fd, net::PeerPtr peer, std::int64_t now_ms) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [now_ms](const auto& one) {
    return !one.second.open && now_ms - one.second.left_ms >= limits::kGrpcNumberRestMs;
  });
  while (fd >= 0 && RestsLocked(fd, peer, now_ms)) {
    int next = fd + 1;
    while (RestsLocked(next, peer, now_ms)) ++next;
    const int other = ::fcntl(fd, F_DUPFD_CLOEXEC, next);
    ::close(fd);
    fd = other;
  }
  if (fd >= 0) entries_[fd] = {std::move(peer), true, 0};
  return fd;
}

// gRPC may close first, and a connection of the same identity get the number before the front has
// seen the end of the one before.
void PeerRegistry::Leave(int fd, const net::PeerPtr& peer, std::int64_t now_ms) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(fd);
  if (found == entries_.end() || found->second.peer != peer) return;
  found->second.open = false;
  found->second.left_ms = now_ms;
}

net::PeerPtr PeerRegistry::Of(std::string_view grpc_peer) const {
  constexpr std::string_view kNumbered = "fd:";
  if (!grpc_peer.starts_with(kNumbered)) return nullptr;
  grpc_peer.remove_prefix(kNumbered.size());
  int number = -1;
  const char* end = grpc_peer.data() + grpc_peer.size();
  const auto [stop, error] = std::from_chars(grpc_peer.data(), end, number);
  if (error != std::errc() || stop != end) return nullptr;
  const MutexLock lock(mutex_);
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : found->second.peer;
}

}  // namespace muster::api::front
