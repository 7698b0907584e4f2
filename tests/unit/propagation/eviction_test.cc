// Evictions of configuration objects: what is removed, when, and when the member is picked again.
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

class EvictionTest : public ::testing::Test {
 protected:
  EvictionTest() { world_.PutQueue("gpu"); }

  // Members a, b, and so on that have had revision 0 for two seconds.
  void Start(int members) {
    for (int i = 0; i < members; ++i) world_.Member(std::string(1, static_cast<char>('a' + i)));
    world_.Place(placement_);
    world_.Step();
    world_.ObeyAll();
    picked_ = world_.now();
    world_.Pass(2 * kSecond);
  }
  std::string Step() {
    world_.Step();
    return world_.Rows();
  }
  WallTime PickedAt(const std::string& member) const { return world_.WorkOn(member)->scheduled_at; }
  static WallTime After(WallTime time, std::int64_t us) { return {time.us + us}; }

  StepWorld world_;
  Placement placement_ = StepWorld::QueuePlacement();
  WallTime picked_;
};

TEST_F(EvictionTest, TheMemberLosesEverything_ThenIsPickedAnew) {
  Start(2);
  world_.Evict("a", world_.now());
  EXPECT_EQ(Step(), "a:leaving b:bound/0");
  EXPECT_EQ(world_.WorkOn("a")->manifests.size(), 1u);
  world_.Pass(60 * kSecond);
  EXPECT_TRUE(world_.Plan().empty()) << "not told again before all is gone";
  world_.Obey("a");
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
  EXPECT_EQ(PickedAt("a"), world_.now());
  EXPECT_EQ(PickedAt("b"), picked_);
  world_.ObeyAll();
  world_.Pass(60 * kSecond);
  EXPECT_TRUE(world_.Plan().empty()) << "once";
}

TEST_F(EvictionTest, OnlyWhatWasPickedUntilThen_IsMeant) {
  struct Case {
    std::int64_t after_us;  // the pick
    const char* rows;
  };
  for (const Case& one : std::vector<Case>{
           {-1, "a:bound/0"}, {0, "a:leaving"}, {1, "a:leaving"}, {3600 * kSecond, "a:leaving"}}) {
    SCOPED_TRACE(one.after_us);
    StepWorld world;
    world.PutQueue("gpu");
    world.Member("a");
    world.Place(StepWorld::QueuePlacement());
    world.Step();
    world.ObeyAll();
    world.Evict("a", After(world.now(), one.after_us));
    world.Step();
    EXPECT_EQ(world.Rows(), one.rows);
  }
}

TEST_F(EvictionTest, AtOneMomentOrWithAClockThatWasSetBack_ThereIsNoSecondTime) {
  for (const std::int64_t ahead : {std::int64_t{0}, 3600 * kSecond}) {
    SCOPED_TRACE(ahead);
    StepWorld world;
    world.PutQueue("gpu");
    world.Member("a");
    world.Place(StepWorld::QueuePlacement());
    world.Step();
    world.ObeyAll();
    const WallTime at = After(world.now(), ahead);
    world.Evict("a", at);
    world.Step();
    world.Obey("a");
    world.Step();
    EXPECT_EQ(world.Rows(), "a:bound/0");
    EXPECT_EQ(world.WorkOn("a")->scheduled_at, After(at, 1));
    world.ObeyAll();
    EXPECT_TRUE(world.Plan().empty());
    world.Evict("a", After(at, 1));  // the next one, at the same moment
    world.Step();
    EXPECT_EQ(world.Rows(), "a:leaving");
  }
}

TEST_F(EvictionTest, ATaintForbidsThatTheMemberIsPickedAgain) {
  Start(2);
  world_.Member("a").taints = {{"work", "", "NoSchedule"}};
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
  world_.Evict("a", world_.now());
  EXPECT_EQ(Step(), "a:leaving b:bound/0");
  world_.Obey("a");
  EXPECT_EQ(Step(), "b:bound/0");
}

TEST_F(EvictionTest, APickNComesBackToItsMember_UnlessATaintSendsItElsewhere) {
  for (const bool tainted : {false, true}) {
    SCOPED_TRACE(tainted);
    StepWorld world;
    world.PutQueue("gpu");
    world.Member("a");
    world.Member("b");
    world.Place(StepWorld::QueuePlacement(PlacementType::kPickN));
    world.Step();
    world.ObeyAll();
    ASSERT_EQ(world.Rows(), "a:bound/0");
    if (tainted) world.Member("a").taints = {{"work", "", "NoSchedule"}};
    world.Evict("a", world.now());
    world.Step();
    world.ObeyAll();
    world.Step();
    EXPECT_EQ(world.Rows(), tainted ? "b:bound/0" : "a:bound/0");
  }
}

TEST_F(EvictionTest, OfOthersOrOfNobody_NothingLeaves) {
  Start(2);
  world_.Evict("c", world_.now());
  world_.mutable_config().placement_evictions[{"", "other"}] = {"",  "other", "other",
                                                                "a", true,    world_.now()};
  world_.mutable_config().placement_evictions[{"ml", "spread"}] = {"ml", "spread", "spread",
                                                                   "a",  true,     world_.now()};
  world_.mutable_config().placement_evictions[{"", "open"}] = {"",  "open", "spread",
                                                               "a", false,  {}};
  world_.Place(placement_);
  EXPECT_TRUE(world_.Plan().empty());
}

TEST_F(EvictionTest, AnEvictionThatIsForgottenMeanwhile_GoesOnToItsEnd) {
  Start(1);
  world_.Evict("a", world_.now());
  EXPECT_EQ(Step(), "a:leaving");
  world_.ForgetEvictions();
  EXPECT_TRUE(world_.Plan().empty());
  world_.Obey("a");
  EXPECT_EQ(Step(), "a:bound/0");
}

TEST_F(EvictionTest, ChangesOfThePlacement_WaitUntilAllIsGone) {
  Start(1);
  world_.Evict("a", world_.now());
  world_.Step();
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"a"};
  placement_.abandon = true;
  world_.Place(placement_);
  world_.PutQueue("gpu", "Hold");
  EXPECT_EQ(Step(), "a:leaving");
  world_.Unplace("", "spread");
  EXPECT_EQ(Step(), "a:leaving") << "nothing is left behind";
  world_.Place(placement_);
  world_.Obey("a");
  EXPECT_EQ(Step(), "a:bound/1");
}

TEST_F(EvictionTest, TheRolloutIsNotAsked_ButCountsTheMemberAsNotReady) {
  placement_.rollout.max_unavailable = {1, false};
  Start(3);
  world_.Evict("a", world_.now());
  world_.Evict("b", world_.now());
  EXPECT_EQ(Step(), "a:leaving b:leaving c:bound/0");
  world_.PutQueue("gpu", "Hold");
  EXPECT_EQ(Step(), "a:leaving b:leaving c:bound/0");
  world_.Obey("a");
  EXPECT_EQ(Step(), "a:bound/1 b:leaving c:bound/0");
}

TEST_F(EvictionTest, WhereNothingIsYet_TheMemberIsPickedAnewAtOnce) {
  Start(2);
  for (const char* member : {"a", "b"}) {
    world_.EditWork(member, [](Work& work) {
      work.state = WorkState::kScheduled;
      work.manifests.clear();
    });
  }
  world_.Member("b").healthy = false;  // it takes nothing new
  world_.Evict("a", world_.now());
  world_.Evict("b", world_.now());
  EXPECT_EQ(Step(), "a:bound/0");
  EXPECT_GT(PickedAt("a"), world_.now());
}

TEST_F(EvictionTest, AMemberThatDoesNotAnswer_LeavesWhenItIsBack) {
  Start(2);
  world_.Member("a").healthy = false;
  world_.Evict("a", world_.now());
  EXPECT_EQ(Step(), "a:leaving b:bound/0");
  world_.Member("a").healthy = true;
  EXPECT_TRUE(world_.Plan().empty());
  world_.Obey("a");
  EXPECT_EQ(Step(), "a:bound/0 b:bound/0");
}

}  // namespace
}  // namespace muster::propagation::testing
