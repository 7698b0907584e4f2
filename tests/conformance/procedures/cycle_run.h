// CycleRun: a case's objects brought to life: the API server's Workloads, what is in the cache and
// in the queues, and single-head cycles that change all three as a plan says.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {

class CycleRun {
 public:
  explicit CycleRun(const Case& test);

  /// One scheduling cycle.
  void Schedule();
  /// Parked workloads go back to their queues.
  void RequeueInadmissible();
  /// A workload vanishes.
  void Delete(const std::string& key);
  void SetNominalQuota(const std::string& cluster_queue, const std::string& flavor,
                       const std::string& resource, const std::string& quantity);

  std::vector<JobRecord> Workloads() const;
  /// Admissions in the cache; without those that were admitted before the first cycle if `fresh`.
  std::map<std::string, AdmissionPtr> Assignments(bool fresh) const;
  /// Keys in each queue that has any, active or inadmissible ones.
  json::object Left(bool active) const;
  const json::array& events() const { return events_; }
  json::object SkippedPreemptions() const;
  json::object Recomputations() const;
  json::object PendingPenalties() const;
  /// Keys whose condition is true.
  json::array With(const char* condition) const;
  std::int64_t status_patches() const { return patches_; }

 private:
  struct Texts {
    std::string uid, job_uid;  // as the case spells them
  };
  void LoadJobs(const Case& test);
  void LoadSharing(const Case& test);
  void Rebuild();
  core::Snapshot Take();
  void Enter(const JobPtr& job);
  void Put(JobRecord job);
  bool Patch();
  void Admitted(const core::PlannedAdmission& admit);
  void Evicted(const core::Eviction& eviction);
  void Waits(const core::UnadmittedWorkload& waiting);
  void SecondPassFailed(const JobRecord& job, const std::string& message);
  void UpdateUsages();
  void Event(const JobRecord& job, const std::string& type, const std::string& reason,
             const std::string& message);
  std::string WaitText(WallTime since) const;
  const std::string& KeyText(JobId id) const { return keys_.at(id); }

  World world_;
  std::string error_, error_reason_;  // of every status write; "" if they succeed
  std::shared_ptr<ConfigView> config_;
  AdmissionSettingsPtr settings_;
  core::QuotaTreePtr tree_;
  core::TopologyForestPtr forest_;
  MemberCluster machines_;
  std::map<JobId, JobPtr> jobs_;   // as the API server has them
  std::map<JobId, JobPtr> cache_;  // those that hold quota
  std::map<JobId, std::string> keys_;
  std::map<JobId, Texts> texts_;
  std::set<JobId> admitted_before_;
  core::PendingQueues pending_;
  core::SecondPassQueue second_pass_;
  core::FairLedger ledger_{AdmissionFairSharing{}};
  WallTime now_;
  std::int64_t cycle_ = 0;
  json::array events_;
  std::map<std::string, std::int64_t> skipped_;
  std::map<std::string, std::map<std::string, std::int64_t>> recomputed_;
  std::int64_t patches_ = 0;
};

}  // namespace muster::conformance
