// PeerCounts: how many connections each peer holds, and the bound on them (rule U76).
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "api/net/peer.h"

namespace muster::net {

/// Who is counted as one: an account of this host, an IPv4 address, or the /64 network of an IPv6
/// address, of which one host may use every address. "" for peers that are not bounded: root and
/// the daemon's own account.
std::string PeerKeyOf(const Peer& peer);

/// A plain counter; the owner guards it.
class PeerCounts {
 public:
  /// `most`: connections of one peer. 0: no bound.
  explicit PeerCounts(std::size_t most) : most_(most) {}
  /// True if the peer may not have another connection.
  bool Full(const std::string& key) const;
  bool Has(const std::string& key) const { return counts_.contains(key); }
  void Add(const std::string& key);
  void Remove(const std::string& key);

 private:
  std::size_t most_;
  std::unordered_map<std::string, std::size_t> counts_;  // peers without connections have no entry
};

/// The bound that the setting `connections-per-peer` means: itself, or for 0 one part in
/// limits::kPeerShare of `all`, but at least 1.
std::size_t ConnectionsPerPeer(std::size_t setting, std::size_t all);

}  // namespace muster::net
