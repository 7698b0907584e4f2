// PlanWorks: revisions of the selected objects, rows that begin and end, and what stays of them.
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

constexpr std::int64_t kGather = 1000 * 1000;  // limits::kSnapshotGatherMs

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    world_.PutQueue("gpu");
    world_.Member("a");
    world_.Member("b");
  }
  std::string Step() {
    world_.Step();
    return world_.Rows();
  }

  StepWorld world_;
  Placement placement_ = StepWorld::QueuePlacement();
};

TEST_F(PlanTest, NothingIsPlanned_WithoutPlacementsOfObjects) {
  EXPECT_TRUE(world_.Plan().empty());
  placement_.selectors = {Selecting("batch", "Job")};
  world_.Place(placement_);
  EXPECT_TRUE(world_.Plan().empty());
}

TEST_F(PlanTest, APlacementThatSelectsNothing_HasNoRowsYet) {
  placement_.selectors[0].name = "none";
  world_.Place(placement_);
  EXPECT_TRUE(world_.Plan().empty());
  world_.PutQueue("none");
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
}

TEST_F(PlanTest, EqualWorlds_GiveEqualPlans) {
  world_.Place(placement_);
  const WorkPlan one = world_.Plan(), two = world_.Plan();
  ASSERT_EQ(one.works.size(), two.works.size());
  for (std::size_t i = 0; i < one.works.size(); ++i) EXPECT_EQ(*one.works[i], *two.works[i]);
  ASSERT_EQ(one.snapshots.size(), 1u);
  EXPECT_EQ(*one.snapshots[0], *two.snapshots[0]);
}

TEST_F(PlanTest, ARevision_HasWhatIsSelectedAndItsTime) {
  world_.Place(placement_);
  world_.Step();
  const ResourceSnapshot& first = *world_.works().snapshots.at({"", "spread", 0});
  EXPECT_EQ(first.created_at, world_.now());
  EXPECT_EQ(Names(first.resources), "ClusterQueue gpu");
  EXPECT_EQ(first.hash, SelectResources(world_.view(), placement_).hash);
}

TEST_F(PlanTest, ChangesWithinASecond_AreGathered) {
  world_.Place(placement_);
  world_.Step();
  world_.Pass(kGather / 2);
  world_.PutQueue("gpu", "Hold");
  WorkPlan plan = world_.Step();
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.again_at, WallTime{world_.now().us + kGather / 2});
  world_.PutQueue("gpu", "HoldAndDrain");
  world_.Pass(kGather / 2 - 1);
  EXPECT_TRUE(world_.Plan().empty());
  world_.Pass(1);
  world_.Step();
  EXPECT_EQ(world_.Revisions(), "0 1");
  world_.PutQueue("gpu", "None");
  world_.PutQueue("gpu", "HoldAndDrain");  // as it is known
  EXPECT_TRUE(world_.Plan().empty());
  EXPECT_FALSE(world_.Plan().again_at.set());
}

TEST_F(PlanTest, AClockThatWasSetBack_HoldsNothingUp) {
  world_.Place(placement_);
  world_.Step();
  world_.Pass(-3600 * kSecond);
  world_.PutQueue("gpu", "Hold");
  world_.Step();
  EXPECT_EQ(world_.Revisions(), "0 1");
}

TEST_F(PlanTest, WhenEverythingSelectedIsDeleted_MembersLoseIt) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Pass(2 * kSecond);
  world_.Delete(ObjectKind::kClusterQueue, "", "gpu");
  EXPECT_EQ(Step(), "a:bound/1 b:bound/0");
  EXPECT_EQ(world_.WorkOn("a")->manifests.size(), 1u);  // the leftover
  world_.ObeyAll();
  EXPECT_EQ(Step(), "a:bound/1 b:bound/1");
  world_.ObeyAll();
  EXPECT_EQ(world_.WorkOn("b")->manifests.size(), 0u);
  EXPECT_TRUE(world_.Plan().empty());
}

TEST_F(PlanTest, WithAnObstacle_TheLastRevisionStays) {
  world_.PutSpace("ml");
  world_.PutConfigMap("ml", "settings");
  placement_.selectors = {Space("ml")};
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Pass(2 * kSecond);
  world_.PutEnvelope("ml", "again", {{"v1", "ConfigMap", "settings"}});
  ASSERT_NE(SelectResources(world_.view(), placement_).obstacle, "");
  EXPECT_TRUE(world_.Plan().empty());
  world_.Member("c");  // new members get the last one
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0 c:bound/0");
}

TEST_F(PlanTest, Revisions_AreKeptAsFarAsTheHistoryGoes_AndAsMembersHaveThem) {
  placement_.revision_history_limit = 2;
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Member("b").healthy = false;  // it stays with revision 0
  for (int i = 1; i <= 4; ++i) {
    world_.Pass(2 * kSecond);
    world_.PutQueue("gpu", "x" + std::to_string(i));
    world_.Step();
    world_.ObeyAll();
    world_.Step();
  }
  EXPECT_EQ(world_.Rows(), "a:bound/4 b:bound/0");
  EXPECT_EQ(world_.Revisions(), "0 3 4");
  world_.Member("b").healthy = true;
  world_.Step();
  EXPECT_EQ(world_.Rows(), "a:bound/4 b:bound/4");
  EXPECT_EQ(world_.Revisions(), "3 4");
}

TEST_F(PlanTest, AMemberThatIsRemoved_EndsItsRowAtOnce) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.RemoveMember("a");
  const WorkPlan plan = world_.Step();
  EXPECT_EQ(plan.ended_works.size(), 1u);
  EXPECT_EQ(world_.Rows(), "b:bound/0");
  world_.Unplace("", "spread");
  world_.Step();
  world_.RemoveMember("b");
  EXPECT_EQ(Step(), "");  // one that leaves, too
}

TEST_F(PlanTest, APlacementThatIsGone_LeavesItsMembers_ThenItsRowsEnd) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:leaving b:leaving");
  EXPECT_EQ(world_.Revisions(), "0");
  world_.Obey("a");
  EXPECT_EQ(Step(), "b:leaving");
  world_.Obey("b");
  EXPECT_EQ(Step(), "");
  EXPECT_EQ(world_.Revisions(), "");
}

// As after a downgrade: the object is stored, but the configuration does not have it.
TEST_F(PlanTest, APlacementThatIsStoredAndCannotBeRead_IsNotGone) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Put(ObjectKind::kClusterResourcePlacement, "", "spread", "{}");
  world_.Unplace("", "spread");
  EXPECT_TRUE(world_.Plan().empty()) << StepWorld::Told(world_.Plan());
  world_.Delete(ObjectKind::kClusterResourcePlacement, "", "spread");
  EXPECT_EQ(Step(), "a:leaving b:leaving");
}

TEST_F(PlanTest, AMemberThatIsStoredAndCannotBeRead_KeepsItsRow) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Put(ObjectKind::kMemberCluster, "", "a", "{}");
  world_.RemoveMember("a");
  EXPECT_TRUE(world_.Plan().empty()) << StepWorld::Told(world_.Plan());
  world_.Delete(ObjectKind::kMemberCluster, "", "a");
  EXPECT_EQ(Step(), "b:bound/0");
}

TEST_F(PlanTest, WhileAStoredOverrideCannotBeRead_AllStaysAsItIs) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Pass(2 * kSecond);
  world_.Put(ObjectKind::kResourceOverride, "ml", "small", "{}");
  world_.PutQueue("gpu", "Hold");
  EXPECT_TRUE(world_.Plan().empty()) << StepWorld::Told(world_.Plan());
  world_.Delete(ObjectKind::kResourceOverride, "ml", "small");
  EXPECT_EQ(Step(), "a:bound/1 b:bound/0");
}

TEST_F(PlanTest, DeleteStrategyAbandon_IsKnownWhenThePlacementIsGone) {
  placement_.abandon = true;
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:abandoned b:abandoned");
}

TEST_F(PlanTest, DeleteStrategyAbandon_FollowsThePlacement) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  placement_.abandon = true;
  world_.Place(placement_);
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
  EXPECT_TRUE(world_.WorkOn("a")->abandon);
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:abandoned b:abandoned");
}

TEST_F(PlanTest, DeleteStrategyAbandon_IsNotForMembersThatAreNotPickedAnyMore) {
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"a", "b"};
  placement_.abandon = true;
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  placement_.policy.cluster_names = {"a"};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "a:bound/0 b:leaving");
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:abandoned b:leaving");  // what has begun stays as it is
}

TEST_F(PlanTest, APlacementThatSelectsNoObjectsAnyMore_LeavesItsMembers) {
  placement_.abandon = true;
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  placement_.selectors = {Selecting("batch", "Job")};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "a:leaving b:leaving");
}

TEST_F(PlanTest, RowsWithNothingOnTheMember_EndWithoutLeaving) {
  ResourceOverride none{"", "none", "", false, {{kKueue, "v1", "ClusterQueue", "", "gpu"}}, {}};
  none.rules = {{std::vector<LabelSelector>{}, true, {}}};
  world_.Override(none);
  world_.Place(placement_);
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
  EXPECT_EQ(world_.WorkOn("a")->manifests.size(), 0u);
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "");
  EXPECT_EQ(world_.Revisions(), "");
}

TEST_F(PlanTest, Placements_AreIndependentOfEachOther) {
  world_.PutSpace("ml");
  world_.PutConfigMap("ml", "settings");
  Placement inner;
  inner.ns = "ml";
  inner.name = "spread";
  inner.selectors = {Selecting("", "ConfigMap")};
  inner.policy.type = PlacementType::kPickFixed;
  inner.policy.cluster_names = {"b"};
  world_.Place(placement_);
  world_.Place(inner);
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0 b:bound/0");
  ASSERT_NE(world_.WorkOn("b", "spread", "ml"), nullptr);
  EXPECT_EQ(MentionOf(world_.WorkOn("b", "spread", "ml")->manifests.at(0).ref),
            "ConfigMap ml/settings");
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:leaving b:leaving b:bound/0");
}

TEST_F(PlanTest, APlacementMadeAgainWhileItsRowsLeave_GoesOnWithTheNextRevision) {
  world_.Place(placement_);
  world_.Step();
  world_.ObeyAll();
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:leaving b:leaving");
  world_.Pass(2 * kSecond);
  world_.PutQueue("gpu", "Hold");
  world_.Place(placement_);
  EXPECT_EQ(Step(), "a:bound/1 b:bound/1");
}

}  // namespace
}  // namespace muster::propagation::testing
