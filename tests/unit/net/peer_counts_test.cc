// Connections per peer (rule U76): who counts as one, and the bound.
#include "api/net/peer_counts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::net {
namespace {

Peer Remote(const std::string& address) {
  Peer peer;
  peer.kind = Peer::Kind::kRemote;
  peer.address = address;
  return peer;
}

Peer Account(std::uint32_t uid, Peer::Kind kind) {
  Peer peer;
  peer.kind = kind;
  peer.uid = uid;
  peer.address = kind == Peer::Kind::kUnix ? "unix" : "127.0.0.1:40112";
  return peer;
}

TEST(PeerCounts, AnAccountIsOnePeer_HoweverItConnects) {
  const std::uint32_t other = ::geteuid() + 4711;
  EXPECT_EQ(PeerKeyOf(Account(other, Peer::Kind::kUnix)),
            PeerKeyOf(Account(other, Peer::Kind::kLoopback)));
  EXPECT_NE(PeerKeyOf(Account(other, Peer::Kind::kUnix)),
            PeerKeyOf(Account(other + 1, Peer::Kind::kUnix)));
  EXPECT_EQ(PeerKeyOf(Account(0, Peer::Kind::kUnix)), "") << "root is not bounded";
  EXPECT_EQ(PeerKeyOf(Account(::geteuid(), Peer::Kind::kUnix)), "");
}

TEST(PeerCounts, AnAddressIsOnePeer_AndANetworkOfIpv6) {
  EXPECT_EQ(PeerKeyOf(Remote("10.0.0.1:1000")), PeerKeyOf(Remote("10.0.0.1:2000")));
  EXPECT_NE(PeerKeyOf(Remote("10.0.0.1:1000")), PeerKeyOf(Remote("10.0.0.2:1000")));
  EXPECT_EQ(PeerKeyOf(Remote("[2001:db8::1]:1")), PeerKeyOf(Remote("[2001:db8::ffff:1:2:3]:2")));
  EXPECT_NE(PeerKeyOf(Remote("[2001:db8::1]:1")), PeerKeyOf(Remote("[2001:db8:0:1::1]:1")));
  EXPECT_EQ(PeerKeyOf(Remote("[::ffff:10.0.0.1]:7")), PeerKeyOf(Remote("10.0.0.1:9")));
  EXPECT_EQ(PeerKeyOf(Remote("[fe80::1%eth0]:7")), PeerKeyOf(Remote("[fe80::2%eth0]:9")));
}

TEST(PeerCounts, TheBoundIsOfEachPeer) {
  PeerCounts counts(2);
  counts.Add("a");
  counts.Add("a");
  counts.Add("b");
  EXPECT_TRUE(counts.Full("a"));
  EXPECT_FALSE(counts.Full("b"));
  counts.Remove("a");
  EXPECT_FALSE(counts.Full("a"));
  counts.Add("");
  counts.Add("");
  counts.Add("");
  EXPECT_FALSE(counts.Full(""));
  PeerCounts open(0);
  for (int i = 0; i < 100; ++i) open.Add("a");
  EXPECT_FALSE(open.Full("a"));
  EXPECT_EQ(ConnectionsPerPeer(0, 4096), 1024U);
  EXPECT_EQ(ConnectionsPerPeer(7, 4096), 7U);
  EXPECT_EQ(ConnectionsPerPeer(0, 1), 1U);
}

}  // namespace
}  // namespace muster::net
