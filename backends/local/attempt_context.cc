// Attempt: what the pods of an attempt are built from: its accounts, and the host as they see it.
#include "backends/local/attempt.h"
#include "backends/local/pods/batch_world.h"
#include "backends/local/process/files.h"
#include "schedd/base/limits.h"

namespace muster::local {

JobAccounts Attempt::Accounts() const {
  JobAccounts accounts;
  accounts.own_uid = world_.abilities.own_uid;
  accounts.own_gid = world_.abilities.own_gid;
  accounts.submitter = state_.account;
  if (const auto member = world_.accounts.find(state_.key.cluster);
      member != world_.accounts.end()) {
    accounts.job_account = member->second.job_account;
    accounts.root_jobs = member->second.root_jobs;
  }
  accounts.reserved = world_.options.reserved_users;
  accounts.account_of = [&world = world_](std::int64_t uid) {
    return world.users.Of(uid, world.options.clock->Now());
  };
  return accounts;
}

// What the pod builder must know of the host and the attempt.
PodContext Attempt::ContextFor(const PodWish& wish, const std::string& pod_dir) const {
  PodContext context;
  context.ns = state_.ns;
  context.cluster = state_.key.cluster;
  context.pod_uid = Uid::Make(*world_.options.random).ToString();
  context.pod_dir = pod_dir;
  context.marker_key =
      state_.key.cluster + "." + AttemptDirectoryName(state_.key) + "." + wish.identity.id;
  context.search_path = world_.options.search_path;
  context.home = world_.options.home;
  context.isolation = world_.abilities.isolation;
  if (PathExists(dir_ + "/hosts")) context.hosts_file = dir_ + "/hosts";
  context.dependents = &dependents_;
  const auto allocatable = world_.allocatable.find(state_.key.cluster);
  if (allocatable != world_.allocatable.end()) context.allocatable = &allocatable->second;
  context.cgroups = world_.abilities.cgroups;
  context.max_processes = world_.options.max_processes_per_pod;
  context.log_bytes = static_cast<std::int64_t>(limits::kLogBytesPerContainer);
  context.accounts = Accounts();
  if (!batch_) return context;
  context.job = state_.job.value;
  // The first component of a heterogeneous job has the script.
  if (const auto world = ReadBatchWorld(*controller_->templates(object_).front()); world.ok())
    context.script_host = HostOf(*world, 0);
  context.steps_dir = dir_ + "/steps";
  context.step_agent = world_.step_agent;
  context.commands_dir = world_.commands_dir;
  // The supervisor and the job read the host's clock.
  const Clock& clock = *world_.options.clock;
  context.time_began = state_.released.Plus(PausedUs(clock.WallNow()) + CalendarAheadUs(clock));
  return context;
}

}  // namespace muster::local
