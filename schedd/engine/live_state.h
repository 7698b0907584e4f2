// LiveState and CommittedState: the engine's two worlds. The live one is what has been decided; the
// committed one is what PostgreSQL is known to hold, and all that View() shows. Plain values of the
// engine thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "schedd/core/queue/queue_order.h"
#include "schedd/core/quota/holders.h"
#include "schedd/engine/ledger.h"
#include "schedd/world/world_view.h"

namespace muster {

struct LiveState {
  ConfigPtr config = std::make_shared<const ConfigView>();
  std::shared_ptr<const ObjectTable> objects = std::make_shared<const ObjectTable>();
  std::unordered_map<JobId, JobPtr> jobs;         // looked up; never iterated where order matters
  std::map<DispatchKey, DispatchRow> dispatches;  // not Gone; by job uid first
  /// Whose the object names on members are, by a hash of cluster, kind, namespace and name.
  std::unordered_map<std::size_t, DispatchKey> names;
  SetAside set_aside;  // what is left alone on members
  WorkTable works;     // configuration objects on members
  core::PendingQueues pending;
  /// Amounts as the rows will be once everything decided is committed; what decisions count on. No
  /// commit of an epoch is durable without those before it (store.h), so none is above a quota.
  Ledger planned;
  core::Holders holders;  // who `planned` is made of
  JobId last_job_id;
  std::int64_t last_seq = 0;
};

struct CommittedState {
  ConfigPtr config = std::make_shared<const ConfigView>();
  std::shared_ptr<const ObjectTable> objects = std::make_shared<const ObjectTable>();
  JobTable jobs;
  std::shared_ptr<const SetAside> set_aside = std::make_shared<const SetAside>();
  std::shared_ptr<const WorkTable> works = std::make_shared<const WorkTable>();
  Ledger ledger;
  std::int64_t last_seq = 0;

  /// What the database holds of a job by now; the ledger follows.
  void Put(const JobPtr& job);
  /// The job is gone from the database, or from memory.
  void Erase(JobId id);
};

}  // namespace muster
