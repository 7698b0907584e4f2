// HeldEnds: ended attempts whose objects their members still hold with Muster's finalizer (rule
// D12). A member that is removed while it holds such an object would keep it for ever, because
// nobody is left to take the finalizer away. On the engine thread only.
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

  /// Forgets everything, as after a recovery: acknowledgements are not stored.
  void Clear() { *this = HeldEnds(); }
  /// Takes what a member reports of one object; called after the row has taken the same
  /// observation.
  void See(const Observation& seen, const Rows& rows);
  /// The member has sent a complete list, and See was called for each object in it. `there`: the
  /// attempts that the list accounts for.
  void TakeList(const std::string& cluster, const std::set<DispatchKey>& there);
  /// Nothing that this member holds is waited for until it sends its next list: an administrator
  /// removes it by force.
  void Abandon(const std::string& cluster) { abandoned_.insert(cluster); }
  void ForgetMember(const std::string& cluster);

  /// kFailedPrecondition, with a sentence for the user, while the member may hold objects of
  /// attempts that are not live. `answers`: the member answers now. The caller checks live rows
  /// itself.
  Status CheckRemoval(const std::string& cluster, const Rows& rows, bool answers) const;

 private:
  void EraseOf(const std::string& cluster, const std::set<DispatchKey>& but);

  // Attempts in Terminal whose objects are held, as last reported.
  std::set<DispatchKey> held_;
  // Members that have sent a complete list since the last recovery.
  std::set<std::string> listed_;
  std::set<std::string> abandoned_;
};

}  // namespace muster
