// Orders to members come last: when an order leaves, its record is durable and the published view
// shows it. So the answer of a member can never be ahead of the view.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using Kind = PendingOrder::Kind;

// What the view and the store showed when an order left.
struct SeenState {
  JobPtr job;                      // of the view
  std::optional<DispatchRow> row;  // of the store
};

// One member that makes attempts in two steps. A write happens only when everything that does not
// need it has been done.
class OrderTest : public ::testing::Test {
 protected:
  OrderTest() : world_(1, {}, {.manual = true}) {
    world_.members.two_steps = true;
    world_.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", 4000}}}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 8000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    Run();
    world_.members.Tell("east");
    Run();
    world_.members.on_order = [this](const PendingOrder& order) { Look(order); };
  }
  ~OrderTest() override { world_.members.on_order = nullptr; }

  void Run() {
    do {
      world_.Settle();
      world_.members.CarryAll();
    } while (world_.engine->Step() || world_.store.DrainOne() || !world_.members.Idle());
  }
  JobId Submit() {
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({}));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world_.engine->Post(std::move(command));
    Run();
    return JobId{1};
  }
  void Do(JobVerb verb, JobId id) {
    world_.engine->Post(JobCommand{{"alice", "test"}, verb, id, [](Result<JobPtr>) {}});
    Run();
  }

  void Look(const PendingOrder& order) {
    SeenState& seen = seen_[{order.kind, !order.uid.empty()}];
    EXPECT_EQ(seen.job, nullptr) << "each test orders each kind once";
    world_.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->uid == order.key.job_uid) seen.job = job;
      return true;
    });
    for (const DispatchRow& row : world_.Stored().dispatches) {
      if (row.key == order.key) seen.row = row;
    }
  }
  // What was visible when the only order of a kind left; the test fails if there is no such order.
  SeenState At(Kind kind, bool with_uid) {
    SeenState seen = seen_[{kind, with_uid}];
    EXPECT_NE(seen.job, nullptr) << "the view did not have the job";
    EXPECT_TRUE(seen.row.has_value()) << "the store did not have the row";
    if (seen.job == nullptr) seen.job = std::make_shared<JobRecord>();
    if (!seen.row) seen.row.emplace();
    return seen;
  }

  EngineWorld world_;
  std::map<std::pair<Kind, bool>, SeenState> seen_;  // with a uid or without
};

TEST_F(OrderTest, AtItsCreation_TheJobIsShownAsAdmittedAndItsRowIsDurable) {
  const JobId id = Submit();
  const SeenState create = At(Kind::kEnsure, false);
  EXPECT_EQ(create.job->state, JobState::kAdmitted);
  EXPECT_EQ(create.job->attempt, 1);
  EXPECT_EQ(create.job->cluster, "east");
  EXPECT_EQ(create.row->state, DispatchState::kIntent);
  const SeenState release = At(Kind::kEnsure, true);
  EXPECT_EQ(release.job->state, JobState::kAdmitted);
  EXPECT_EQ(release.row->state, DispatchState::kReleasing);
  EXPECT_EQ(release.row->remote_uid, world_.members.objects.at(world_.KeyOf(id)).uid);
}

TEST_F(OrderTest, AtItsAcknowledgement_TheEndIsShownAndDurable) {
  const JobId id = Submit();
  ASSERT_TRUE(world_.members.End(world_.KeyOf(id), RemotePhase::kSucceeded));
  Run();
  const SeenState seen = At(Kind::kAcknowledge, true);
  EXPECT_EQ(seen.job->state, JobState::kSucceeded);
  EXPECT_EQ(seen.row->state, DispatchState::kTerminal);
}

TEST_F(OrderTest, AtItsRemoval_TheJobIsShownAsBeingStopped) {
  const JobId id = Submit();
  const JobPtr before = world_.Job(id);
  ASSERT_EQ(before->state, JobState::kRunning);
  Do(JobVerb::kCancel, id);
  const SeenState seen = At(Kind::kRemove, false);
  EXPECT_EQ(seen.job->state, JobState::kRunning) << "it is not over before its pods are gone";
  EXPECT_GT(seen.job->resource_version, before->resource_version);
  EXPECT_NE(seen.job->reason, before->reason);
  EXPECT_EQ(seen.row->state, DispatchState::kRevoking);
}

}  // namespace
}  // namespace muster::test
