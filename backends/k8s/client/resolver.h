// Resolver: the addresses of one member's host. Each look-up blocks a thread of its own, so a slow
// name server delays this member alone; at most one runs at a time.
//
// Used on the client's strand only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/k8s/client/connection.h"
#include "backends/k8s/client/strand_gate.h"
#include "schedd/base/clock.h"
#include "schedd/base/result.h"

namespace muster::k8s {

class Resolver : public std::enable_shared_from_this<Resolver> {
 public:
  using LookupHandler = std::function<void(const Result<std::vector<Endpoint>>&)>;

  Resolver(const Clock& clock, std::shared_ptr<StrandGate> gate, std::string host,
           std::string port);
  /// Calls `found` on the strand; at once if the addresses are known: an IP address, localhost, or
  /// a name that was looked up less than half a minute ago.
  void Find(LookupHandler found);

 private:
  void Answered(Result<std::vector<Endpoint>> result);

  const Clock& clock_;
  const std::shared_ptr<StrandGate> gate_;
  const std::string host_, port_;
  std::vector<Endpoint> known_;
  /// known_ does not expire.
  bool for_ever_ = false;
  Monotonic known_until_;
  std::vector<LookupHandler> waiting_;
};

}  // namespace muster::k8s
