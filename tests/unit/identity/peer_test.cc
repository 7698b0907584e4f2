// PeerOf over real sockets of this process, and the acceptor's Unix sockets.
#include "api/net/peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "api/net/acceptor.h"

namespace muster::test {
namespace {

// A pair of connected TCP sockets. `client_v6`: the client is an IPv6 socket that connects to the
// mapped address ::ffff:127.0.0.1.
struct TcpPair {
  explicit TcpPair(bool v6 = false, bool client_mapped = false) {
    const int family = v6 ? AF_INET6 : AF_INET;
    const int listener = ::socket(family, SOCK_STREAM, 0);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t size = v6 ? sizeof six : sizeof four;
    EXPECT_EQ(::bind(listener, address, size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, address, &size), 0);
    client = ::socket(client_mapped ? AF_INET6 : family, SOCK_STREAM, 0);
    if (client_mapped) {
      sockaddr_in6 mapped{};
      mapped.sin6_family = AF_INET6;
      mapped.sin6_port = four.sin_port;
      ::inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
      EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&mapped), sizeof mapped), 0);
    } else {
      EXPECT_EQ(::connect(client, address, size), 0);
    }
    server = ::accept(listener, nullptr, nullptr);
    ::close(listener);
  }
  ~TcpPair() {
    if (client >= 0) ::close(client);
    ::close(server);
  }
  int client = -1, server = -1;
};

TEST(Peer, OfALoopbackConnectionIsTheOwnerOfTheClientsSocket) {
  const TcpPair pair;
  const net::Peer peer = net::PeerOf(pair.server);
  EXPECT_EQ(peer.kind, net::Peer::Kind::kLoopback);
  EXPECT_EQ(peer.uid, std::optional<std::uint32_t>(::getuid()));
  EXPECT_TRUE(peer.address.starts_with("127.0.0.1:")) << peer.address;
}

TEST(Peer, OfAClientWithAnIPv6SocketIsFoundToo) {
  const TcpPair mapped(false, true);
  EXPECT_EQ(net::PeerOf(mapped.server).uid, std::optional<std::uint32_t>(::getuid()));
  const TcpPair six(true);
  const net::Peer peer = net::PeerOf(six.server);
  EXPECT_EQ(peer.uid, std::optional<std::uint32_t>(::getuid()));
  EXPECT_TRUE(peer.address.starts_with("[::1]:")) << peer.address;
}

// The kernel tells a socket that nobody owns as root's.
TEST(Peer, OfAClientThatHasGoneIsNobody) {
  TcpPair pair;
  ::close(std::exchange(pair.client, -1));
  const net::Peer peer = net::PeerOf(pair.server);
  EXPECT_FALSE(peer.uid.has_value());
  TcpPair reset;
  const linger at_once{1, 0};
  ::setsockopt(reset.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(reset.client, -1));
  EXPECT_FALSE(net::PeerOf(reset.server).uid.has_value());
}

TEST(Peer, OfAUnixSocketIsTheAccountThatConnected) {
  char made[] = "/tmp/muster-peer-XXXXXX";
  ASSERT_NE(::mkdtemp(made), nullptr);
  const std::string path = std::string(made) + "/run/s.sock";
  std::atomic<int> accepted{-1};
  net::Acceptor acceptor([&](int fd) { accepted = fd; }, [] {});
  const Status started = acceptor.StartUnix(path, 0666);
  ASSERT_TRUE(started.ok()) << started.error().detail;
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666U);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  while (accepted < 0) ::usleep(1000);
  const net::Peer peer = net::PeerOf(accepted);
  EXPECT_EQ(peer.kind, net::Peer::Kind::kUnix);
  EXPECT_EQ(peer.uid, std::optional<std::uint32_t>(::geteuid()));
  // A second one does not take the place of a socket that answers.
  net::Acceptor second([](int fd) { ::close(fd); }, [] {});
  EXPECT_EQ(second.StartUnix(path, 0666).error().code, Code::kAlreadyExists);
  ::close(accepted);
  ::close(client);
  acceptor.Stop();
  EXPECT_NE(::stat(path.c_str(), &info), 0) << "the socket is left behind";
  std::filesystem::remove_all(made);
}

TEST(Acceptor, AStaleSocketIsReplaced_AFileIsNot_AndALongPathIsAClearError) {
  char made[] = "/tmp/muster-peer-XXXXXX";
  ASSERT_NE(::mkdtemp(made), nullptr);
  const std::string path = std::string(made) + "/s.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int stale = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(stale);
  net::Acceptor acceptor([](int fd) { ::close(fd); }, [] {});
  EXPECT_TRUE(acceptor.StartUnix(path, 0600).ok());
  acceptor.Stop();
  ::close(::creat(path.c_str(), 0600));
  net::Acceptor other([](int fd) { ::close(fd); }, [] {});
  EXPECT_EQ(other.StartUnix(path, 0600).error().code, Code::kAlreadyExists);
  EXPECT_EQ(other.StartUnix("/" + std::string(200, 'a'), 0600).error().code,
            Code::kInvalidArgument);
  std::filesystem::remove_all(made);
}

}  // namespace
}  // namespace muster::test
