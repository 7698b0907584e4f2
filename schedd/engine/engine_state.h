// EngineState: what the engine remembers between steps, beside what it was given: its two worlds,
// the transaction under way, timers and lists of what is still to be done. Plain values of the
// engine thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/engine/fair_use.h"
#include "schedd/engine/held_ends.h"
#include "schedd/engine/inbox.h"
#include "schedd/engine/live_state.h"
#include "schedd/engine/pending_news.h"
#include "schedd/engine/placed_jobs.h"
#include "schedd/engine/transaction.h"

namespace muster {

/// What each holder takes of the machines.
using MachineCharges = std::unordered_map<JobId, core::TopologyCharges>;

/// A member that does not answer.
struct LostMember {
  WallTime since;        // as people are told
  Monotonic since_mono;  // as it is counted
  Monotonic lost_from;   // until then it may answer, and nothing is done
};

/// The configuration as it is to be.
struct ConfigEdit {
  ConfigPtr config;
  std::shared_ptr<const ObjectTable> objects;
  std::vector<ObjectKey> changed;  // put or removed
  bool matters = false;            // to what is charged to whom
};

struct EngineState {
  bool ready = false;
  bool store_failed = false;  // a write failed: recover once nothing is outstanding
  std::string not_ready_reason = "recovery has not run yet";
  Monotonic next_recovery;
  int recovery_failures = 0;
  Epoch epoch;

  LiveState live;
  CommittedState committed;
  std::map<std::string, ClusterFacts> facts;  // survive recovery: members say them once

  std::map<std::string, LostMember> lost_members;  // as `facts`; a start takes them from the rows
  Monotonic next_loss_check{};                     // if there are any
  std::set<std::string> removed_members;           // what is still told of them counts for nothing
  std::set<std::string> second_names;  // of members that are there under another name already
  /// Kubernetes members that were not listed since the recovery, and until when that is waited for.
  std::set<std::string> unlisted;
  Monotonic lists_due{};
  /// When an object that no attempt accounts for was listed first, by (cluster, uid).
  std::map<std::pair<std::string, std::string>, Monotonic> strays;
  std::map<std::string, Monotonic> stray_lists;  // when they are to be looked at again, by member

  Transaction tx;
  std::deque<SentCommit> commits;
  Monotonic heard_at{};  // when the store made something durable last
  /// Of durable commits. They leave after the view of these: who carries them out reads in it what
  /// they were decided by, and finds nothing in the one before a recovery.
  std::vector<Order> due_orders;
  AcceptBatch gathering;
  std::deque<AcceptBatch> accepts;
  std::size_t inflight_submissions = 0;
  Monotonic crowded_until{};        // submissions came lately: commits stay short
  Monotonic rest_until{};           // and leave time between them
  Monotonic writer_idle_since{};    // while nothing is on its way to the store
  std::deque<Command> reports;      // of attempts, in order, not looked at yet
  std::int64_t decided_cycles = 0;  // single-head cycles so far
  core::CycleCache cycle_cache;
  int configs_in_flight = 0;       // no decision on a configuration that is not durable
  core::TopologyForestPtr forest;  // null: no flavor is topology aware
  core::TopologyUsage machines;    // of the holders
  bool forest_known = false, machines_known = false;
  MachineCharges machine_charges;  // what `machines` is made of
  core::SecondPassQueue second_passes;
  bool waits_for_pods = false;  // nothing is decided while there is one in `unready`
  FairUseTracker fair;          // admission fair sharing
  Monotonic next_fair_sample;   // if it is on
  std::set<std::pair<WallTime, JobId>> alarms;
  std::unordered_map<JobId, WallTime> alarm_of;
  core::EvictionPace eviction_pace;
  PlacedJobs placed_jobs;
  HeldEnds held_ends;
  /// When time alone may find some job of a ClusterQueue a member: its next cluster group opens, or
  /// a member is no longer avoided.
  std::map<std::string, WallTime> openings;
  std::set<JobId> unready;  // not all pods ready; kept only if that blocks admission
  std::set<JobId> lazy;     // changed in reason or counts only; written when there is time
  PendingNews pending_news;

  std::vector<std::function<void()>> answers;  // after the next publication
  std::vector<Event> news;
  bool dirty = false;

  std::unordered_map<std::string, Verdict> verdicts;  // by group or class; looked up only
  std::deque<JobId> to_sweep;
  std::deque<JobId> to_recheck;
  std::set<std::string> released;        // ClusterQueues whose quota came free since the last flush
  std::set<std::string> waits_for_room;  // ClusterQueues with a job that lacks room on a member
  std::deque<JobId> forgotten;  // ended jobs whose objects remain but whose records were not loaded
  std::deque<std::pair<JobState, JobId>> finished_after;  // ended ones yet to be looked at, by id
  std::multimap<Monotonic, JobId> ttls;  // when an ended job's object is to be deleted
  std::deque<std::pair<Monotonic, JobId>>
      retirements;            // when an ended job leaves memory, about in order
  Monotonic next_forgetting;  // of idempotency keys
};

}  // namespace muster
