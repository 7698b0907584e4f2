// PlanNominations alone, for decisions that a whole world would hide.
#include "schedd/nomination/step/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "tests/support/builders.h"

namespace muster::nomination {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kNow{1'000'000'000};

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    auto config = std::make_shared<ConfigView>();
    ClusterQueue queue;
    queue.name = "cq";
    queue.dispatch.mode = DispatchMode::kAllAtOnce;
    config->cluster_queues["cq"] = queue;
    config_ = config;
    world_.ready = true;
    for (const char* name : {"a", "b", "c"}) AddMember(name);
  }

  void AddMember(const std::string& name) {
    MemberCluster member;
    member.name = name;
    member.allocatable = {{"cpu", 8000}};
    config_->member_clusters[name] = member;
    core::ClusterView view;
    view.member = member;
    view.free = member.allocatable;
    world_.clusters.push_back(view);
    members_[name].queue = MemberQueueState::Queue::kRuns;
    members_[name].answers = true;
  }

  // A job that holds quota and waits for members' queues.
  std::shared_ptr<JobRecord> Waiting(std::vector<std::string> nominated = {}) {
    const Submission submission = test::MakeSubmission({});
    auto job = std::make_shared<JobRecord>(*submission.draft);
    job->id = JobId{1};
    job->state = JobState::kReserved;
    job->cluster = "a";
    auto admission = std::make_shared<Admission>();
    admission->cluster_queue = "cq";
    admission->pod_sets.resize(1);
    admission->pod_sets[0].name = "main";
    admission->pod_sets[0].count = 1;
    job->admission = admission;
    ChangeState(job.get(), [&](AdmissionState* state) {
      AdmissionCheckStatus check;
      check.name = kMemberQueuesCheck;
      check.last_transition = kNow;
      state->checks = {check};
      state->nominated = std::move(nominated);
    });
    return job;
  }

  MemberCopy* Copy(const std::string& member, const JobRecord& job) {
    const std::string name = CopyName(job.uid, AttemptOfCopies(job));
    MemberCopy& copy = members_[member].copies[CopyId(job.ns, name)];
    copy.key = {job.uid, AttemptOfCopies(job), member};
    copy.name = name;
    copy.ns = job.ns;
    copy.uid = "uid-" + member;
    return &copy;
  }

  NominationPlan Plan(const std::shared_ptr<JobRecord>& job, WallTime now = kNow) {
    world_.config = config_;
    world_.jobs = JobTable();
    world_.jobs.Put(job);
    return PlanNominations(world_, members_, busy_, now);
  }

  std::shared_ptr<ConfigView> config_;
  WorldView world_;
  MemberQueueStates members_;
  std::set<JobId> busy_;
};

TEST_F(PlanTest, AllThatCanHoldItAreAskedAndNoMoreThanTheLimit) {
  for (int i = 0; i < 30; ++i) AddMember("m" + std::to_string(i));
  const auto plan = Plan(Waiting());
  ASSERT_THAT(plan.nominations, SizeIs(1));
  EXPECT_THAT(plan.nominations[0].clusters, SizeIs(limits::kNominatedClusters));
  EXPECT_EQ(plan.nominations[0].attempt, 1);
  EXPECT_THAT(plan.copies, IsEmpty()) << "not before it is durable";
}

TEST_F(PlanTest, NothingIsDecidedOfAJobWhoseLastDecisionIsUnderWay) {
  busy_ = {JobId{1}};
  const auto job = Waiting({"a"});
  Copy("a", *job)->admitted = true;
  const auto plan = Plan(job);
  EXPECT_THAT(plan.nominations, IsEmpty());
  EXPECT_THAT(plan.choices, IsEmpty());
  EXPECT_THAT(plan.answers, IsEmpty());
}

TEST_F(PlanTest, ADaemonThatIsNotReadyPlansNothing) {
  Copy("a", *Waiting({"b"}));
  const auto job = Waiting();
  world_.ready = false;
  const auto plan = Plan(job);
  EXPECT_THAT(plan.removals, IsEmpty());
  EXPECT_THAT(plan.nominations, IsEmpty());
}

TEST_F(PlanTest, NobodyIsGivenUpBeforeEachMembersQueueIsKnown) {
  for (auto& [name, state] : members_) state.queue = MemberQueueState::Queue::kNone;
  members_["c"].queue = MemberQueueState::Queue::kUnknown;
  members_["c"].answers = false;
  auto plan = Plan(Waiting());
  ASSERT_THAT(plan.answers, SizeIs(1));
  EXPECT_EQ(plan.answers[0].checks[0].state, CheckState::kPending);
  members_["c"].queue = MemberQueueState::Queue::kNone;
  plan = Plan(Waiting());
  ASSERT_THAT(plan.answers, SizeIs(1));
  EXPECT_EQ(plan.answers[0].checks[0].state, CheckState::kRetry);
  EXPECT_EQ(plan.answers[0].checks[0].requeue_after_s, RetryAfterS(0));
}

TEST_F(PlanTest, WhoDoesNotCountAsAnAdmission) {
  struct Case {
    const char* what;
    void (*change)(MemberCopy*, MemberQueueState*);
  };
  const Case cases[] = {
      {"one that is being removed", [](MemberCopy* copy, auto*) { copy->deleting = true; }},
      {"one that was evicted", [](MemberCopy* copy, auto*) { copy->evicted = true; }},
      {"one that is finished", [](MemberCopy* copy, auto*) { copy->finished = true; }},
      {"one that a call is under way for",
       [](MemberCopy* copy,
          MemberQueueState* state) { state->unsure.insert(CopyId(copy->ns, copy->name)); }},
      {"one on a member that does not answer",
       [](MemberCopy*, MemberQueueState* state) { state->answers = false; }},
  };
  for (const Case& one : cases) {
    members_["a"] = {};
    members_["a"].queue = MemberQueueState::Queue::kRuns;
    members_["a"].answers = true;
    const auto job = Waiting({"a", "b", "c"});
    MemberCopy* copy = Copy("a", *job);
    copy->admitted = true;
    EXPECT_THAT(Plan(job).choices, SizeIs(1)) << one.what;
    one.change(copy, &members_["a"]);
    EXPECT_THAT(Plan(job).choices, IsEmpty()) << one.what;
  }
}

TEST_F(PlanTest, TheEarlierAdmissionWinsAndAmongEqualOnesTheBetterMember) {
  const auto job = Waiting({"b", "a", "c"});
  for (const char* name : {"a", "b", "c"}) {
    Copy(name, *job)->admitted = true;
    Copy(name, *job)->admitted_since = {500};
  }
  EXPECT_EQ(Plan(job).choices.at(0).cluster, "b");
  Copy("c", *job)->admitted_since = {400};
  EXPECT_EQ(Plan(job).choices.at(0).cluster, "c");
}

TEST_F(PlanTest, WhatIsNotHandedToMembersQueuesIsRejectedWithTheReason) {
  struct Case {
    void (*change)(JobRecord*);
    const char* sentence;
  };
  const Case cases[] =
      {
          {[](JobRecord* job) { job->shape = ShapeKind::kLeaderWorkerSet; }, "LeaderWorkerSet"},
          {[](JobRecord* job) { job->elastic = true; }, "elastic"},
          {[](JobRecord* job) {
    auto admission = std::make_shared<Admission>(*job->admission);
    admission->pod_sets[0].topology = std::make_shared<const TopologyAssignment>();
    job->admission = admission;
           },
           "topology"},
  };
  for (const Case& one : cases) {
    const auto job = Waiting();
    one.change(job.get());
    const auto plan = Plan(job);
    ASSERT_THAT(plan.answers, SizeIs(1)) << one.sentence;
    EXPECT_EQ(plan.answers[0].checks[0].state, CheckState::kRejected);
    EXPECT_THAT(plan.answers[0].checks[0].message, HasSubstr(one.sentence));
    EXPECT_THAT(plan.nominations, IsEmpty());
  }
}

TEST_F(PlanTest, AMemberThatThePlacementForbidsByNowIsAskedNoMore) {
  config_->member_clusters["b"].cordoned = true;
  world_.clusters[1].member.cordoned = true;
  const auto plan = Plan(Waiting({"a", "b"}));
  ASSERT_THAT(plan.nominations, SizeIs(1));
  EXPECT_THAT(plan.nominations[0].clusters, ElementsAre("a", "c"));
}

TEST_F(PlanTest, AMemberThatThePlacementForbidsByNowDoesNotGetTheJob) {
  config_->cluster_queues["cq"].dispatch.mode = DispatchMode::kExternal;
  const auto job = Waiting({"b", "a"});
  Copy("b", *job)->admitted = true;
  ASSERT_THAT(Plan(job).choices, SizeIs(1));
  world_.clusters[1].member.cordoned = true;
  const auto plan = Plan(job);
  EXPECT_THAT(plan.choices, IsEmpty());
  ASSERT_THAT(plan.answers, SizeIs(1));
  EXPECT_THAT(plan.answers[0].checks[0].message,
              HasSubstr("b: cannot take the job any more: is cordoned"));
}

TEST_F(PlanTest, AWorkloadOfTheNameInAnotherNamespaceIsNotTheCopy) {
  const auto job = Waiting({"a"});
  MemberCopy forged = *Copy("a", *job);
  members_["a"].copies.clear();
  forged.ns = "elsewhere";
  forged.admitted = true;
  members_["a"].copies[CopyId(forged.ns, forged.name)] = forged;
  auto plan = Plan(job);
  EXPECT_THAT(plan.choices, IsEmpty());
  EXPECT_THAT(plan.copies, SizeIs(1)) << "there is none yet";
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_EQ(plan.removals[0].ns, "elsewhere");
}

TEST_F(PlanTest, CopiesThatStandForNothingGoButNotThoseOfACallUnderWay) {
  const auto job = Waiting({"a"});
  Copy("a", *job);
  Copy("b", *job);
  auto plan = Plan(job);
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_EQ(plan.removals[0].cluster, "b");
  EXPECT_EQ(plan.removals[0].uid, "uid-b");
  members_["b"].unsure.insert(CopyId(job->ns, Copy("b", *job)->name));
  EXPECT_THAT(Plan(job).removals, IsEmpty());
  members_["b"].unsure.clear();
  Copy("b", *job)->deleting = true;
  EXPECT_THAT(Plan(job).removals, IsEmpty()) << "it goes already";
}

TEST_F(PlanTest, ARunningJobIsTakenBackOnlyByWhatAMemberSaid) {
  const auto job = Waiting();
  job->state = JobState::kRunning;
  job->attempt = 1;
  ChangeState(job.get(),
              [](AdmissionState* state) { state->checks[0].state = CheckState::kReady; });
  MemberCopy* copy = Copy("a", *job);
  copy->admitted = true;
  EXPECT_THAT(Plan(job).answers, IsEmpty());
  copy->finished = true;
  copy->message = "Job finished successfully";
  EXPECT_THAT(Plan(job).answers, IsEmpty()) << "its end is told by its object";
  copy->message = "Job finished: the database was out of sync";
  EXPECT_THAT(Plan(job).answers, IsEmpty()) << "words decide nothing";
  copy->out_of_sync = true;
  EXPECT_THAT(Plan(job).answers, SizeIs(1));
  members_["a"].copies.clear();
  EXPECT_THAT(Plan(job).answers, SizeIs(1));
  members_["a"].answers = false;
  EXPECT_THAT(Plan(job).answers, IsEmpty()) << "silence says nothing";
}

TEST_F(PlanTest, LongWordsAreCutBetweenCharacters) {
  const auto job = Waiting({"a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) {
    for (int i = 0; i < 200; ++i) Copy(name, *job)->message += "\u00e9\u20ac";
  }
  const auto plan = Plan(job);
  ASSERT_THAT(plan.answers, SizeIs(1));
  const std::string& message = plan.answers[0].checks[0].message;
  EXPECT_LE(message.size(), 1024u);
  EXPECT_GT(message.size(), 1000u);
  const std::string last = message.substr(message.size() - 3);
  EXPECT_TRUE(last == "\u20ac" || last.substr(1) == "\u00e9") << message;
}

TEST_F(PlanTest, RetriesComeLaterAndLater) {
  EXPECT_EQ(RetryAfterS(0), 10);
  EXPECT_EQ(RetryAfterS(1), 20);
  EXPECT_EQ(RetryAfterS(5), 300);
  EXPECT_EQ(RetryAfterS(1'000'000), 300);
}

}  // namespace
}  // namespace muster::nomination
