// Builders for the tests of schedd/lifecycle: one job of one pod set, and its steps to a member.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schedd/lifecycle/admissions.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::changes::testing {

constexpr WallTime kNow{1'700'000'000'000'000};

inline WallTime After(std::int64_t seconds) { return kNow.PlusSeconds(seconds); }

inline JobRecord Job() {
  JobRecord job;
  job.id = JobId{7};
  job.ns = "default";
  job.local_queue = "lq";
  job.cluster_queue = "cq";
  job.state = JobState::kPending;
  job.submit_time = kNow;
  PodSet pods;
  pods.name = "main";
  pods.count = 4;
  pods.requests = {{"cpu", 1000}};
  job.pod_sets = std::make_shared<const PodSets>(PodSets{pods});
  return job;
}

inline ClusterQueue Queue(const std::vector<AdmissionCheckRule>& checks = {}) {
  ClusterQueue queue;
  queue.name = "cq";
  queue.admission_checks = checks;
  return queue;
}

inline core::PlannedAdmission AdmitOf(const JobRecord& job, bool topology_delayed = false) {
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = "cq";
  admission->pod_sets.emplace_back();
  admission->pod_sets[0].name = "main";
  admission->pod_sets[0].count = 4;
  admission->pod_sets[0].flavors = {{"cpu", "spot"}};
  admission->pod_sets[0].usage = {{"cpu", 4000}};
  admission->pod_sets[0].topology_delayed = topology_delayed;
  core::PlannedAdmission admit;
  admit.job = std::make_shared<const JobRecord>(job);
  admit.admission = std::move(admission);
  admit.cluster = "east";
  return admit;
}

inline void Answer(JobRecord* job, CheckState state) {
  ChangeState(job, [&](AdmissionState* own) {
    for (AdmissionCheckStatus& check : own->checks) {
      check.state = state;
      check.message = "said so";
    }
  });
}

/// Reserved at kNow; `checks` are still to be answered.
inline JobRecord ReservedJob(const std::vector<AdmissionCheckRule>& checks = {}) {
  const JobRecord job = Job();
  return *Reserved(job, AdmitOf(job), Queue(checks), AdmissionSettings{}, kNow);
}

/// Admitted at kNow, to member cluster east.
inline JobRecord AdmittedJob() {
  JobRecord job = ReservedJob();
  EXPECT_TRUE(GoOn(&job, AdmissionSettings{}, kNow));
  return job;
}

}  // namespace muster::changes::testing
