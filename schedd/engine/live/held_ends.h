// HeldEnds: ended attempts whose objects their members still hold for Muster: a member that is
// removed just then would keep them for ever, with a finalizer that is nobody's any more
// (rule D12). On the engine thread only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"

namespace muster {

class HeldEnds {
 public:
  using Rows = std::map<DispatchKey, DispatchRow>;

  /// No member has told anything, as after a recovery: what was acknowledged is not stored.
  void Clear() { *this = HeldEnds(); }
  /// What a member says of an object, after its row has taken it.
  void See(const Observation& seen, const Rows& rows);
  /// A complete list of the member, all of it seen: what it lacks is held no longer.
  void TakeList(const std::string& cluster, const std::set<DispatchKey>& there);
  /// Nothing that it holds is waited for, until it tells again what it has.
  void Abandon(const std::string& cluster) { abandoned_.insert(cluster); }
  void ForgetMember(const std::string& cluster);

  /// kFailedPrecondition with a sentence while the member may hold objects of ended or lost
  /// attempts, or is removing some. `answers`: it does now. Live rows are looked at by the caller.
  Status CheckRemoval(const std::string& cluster, const Rows& rows, bool answers) const;

 private:
  void EraseOf(const std::string& cluster, const std::set<DispatchKey>& but);

  std::set<DispatchKey> held_;    // Terminal, and not acknowledged yet
  std::set<std::string> listed_;  // members that have said what they have
  std::set<std::string> abandoned_;
};

}  // namespace muster
