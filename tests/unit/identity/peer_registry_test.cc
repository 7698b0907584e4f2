// PeerRegistry: the numbers by which gRPC knows connections, and their rest.
#include "api/grpc/front/peer_registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "schedd/base/limits.h"

namespace muster::test {
namespace {

using api::front::PeerRegistry;

net::PeerPtr OfUid(std::uint32_t uid) {
  net::Peer peer;
  peer.kind = net::Peer::Kind::kUnix;
  peer.uid = uid;
  return std::make_shared<const net::Peer>(peer);
}
int Open() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
std::string Name(int fd) { return "fd:" + std::to_string(fd); }

TEST(PeerRegistry, ANumberOfAnEndedConnectionIsNotGivenToAnotherUserForHalfAMinute) {
  PeerRegistry peers;
  const net::PeerPtr one = OfUid(1), other = OfUid(1);
  const int first = peers.Adopt(Open(), one, 0);
  ASSERT_GE(first, 0);
  EXPECT_EQ(peers.Of(Name(first))->uid, std::optional<std::uint32_t>(1));
  peers.Leave(first, one, 1000);
  ::close(first);
  // The kernel gives the lowest free number, which is the first one again.
  const int second = peers.Adopt(Open(), OfUid(2), 2000);
  EXPECT_NE(second, first);
  EXPECT_EQ(peers.Of(Name(first))->uid, std::optional<std::uint32_t>(1))
      << "a call may still start";
  EXPECT_EQ(peers.Of(Name(second))->uid, std::optional<std::uint32_t>(2));
  const int same_user = peers.Adopt(Open(), other, 3000);
  EXPECT_EQ(same_user, first);
  peers.Leave(same_user, other, 4000);
  ::close(same_user);
  const int later = peers.Adopt(Open(), OfUid(3), 4000 + limits::kGrpcNumberRestMs);
  EXPECT_EQ(later, first);
  ::close(second);
  ::close(later);
}

// gRPC has closed first, and the kernel has given the number out again.
TEST(PeerRegistry, ALateEndOfTheConnectionBefore_DoesNotEndTheOneThatHasItsNumber) {
  PeerRegistry peers;
  const net::PeerPtr before = OfUid(1), after = OfUid(1);
  const int number = peers.Adopt(Open(), before, 0);
  ::close(number);
  ASSERT_EQ(peers.Adopt(Open(), after, 1000), number);
  peers.Leave(number, before, 1001);
  ::close(peers.Adopt(Open(), OfUid(2), 1001 + limits::kGrpcNumberRestMs));
  EXPECT_EQ(peers.Of(Name(number)), after) << "it lives, and is known";
  ::close(number);
}

TEST(PeerRegistry, OtherNamesAreNobodys) {
  const PeerRegistry peers;
  for (const char* name : {"", "fd:", "fd:7", "fd:x", "fd:7x", "ipv4:127.0.0.1:80", "unix:"})
    EXPECT_EQ(peers.Of(name), nullptr) << name;
}

}  // namespace
}  // namespace muster::test
