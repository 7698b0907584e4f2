// Invariants: what must hold of a simulated world at every committed version, at every start of
// pods, and at rest. Each check breaks the world with the number of the invariant (tests/sim/
// README.md has the table). One thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "schedd/world/world_view.h"
#include "tests/sim/clients.h"
#include "tests/sim/database.h"
#include "tests/sim/members.h"

namespace muster::sim {

class Invariants {
 public:
  Invariants(Stage& stage, Database& database, Members& members, Clients& clients);

  /// A write took effect: I3, I4, I5, I10 on what is stored.
  void OnDurable();
  /// Pods of an object start: I2, I5, I11.
  void OnStart(const DispatchKey& key, const SimObject& object);
  /// A record leaves the daemon in an answer: I1. It must be durable by then.
  void OnAnswer(const JobPtr& job, const char* what);
  void OnAnswer(const std::vector<AppliedObject>& objects);
  /// A view was published: nothing in it is ahead of what is stored.
  void OnView(const WorldView& view);
  /// The daemon has nothing to do and waits for nothing: no job waits that could be admitted (I14).
  void OnQuiet(const WorldView& view);
  /// Everything has ended: I1, I4, I6, I8, I9.
  void AtRest(const WorldView& view);

  std::uint64_t checks() const { return checks_; }

 private:
  void CheckQuotas(const StoredWorld& stored);
  void CheckUsageRows(const StoredWorld& stored);
  void CheckLife(const JobRecord& job);
  void CheckOrder(const std::map<JobId, JobPtr>& before, const StoredWorld& stored);
  void CheckBegin(const JobRecord& job);
  void CheckThrottles(const StoredWorld& stored);
  void CheckArrays();
  void CheckAttempts(const JobRecord& job);

  Stage& stage_;
  Database& database_;
  Members& members_;
  Clients& clients_;
  std::map<JobId, JobPtr> last_;                     // as stored at the version before
  std::map<std::string, std::int64_t> used_before_;  // by node: what was above its limit
  std::map<JobId, std::int64_t> waits_since_;
  std::map<JobId, int> able_;  // in how many quiet moments in a row it could have been admitted
  std::map<std::string, int> starts_;  // by object uid
  std::uint64_t checks_ = 0;
};

}  // namespace muster::sim
