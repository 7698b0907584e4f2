#include "api/net/peer_counts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "schedd/base/check.h"
#include "schedd/base/limits.h"

namespace muster::net {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // of a /64

// The host of "127.0.0.1:40112" or "[fe80::1%eth0]:443".
std::string HostOf(const std::string& address) {
  if (address.starts_with('[')) return address.substr(1, address.find_first_of("%]") - 1);
  return address.substr(0, address.rfind(':'));
}

}  // namespace

std::string PeerKeyOf(const Peer& peer) {
  if (peer.uid) {
    if (*peer.uid == 0 || *peer.uid == ::geteuid()) return "";
    return "uid:" + std::to_string(*peer.uid);
  }
  const std::string host = HostOf(peer.address);
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return "address:" + host;
  if (IN6_IS_ADDR_V4MAPPED(&six)) {
    char four[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &six.s6_addr[12], four, sizeof four);
    return "address:" + std::string(four);
  }
  std::memset(&six.s6_addr[kNetworkBytes], 0, sizeof six.s6_addr - kNetworkBytes);
  char network[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &six, network, sizeof network);
  return "network:" + std::string(network);
}

bool PeerCounts::Full(const std::string& key) const {
  if (most_ == 0 || key.empty()) return false;
  const auto found = counts_.find(key);
  return found != counts_.end() && found->second >= most_;
}

void PeerCounts::Add(const std::string& key) {
  if (!key.empty()) ++counts_[key];
}

void PeerCounts::Remove(const std::string& key) {
  if (key.empty()) return;
  const auto found = counts_.find(key);
  MUSTER_CHECK(found != counts_.end());
  if (--found->second == 0) counts_.erase(found);
}

std::size_t ConnectionsPerPeer(std::size_t setting, std::size_t all) {
  return setting != 0 ? setting : std::max<std::size_t>(1, all / limits::kPeerShare);
}

}  // namespace muster::net
