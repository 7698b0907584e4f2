// EngineOptions: what an engine is started with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schedd/base/lead_term.h"
#include "schedd/base/limits.h"
#include "schedd/model/admission_settings.h"

namespace muster {

struct EngineOptions {
  std::string holder = "musterd";
  std::int64_t finished_kept_ms = limits::kFinishedJobsKeptMs;
  std::size_t max_inflight_submissions = limits::kInflightSubmissions;
  /// Pending and held together; beyond it submissions are refused with kResourceExhausted.
  std::size_t max_waiting_jobs = limits::kPendingJobs;
  std::size_t commit_depth = limits::kCommitDepth;
  std::size_t cycle_heads = limits::kCycleHeads;
  /// An engine with nothing to write makes an empty commit this often, so that it notices that the
  /// lead or the database is lost; 0: never.
  std::int64_t heartbeat_ms = 0;
  /// For how long a member cluster may be away before its attempts are Unknown.
  std::int64_t lost_after_ms = limits::kMemberLostAfterMs;
  /// For how long an object without a row is watched before it is removed.
  std::int64_t orphan_grace_ms = limits::kOrphanGraceMs;
  /// The switches that change decisions; never null.
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  /// Runs on the engine thread each time a recovery is done and visible in View(); may be null.
  std::function<void()> on_ready;
  /// The engine begins, renews and ends it; null: nobody asks for the lead.
  std::shared_ptr<LeadTerm> lead = nullptr;
  /// No other daemon can have led the store before this one, or it has ended for sure.
  bool sole_leader = false;
};

}  // namespace muster
