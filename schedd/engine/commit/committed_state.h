// CommittedState: what PostgreSQL is known to hold, and all that View() shows of jobs and objects.
// A plain value of the engine thread.
#pragma once

#include <memory>

#include "schedd/engine/commit/ledger.h"
#include "schedd/world/world_view.h"

namespace muster {

struct Transaction;

struct CommittedState {
  ConfigPtr config = std::make_shared<const ConfigView>();
  std::shared_ptr<const ObjectTable> objects = std::make_shared<const ObjectTable>();
  JobTable jobs;
  std::shared_ptr<const SetAsideObjects> set_aside = std::make_shared<const SetAsideObjects>();
  std::shared_ptr<const WorkTable> works = std::make_shared<const WorkTable>();
  Ledger ledger;
  std::int64_t last_seq = 0;
  /// An ended job that is not in `jobs` has no event above this one.
  std::int64_t retired_seq = 0;

  /// `job` is the durable record; the ledger moves from the record before it.
  void Put(const JobPtr& job);
  /// The job is deleted from the database, or an ended job leaves memory. No effect for an unknown
  /// id.
  void Erase(JobId id);
  /// Takes a durable transaction. Returns the jobs that have ended by it, in id order.
  std::vector<JobPtr> Take(const Transaction& done, const AdmissionSettingsPtr& settings);
};

}  // namespace muster
