// The one place where the parts of the engine are put together. The members of Owners are declared,
// and so constructed, in the order of their dependencies: an owner gets references to owners above
// it. Where a change has to reach owners below, they follow by an interface: JobFollower for
// records of jobs, ConfigFollower for the configuration, DurableListener for commits. The order of
// the followers of LiveJobs is the order in which they see each record.
#include "schedd/engine/owners.h"

#include "schedd/base/fault_points.h"

namespace muster {

Owners::Owners(EngineContext& context_in)
    : context(context_in),
      commits(context, *this),
      audit(context, commits),
      members(context.clock),
      works(commits),
      waiting(context, config),
      jobs(context, commits, config, members, waiting),
      rows(context, commits),
      arrays(jobs),
      attempts(context, commits, config, waiting, jobs, rows),
      array_tasks(context, commits, config, waiting, jobs, attempts, arrays, job_ids),
      dependencies(context, commits, jobs, attempts, arrays, array_tasks),
      partitions(commits, config, jobs),
      batch_commands(context, commits, config, waiting, jobs, attempts, arrays, array_tasks,
                     dependencies),
      job_commands(context, commits, jobs, attempts, batch_commands, arrays, array_tasks),
      admission_commands(context, commits, config, jobs, attempts),
      nominations(context, commits, config, members, jobs, attempts),
      alarms(context, config, waiting, jobs, attempts, job_commands),
      stand_ins(context, commits, config, waiting, jobs, rows),
      node_failures(context, config, jobs, attempts),
      checks(context, commits, config, waiting, jobs),
      tenants(context.options, config),
      submissions(context, commits, config, waiting, jobs, checks, tenants, dependencies,
                  partitions, job_ids),
      retention(context, commits, jobs, attempts, job_commands),
      machines(context, config, members, jobs),
      decider(context, commits, config, members, waiting, jobs, attempts, array_tasks, stand_ins,
              alarms, checks, machines),
      configuration(context, commits, config,
                    {waiting, jobs, rows, attempts, array_tasks, stand_ins, machines, node_failures,
                     checks, members, held_ends, works}),
      orphans(context, commits, config, jobs, rows, attempts, job_commands),
      reports(context, commits, members, jobs, rows, attempts, stand_ins, orphans, held_ends),
      lost_members(context, commits, config, members, waiting, jobs, rows, attempts, machines,
                   held_ends),
      leaving(context, config, members, jobs, rows, attempts, works, configuration),
      restored(commits, jobs, rows, attempts) {
  for (JobFollower* follower :
       std::initializer_list<JobFollower*>{&attempts, &alarms, &machines, &stand_ins, &tenants,
                                           &dependencies, &arrays, &array_tasks}) {
    jobs.AddFollower(follower);
  }
  configuration.AddFollower(&leaving);
}

// Queues are woken, and jobs are queued again, only now: nothing is decided on a change that may
// still be lost. Quota that came free is the exception. It wakes its tree at once
// (WaitingJobs::FlushReleased), because commits of one epoch become durable in order.
void Owners::OnDurable(const Transaction& done, const std::vector<JobPtr>& ended) {
  for (const JobPtr& job : ended) retention.Schedule(*job);
  if (!MUSTER_PLANTED(edit_wakes_nobody)) waiting.Wake(done.wakes);
  for (const JobId id : done.to_queue) {
    // The record may have changed again since the transaction left.
    const JobPtr job = jobs.Find(id);
    if (job != nullptr && changes::MayQueue(*job)) waiting.Add(job);
  }
}

}  // namespace muster
