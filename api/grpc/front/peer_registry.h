// PeerRegistry: which client a gRPC call came from. gRPC calls the connections that the front hands
// over "fd:NUMBER"; this is the table from the number to what the kernel said of the client.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "api/net/peer.h"
#include "schedd/base/mutex.h"

namespace muster::api::front {

/// Thread-safe.
class PeerRegistry {
 public:
  /// Lists the connection under the number of `fd`, gRPC's end of it. If the number rests, `fd` is
  /// closed and a duplicate with another number takes its place. Returns the descriptor to hand
  /// over; -1 if no number is free (then `fd` is closed and nothing is listed).
  int Adopt(int fd, net::PeerPtr peer, std::int64_t now_ms);
  /// The front has closed its end of `peer`'s connection: the number rests for
  /// limits::kGrpcNumberRestMs, unless another connection has it by now.
  void Leave(int fd, const net::PeerPtr& peer, std::int64_t now_ms);
  /// The client of grpc::ServerContext::peer(); null if it is none of ours.
  net::PeerPtr Of(std::string_view grpc_peer) const;

 private:
  struct Entry {
    net::PeerPtr peer;
    bool open = true;
    std::int64_t left_ms = 0;
  };
  bool RestsLocked(int number, const net::PeerPtr& peer, std::int64_t now_ms) const
      MUSTER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<int, Entry> entries_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::api::front
