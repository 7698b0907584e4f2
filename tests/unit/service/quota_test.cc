#include <gtest/gtest.h>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

QuotaEdit Edit(std::int64_t nominal) {
  QuotaEdit edit;
  edit.key = {"cq", "default", "cpu"};
  edit.nominal = nominal;
  return edit;
}

TEST(Quota, List_ShowsLimitsUsageAndEtag) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("a", "queue", "3")).ok());
  const auto quotas = w.service.ListQuotas(w.alice, "cq");
  ASSERT_TRUE(quotas.ok());
  ASSERT_EQ(quotas->size(), 1u);
  EXPECT_EQ((*quotas)[0].quota.nominal, 4000);
  EXPECT_EQ((*quotas)[0].used, 3000);
  EXPECT_EQ((*quotas)[0].available, 1000);
  EXPECT_FALSE((*quotas)[0].etag.empty());
  EXPECT_EQ(w.service.ListQuotas(w.alice, "none").error().code, Code::kNotFound);
}

TEST(Quota, AnEdit_LetsWaitingJobsInAtOnce_AndIsAudited) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({MemberObject("east", {{"cpu", 64000}})}).ok());
  const Result<SubmittedJob> job = w.Submit(JobManifest("a", "queue", "6"));
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(w.world.StateOf(job->job->id), JobState::kPending);
  const auto edited = w.SetQuota(Edit(8000));
  ASSERT_TRUE(edited.ok()) << edited.error().detail;
  EXPECT_EQ(edited->quota.quota.nominal, 8000);
  EXPECT_EQ(w.world.StateOf(job->job->id), JobState::kAdmitted);
  const auto audit = w.world.store.ReadAudit(100);
  ASSERT_TRUE(audit.ok());
  bool found = false;
  for (const AuditRow& row : *audit)
    found = found || (row.user == "alice" && row.object == "clusterqueue/cq");
  EXPECT_TRUE(found);
}

TEST(Quota, ADryRun_NamesTheJobsItWouldAdmit_AndChangesNothing) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({MemberObject("east", {{"cpu", 64000}})}).ok());
  const Result<SubmittedJob> job = w.Submit(JobManifest("a", "queue", "6"));
  QuotaEdit edit = Edit(8000);
  edit.dry_run = true;
  const auto edited = w.SetQuota(edit);
  ASSERT_TRUE(edited.ok()) << edited.error().detail;
  ASSERT_EQ(edited->effect.would_admit.size(), 1u);
  EXPECT_EQ(edited->effect.would_admit[0]->id, job->job->id);
  EXPECT_EQ(edited->quota.quota.nominal, 8000);
  EXPECT_EQ(edited->quota.available, 8000);
  EXPECT_EQ(w.world.StateOf(job->job->id), JobState::kPending);
  EXPECT_EQ((*w.service.ListQuotas(w.alice, "cq"))[0].quota.nominal, 4000);
}

TEST(Quota, ADryRun_NamesTheVictims_AndWhoStartsInTheirPlace) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({MemberObject("east", {{"cpu", 64000}})}).ok());
  const auto queue = [](const char* name) {
    return ClusterQueueObject({.name = name, .cohort = "all", .reclaim = "Any"});
  };
  ASSERT_TRUE(w.world.Apply({queue("cq"), queue("lender")}).ok());
  const auto borrower = w.Submit(JobManifest("borrower", "queue", "8"));
  ASSERT_TRUE(borrower.ok());
  w.world.Run();
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("lent", "lender")}).ok());
  const auto owner = w.Submit(JobManifest("owner", "lent", "6"));
  ASSERT_TRUE(owner.ok());
  ASSERT_EQ(w.world.StateOf(owner->job->id), JobState::kPending) << "it would have to borrow";
  QuotaEdit edit;
  edit.key = {"lender", "default", "cpu"};
  edit.nominal = 6000;
  edit.dry_run = true;
  const auto edited = w.SetQuota(edit);
  ASSERT_TRUE(edited.ok()) << edited.error().detail;
  ASSERT_EQ(edited->effect.would_preempt.size(), 1u);
  EXPECT_EQ(edited->effect.would_preempt[0]->id, borrower->job->id);
  ASSERT_EQ(edited->effect.would_admit.size(), 1u);
  EXPECT_EQ(edited->effect.would_admit[0]->id, owner->job->id);
  EXPECT_EQ(w.world.StateOf(borrower->job->id), JobState::kRunning);
}

TEST(Quota, AnEditOfAnOldReading_IsAborted) {
  ServiceWorld w;
  QuotaEdit edit = Edit(5000);
  edit.etag = (*w.service.ListQuotas(w.alice, "cq"))[0].etag;
  const auto first = w.SetQuota(edit);
  ASSERT_TRUE(first.ok());
  EXPECT_NE(first->quota.etag, edit.etag);
  const auto second = w.SetQuota(edit);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kAborted);
}

TEST(Quota, OnlyWhatTheEditNames_Changes_AndLimitsCanBeRemoved) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({ClusterQueueObject({.name = "lent", .cohort = "all"})}).ok());
  QuotaEdit edit;
  edit.key = {"lent", "default", "cpu"};
  edit.borrowing_limit = 1500;
  edit.lending_limit = 500;
  ASSERT_TRUE(w.SetQuota(edit).ok());
  QuotaEdit clear;
  clear.key = edit.key;
  clear.clear_borrowing_limit = true;
  const auto edited = w.SetQuota(clear);
  ASSERT_TRUE(edited.ok()) << edited.error().detail;
  EXPECT_EQ(edited->quota.quota.nominal, 4000);
  EXPECT_FALSE(edited->quota.quota.borrowing_limit.has_value());
  EXPECT_EQ(edited->quota.quota.lending_limit, 500);
}

TEST(Quota, BadEdits_AreRefused_AndChangeNothing) {
  ServiceWorld w;
  QuotaEdit nothing;
  nothing.key = {"cq", "default", "cpu"};
  QuotaEdit borrow = nothing;
  borrow.borrowing_limit = 1000;  // no cohort to borrow from
  QuotaEdit unknown = Edit(1);
  unknown.key.resource = "memory";
  QuotaEdit no_queue = Edit(1);
  no_queue.key.cluster_queue = "none";
  EXPECT_EQ(w.SetQuota(nothing).error().code, Code::kInvalidArgument);
  EXPECT_EQ(w.SetQuota(Edit(-1)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(w.SetQuota(borrow).error().code, Code::kInvalidArgument);
  EXPECT_EQ(w.SetQuota(unknown).error().code, Code::kNotFound);
  EXPECT_EQ(w.SetQuota(no_queue).error().code, Code::kNotFound);
  EXPECT_EQ((*w.service.ListQuotas(w.alice, "cq"))[0].quota.nominal, 4000);
}

}  // namespace
}  // namespace muster::test
