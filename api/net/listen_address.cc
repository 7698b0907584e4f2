// Asks the list of interfaces before the resolver: an interface's name is never a host's.
#include "api/net/listen_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "api/net/acceptor.h"

namespace muster::net {
namespace {

// "" if it is no address that can be bound without a scope.
std::string NumericText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text) == nullptr ? "" : text;
  }
  if (address->sa_family != AF_INET6) return "";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return "";
  return ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) == nullptr ? "" : text;
}

bool IsNumeric(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// "" if no interface has this name, or it has no address.
std::string AddressOfInterface(const std::string& name) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next)
    if (name == one->ifa_name) found = NumericText(one->ifa_addr);
  ::freeifaddrs(all);
  return found;
}

}  // namespace

Result<std::string> ListenAddress(const std::string& host) {
  if (IsNumeric(host)) return host;
  if (host == "localhost") return std::string("127.0.0.1");
  if (std::string found = AddressOfInterface(host); !found.empty()) return found;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failed != 0) {
    return InvalidArgument("\"" + host + "\" is no address, interface or name of this host: " +
                           ::gai_strerror(failed));
  }
  std::string found;
  for (const addrinfo* one = list; one != nullptr && found.empty(); one = one->ai_next)
    found = NumericText(one->ai_addr);
  ::freeaddrinfo(list);
  if (found.empty()) return InvalidArgument("\"" + host + "\" has no address to listen on");
  return found;
}

Status MayListen(const std::string& api, const std::string& host, bool tls) {
  if (tls || !LoopbackAddress(host).empty()) return Done{};
  return Error{Code::kFailedPrecondition,
               api + " listens beyond loopback only with TLS (tls-cert, tls-key): \"" + host +
                   "\" is not one of 127.0.0.0/8, ::1 or localhost"};
}

}  // namespace muster::net
