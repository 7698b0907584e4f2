// EngineOptions: the settings that the daemon starts an engine with (schedd/daemon reads them from
// its configuration; tests set them directly).
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "schedd/base/lead_term.h"
#include "schedd/base/lease.h"
#include "schedd/base/limits.h"
#include "schedd/model/admission_settings.h"

namespace muster {

struct EngineOptions {
  /// The name of this daemon in the lease, shown by a daemon that waits for the lead.
  std::string holder = "musterd";
  /// For how long an ended job stays in memory (the database keeps it).
  std::int64_t finished_kept_ms = limits::kFinishedJobsKeptMs;
  /// Submissions that were taken and are not durable yet; beyond it submissions are refused.
  std::size_t max_inflight_submissions = limits::kInflightSubmissions;
  /// Pending and held together; beyond it submissions are refused with kResourceExhausted.
  std::size_t max_waiting_jobs = limits::kPendingJobs;
  /// Of these the jobs of one user, and of one namespace that has no annotation
  /// muster.io/max-pending-jobs; 0: no cap (rule U75).
  std::size_t max_waiting_per_user = limits::kPendingJobsPerUser;
  std::size_t max_waiting_per_namespace = limits::kPendingJobsPerNamespace;
  /// How many commits may be on their way to the store at once.
  std::size_t commit_depth = limits::kCommitDepth;
  /// How many workloads one cycle looks at, at most, over all queues.
  std::size_t cycle_heads = limits::kCycleHeads;
  /// An engine with nothing to write makes an empty commit this often, so that it notices that the
  /// lead or the database is lost; 0: never.
  std::int64_t heartbeat_ms = 0;
  /// For how long a member cluster may be silent before its attempts are Unknown (rule D16).
  std::int64_t lost_after_ms = limits::kMemberLostAfterMs;
  /// For how long an object without a row is watched before it is removed (rule D18).
  std::int64_t orphan_grace_ms = limits::kOrphanGraceMs;
  /// Rows of the audit trail are removed this long after their day is over; 0: never. At least
  /// limits::kAuditRetentionMinMs.
  std::int64_t audit_retention_ms = 0;
  /// The settings that change decisions (rule A2); never null.
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  /// Runs on the engine thread when a recovery has read the database, with the latest time that a
  /// daemon has stamped into a job there; unset: none. May be null.
  std::function<void(WallTime)> on_last_stamp;
  /// Runs on the engine thread each time a recovery is done and visible in View(); may be null.
  std::function<void()> on_ready;
  /// The engine begins, renews and ends this term; its permits let orders be carried out. Null:
  /// orders need no permit (tests, simulation).
  std::shared_ptr<LeadTerm> lead = nullptr;
  /// Who leads, as the store learns it. While another daemon does, the engine publishes copies of
  /// the database. Null: no other daemon is reckoned with but by epochs. Must outlive the engine.
  LeaseBoard* lease = nullptr;
  /// How copies are read while another daemon leads: by default on the engine's thread, which holds
  /// up its looks at the lease; with std::launch::async on a thread of their own.
  std::launch copy_launch = std::launch::deferred;
};

}  // namespace muster
