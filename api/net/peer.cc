// What the kernel knows of the client of an accepted socket (rule U10).
//
// A Unix socket tells the account that connected (SO_PEERCRED). TCP does not, but a client on this
// host has a socket in the same kernel: its four numbers are ours, reversed. PeerOf looks that
// socket up and takes its owner.
//
// Three traps, each of which would give a stranger somebody else's account:
// - A socket in TIME_WAIT, and one that its process has closed, is told as uid 0. So only an
//   established socket with an inode counts.
// - The client may have gone, and another process may have got the same port since. So our own end
//   is looked at last: while it is established, nobody else can have had these four numbers.
// - The look-up falls back to a listening socket of the same port; its state shows it.
#include "api/net/peer.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "api/net/unmapped_user.h"

namespace muster::net {
namespace {

// True if the kernel named an account. Not so in a user namespace for a user that has no number
// there: all of these share one.
bool IsAccount(std::uint32_t uid) {
  constexpr std::uint32_t kNoAccount = 0xFFFFFFFF;
  return uid != kNoAccount && uid != UnmappedUser();
}

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage room;
};

bool IsMapped(const SocketAddress& address) {
  return address.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr);
}

// An IPv4 address that an IPv6 socket tells, as an IPv4 address; others unchanged.
SocketAddress Unmapped(const SocketAddress& address) {
  if (!IsMapped(address)) return address;
  SocketAddress out{};
  out.v4.sin_family = AF_INET;
  out.v4.sin_port = address.v6.sin6_port;
  std::memcpy(&out.v4.sin_addr, &address.v6.sin6_addr.s6_addr[12], 4);
  return out;
}

bool IsLoopbackAddress(const SocketAddress& address) {
  if (address.any.sa_family == AF_INET) return (ntohl(address.v4.sin_addr.s_addr) >> 24) == 127;
  return address.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
}

std::uint16_t PortOf(const SocketAddress& address) {  // in network order
  return address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port;
}

std::string TextOf(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool v4 = address.any.sa_family == AF_INET;
  const void* number = v4 ? static_cast<const void*>(&address.v4.sin_addr)
                          : static_cast<const void*>(&address.v6.sin6_addr);
  if (::inet_ntop(address.any.sa_family, number, text, sizeof text) == nullptr) return "";
  const std::string port = std::to_string(ntohs(PortOf(address)));
  return v4 ? std::string(text) + ":" + port : "[" + std::string(text) + "]:" + port;
}

// The answer of a look-up. `answered` false: this way of asking is not available here.
struct Owner {
  bool answered = false;
  std::optional<std::uint32_t> uid;
};

struct DiagRequest {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

DiagRequest RequestFor(const SocketAddress& client, const SocketAddress& server) {
  DiagRequest request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<std::uint8_t>(client.any.sa_family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = PortOf(client);
  id.idiag_dport = PortOf(server);
  if (client.any.sa_family == AF_INET) {
    std::memcpy(id.idiag_src, &client.v4.sin_addr, 4);
    std::memcpy(id.idiag_dst, &server.v4.sin_addr, 4);
  } else {
    std::memcpy(id.idiag_src, &client.v6.sin6_addr, 16);
    std::memcpy(id.idiag_dst, &server.v6.sin6_addr, 16);
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// sock_diag(7). The kernel answers before send returns, so nothing is waited for.
Owner OwnerByDiag(const SocketAddress& client, const SocketAddress& server) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return {};
  const DiagRequest request = RequestFor(client, server);
  alignas(nlmsghdr) char answer[1024];
  ssize_t size = ::send(fd, &request, sizeof request, 0);
  if (size >= 0) size = ::recv(fd, answer, sizeof answer, MSG_DONTWAIT);
  ::close(fd);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) return {};
  nlmsghdr head;
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    if (size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof error)) return {};
    std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
    // No such socket is an answer; anything else means that the kernel cannot be asked this way.
    return {error.error == -ENOENT, std::nullopt};
  }
  inet_diag_msg told{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof told)) {
    return {};
  }
  std::memcpy(&told, answer + NLMSG_HDRLEN, sizeof told);
  Owner owner{true, std::nullopt};
  if (told.idiag_state == TCP_ESTABLISHED && told.idiag_inode != 0 &&
      told.id.idiag_sport == PortOf(client) && told.id.idiag_dport == PortOf(server)) {
    owner.uid = told.idiag_uid;
  }
  return owner;
}

// An address as /proc/net/tcp and tcp6 write it: words of the host's order in hexadecimal.
std::string ProcText(const SocketAddress& address, bool as_v6) {
  std::uint32_t words[4] = {0, 0, htonl(0xFFFF), 0};
  const bool v4 = address.any.sa_family == AF_INET;
  if (v4) {
    std::memcpy(&words[3], &address.v4.sin_addr, 4);
  } else {
    std::memcpy(words, &address.v6.sin6_addr, sizeof words);
  }
  char text[48];
  if (as_v6) {
    std::snprintf(text, sizeof text, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2],
                  words[3], static_cast<unsigned>(ntohs(PortOf(address))));
  } else {
    std::snprintf(text, sizeof text, "%08X:%04X", words[3],
                  static_cast<unsigned>(ntohs(PortOf(address))));
  }
  return text;
}

// The same from the kernel's table as text, line by line; for hosts without sock_diag.
std::optional<std::uint32_t> OwnerByProc(const SocketAddress& client, const SocketAddress& server) {
  const bool v4 = client.any.sa_family == AF_INET;
  for (const bool as_v6 : {false, true}) {
    if (!v4 && !as_v6) continue;
    const std::string wanted = ProcText(client, as_v6) + " " + ProcText(server, as_v6);
    std::ifstream table(as_v6 ? "/proc/net/tcp6" : "/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      if (line.find(wanted) == std::string::npos) continue;
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries;
      std::uint32_t uid = 0;
      std::uint64_t timeout = 0, inode = 0;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> uid >> timeout >>
          inode;
      if (words && local + " " + remote == wanted && state == "01" && inode != 0) return uid;
    }
  }
  return std::nullopt;
}

// True while our end of the connection is established.
bool Established(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

void AskUnix(int fd, Peer* peer) {
  peer->kind = Peer::Kind::kUnix;
  peer->address = "unix";
  ucred told{};
  socklen_t size = sizeof told;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &told, &size) == 0 && IsAccount(told.uid))
    peer->uid = told.uid;
}

}  // namespace

Peer PeerOf(int fd) {
  Peer peer;
  SocketAddress client{}, server{};
  socklen_t client_size = sizeof client, server_size = sizeof server;
  if (::getsockname(fd, &server.any, &server_size) != 0) return peer;
  if (server.any.sa_family == AF_UNIX) {
    AskUnix(fd, &peer);
    return peer;
  }
  if (::getpeername(fd, &client.any, &client_size) != 0) return peer;
  client = Unmapped(client);
  server = Unmapped(server);
  if (client.any.sa_family != AF_INET && client.any.sa_family != AF_INET6) return peer;
  peer.address = TextOf(client);
  if (!IsLoopbackAddress(client) || client.any.sa_family != server.any.sa_family) return peer;
  peer.kind = Peer::Kind::kLoopback;
  const Owner owner = OwnerByDiag(client, server);
  const std::optional<std::uint32_t> uid = owner.answered ? owner.uid : OwnerByProc(client, server);
  if (uid && IsAccount(*uid) && Established(fd)) peer.uid = uid;
  return peer;
}

}  // namespace muster::net
