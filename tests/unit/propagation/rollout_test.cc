// Rollout: which members get a new revision next, which members leave when, and what rows report.
#include "schedd/propagation/step/waves.h"
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr ManifestAvailability kAvailable = ManifestAvailability::kAvailable;
constexpr ManifestAvailability kNotTrackable = ManifestAvailability::kNotTrackable;

class RolloutTest : public ::testing::Test {
 protected:
  RolloutTest() {
    world_.PutQueue("gpu");
    placement_ = StepWorld::QueuePlacement();
  }

  // `count` members m0, m1, and so on with revision 0; every object has this availability.
  void Start(int members, ManifestAvailability availability = kAvailable) {
    for (int i = 0; i < members; ++i) world_.Member("m" + std::to_string(i));
    world_.Place(placement_);
    world_.Step();
    for (int i = 0; i < members; ++i) world_.Obey("m" + std::to_string(i), availability);
    world_.Pass(2 * kSecond);
  }
  void Change(const std::string& stop = "Hold") { world_.PutQueue("gpu", stop); }
  std::string Step() {
    world_.Step();
    return world_.Rows();
  }
  const Work& On(const std::string& member) const { return *world_.WorkOn(member); }

  StepWorld world_;
  Placement placement_;
};

TEST_F(RolloutTest, TheFirstRevision_GoesToAllMembersAtOnce) {
  Start(3);
  EXPECT_EQ(world_.Rows(), "m0:bound/0 m1:bound/0 m2:bound/0");
  const Work& work = On("m0");
  ASSERT_EQ(work.manifests.size(), 1u);
  EXPECT_EQ(MentionOf(work.manifests[0].ref), "ClusterQueue gpu");
  EXPECT_EQ(work.scheduled_at, WallTime{world_.now().us - 2 * kSecond});
  EXPECT_EQ(work.bound_at, work.scheduled_at);
}

TEST_F(RolloutTest, ANewRow_HasEachObjectPending) {
  world_.Member("m0");
  world_.Place(placement_);
  world_.Step();
  const Work& work = On("m0");
  ASSERT_EQ(work.manifests.size(), 1u);
  EXPECT_EQ(work.manifests[0].result, ManifestResult::kPending);
  EXPECT_EQ(work.manifests[0].since, world_.now());
  EXPECT_EQ(work.rendered.size(), 32u);
  EXPECT_FALSE(work.synced_at.set());
}

TEST_F(RolloutTest, AnUpdate_KeepsAllButMaxUnavailableReady) {
  struct Case {
    int members;
    CountOrPercent most;
    std::string first;  // members that get the revision at once
    std::string then;   // members that get it when those are ready
  };
  for (const Case& one : std::vector<Case>{
           {4, {25, true}, "0", "01"},
           {3, {25, true}, "0", "01"},  // rounded up
           {4, {50, true}, "01", "0123"},
           {4, {3, false}, "012", "0123"},
           {4, {0, false}, "", ""},
           {2, {100, true}, "01", "01"},
       }) {
    StepWorld world;
    world.PutQueue("gpu");
    for (int i = 0; i < one.members; ++i) world.Member(std::to_string(i));
    Placement placement = StepWorld::QueuePlacement();
    placement.rollout.max_unavailable = one.most;
    world.Place(placement);
    world.Step();
    world.ObeyAll();
    world.Pass(2 * kSecond);
    world.PutQueue("gpu", "Hold");
    const auto told = [&] {
      std::string names;
      for (const auto& [key, work] : world.works().works)
        names += work->snapshot == 1 ? work->cluster : "";
      return names;
    };
    world.Step();
    EXPECT_EQ(told(), one.first) << one.members << " " << one.most.value;
    world.Pass(3600 * kSecond);
    world.Step();
    EXPECT_EQ(told(), one.first) << "time alone makes nobody ready";
    world.ObeyAll();
    world.Step();
    EXPECT_EQ(told(), one.then) << one.members << " " << one.most.value;
  }
}

TEST_F(RolloutTest, ARowThatWaits_SaysForWhat) {
  Start(3);
  Change();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0 m2:bound/0");
  EXPECT_EQ(On("m0").waits, "");
  EXPECT_EQ(
      On("m1").waits,
      "waits for its turn to be updated: at most 1 of 3 members may be unavailable at a time");
  world_.ObeyAll();
  world_.Step();
  EXPECT_EQ(On("m1").waits, "");
}

TEST_F(RolloutTest, WhatThePropagatorSaysOfAMember_Stays) {
  Start(3);
  const auto say = [](Work& work) { work.waits = "member cluster m1 does not answer"; };
  world_.EditWork("m1", say);
  EXPECT_TRUE(world_.Plan().empty());
  Change();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0 m2:bound/0");
  EXPECT_EQ(On("m1").waits, "member cluster m1 does not answer");
  world_.ObeyAll();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1 m2:bound/0");
  EXPECT_EQ(On("m1").waits, "");  // it is told anew
}

TEST_F(RolloutTest, MembersThatAreNotReady_AreTheFirstToBeTold_AllOfThem) {
  Start(4);
  Change("Hold");
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0 m2:bound/0 m3:bound/0");
  world_.Fail("m0");  // a bad revision stops here
  world_.Pass(3600 * kSecond);
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0 m2:bound/0 m3:bound/0");
  world_.Fail("m3");
  Change("HoldAndDrain");
  EXPECT_EQ(Step(), "m0:bound/2 m1:bound/0 m2:bound/0 m3:bound/2");
  world_.Obey("m0");
  EXPECT_EQ(Step(), "m0:bound/2 m1:bound/0 m2:bound/0 m3:bound/2");  // one is unavailable still
  world_.Obey("m3");
  EXPECT_EQ(Step(), "m0:bound/2 m1:bound/2 m2:bound/0 m3:bound/2");
}

TEST_F(RolloutTest, AMemberThatIsNotReady_TakesNobodysTurn) {
  placement_.rollout.max_unavailable = {2, false};
  Start(4);
  world_.Fail("m3");
  Change();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0 m2:bound/0 m3:bound/1");
}

TEST_F(RolloutTest, WhatIsReady_IsAppliedAndAvailable) {
  struct Case {
    const char* what;
    ManifestResult result;
    ManifestAvailability availability;
    bool ready;
  };
  for (const Case& one : std::vector<Case>{
           {"applied and available", ManifestResult::kApplied, kAvailable, true},
           {"not available yet", ManifestResult::kApplied, ManifestAvailability::kNotYet, false},
           {"not looked at yet", ManifestResult::kApplied, ManifestAvailability::kUnknown, false},
           {"pending", ManifestResult::kPending, kAvailable, false},
           {"drifted and left", ManifestResult::kFoundDrifts, kAvailable, false},
           {"not taken over", ManifestResult::kNotTakenOver, kAvailable, false},
           {"only reported", ManifestResult::kNoDiffFound, kAvailable, false},
       }) {
    StepWorld world;
    world.PutQueue("gpu");
    for (const char* name : {"a", "b"}) world.Member(name);
    world.Place(StepWorld::QueuePlacement());
    world.Step();
    world.ObeyAll();
    world.EditWork("a", [&](Work& work) {
      work.manifests[0].result = one.result;
      work.manifests[0].availability = one.availability;
    });
    world.Pass(3600 * kSecond);
    world.PutQueue("gpu", "Hold");
    world.Step();
    // At most one of two may be unavailable: if a is not ready, a gets the new revision and b does
    // not.
    EXPECT_EQ(world.Rows(), "a:bound/1 b:bound/0") << one.what;
    world.Obey("a");
    world.EditWork("a", [&](Work& work) {
      work.manifests[0].result = one.result;
      work.manifests[0].availability = one.availability;
    });
    world.Step();
    EXPECT_EQ(world.Rows(), one.ready ? "a:bound/1 b:bound/1" : "a:bound/1 b:bound/0") << one.what;
  }
}

TEST_F(RolloutTest, WhatCannotTell_IsReadyAfterAWhile_AndThePlanSaysWhen) {
  placement_.rollout.unavailable_period_s = 90;
  Start(2, kNotTrackable);
  const WallTime ripe{On("m0").bound_at.us + 90 * kSecond};
  Change();
  WorkPlan plan = world_.Plan();
  // Neither is ready, so both may get the new revision at once, and nothing is waited for.
  EXPECT_FALSE(plan.again_at.set());
  EXPECT_EQ(plan.works.size(), 2u);
  world_.Pass(ripe.us - world_.now().us);
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0");
  world_.Obey("m0", kNotTrackable);
  world_.Pass(90 * kSecond - 1);
  plan = world_.Step();
  EXPECT_EQ(world_.Rows(), "m0:bound/1 m1:bound/0");
  EXPECT_EQ(plan.again_at, WallTime{world_.now().us + 1});
  world_.Pass(1);
  plan = world_.Step();
  EXPECT_EQ(world_.Rows(), "m0:bound/1 m1:bound/1");
  // No member waits any more.
  EXPECT_FALSE(plan.again_at.set());
}

TEST_F(RolloutTest, UnderReportDiff_WhatIsReportedIsReady) {
  placement_.apply.type = ApplyType::kReportDiff;
  Start(2);
  const auto report = [&](const std::string& member, ManifestResult result) {
    world_.EditWork(member, [&](Work& work) {
      work.manifests[0].result = result;
      work.manifests[0].applied.clear();
    });
  };
  report("m0", ManifestResult::kFoundDiff);
  report("m1", ManifestResult::kNoDiffFound);
  Change();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0");
  EXPECT_EQ(On("m0").manifests[0].result, ManifestResult::kPending);  // to be looked at anew
  report("m0", ManifestResult::kFailedToReportDiff);
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0");
  report("m0", ManifestResult::kFoundDiffInDegradedMode);
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1");
}

TEST_F(RolloutTest, AMemberThatDoesNotAnswer_IsToldWhenItDoes_AndHoldsUpNobody) {
  Start(3);
  world_.Member("m0").healthy = false;
  Change();
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/1 m2:bound/0");
  EXPECT_EQ(On("m0").waits, "is updated when the member answers again");
  world_.Obey("m1");
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/1 m2:bound/1");
  world_.Obey("m2");
  world_.Member("m0").healthy = true;
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1 m2:bound/1");
}

// After a restart the row looks applied, but has none of the labels that Muster writes.
TEST_F(RolloutTest, AMemberThatWasNotHeardOfYet_StaysAsItIs) {
  ResourceOverride one{"", "one", "", false, {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}}, {}};
  one.rules = {{std::vector<LabelSelector>{},
                false,
                {{PatchOp::kAdd, "/spec/x", R"("${MEMBER-CLUSTER-LABEL-KEY-zone}")"}}}};
  world_.Override(one);
  world_.Member("m0", {{"zone", "x"}});
  world_.Member("m1", {{"zone", "y"}});
  Start(2);
  const MemberCluster known = world_.Member("m0");
  world_.Member("m0").labels.clear();
  world_.Member("m0").observed_at = {};
  EXPECT_TRUE(world_.Plan().empty());
  placement_.policy.required = {{{{{"zone", "x"}}, {}}, {}}};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:bound/0 m1:leaving");  // of m1 it is known that it does not match
  world_.Member("m0") = known;
  world_.Member("m0").labels["zone"] = "z";
  EXPECT_EQ(Step(), "m0:leaving m1:leaving");
}

TEST_F(RolloutTest, NewMembers_AreAddedAsMaxSurgeAllows) {
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"m0", "m1"};
  placement_.rollout.max_surge = {0, false};
  placement_.rollout.max_unavailable = {1, false};
  Start(4);
  EXPECT_EQ(world_.Rows(), "m0:bound/0 m1:bound/0");
  placement_.policy.cluster_names = {"m2", "m3"};
  world_.Place(placement_);
  // One may be unavailable, so one leaves. No member is added before it has left.
  EXPECT_EQ(Step(), "m0:leaving m1:bound/0 m2:scheduled m3:scheduled");
  EXPECT_EQ(On("m1").waits,
            "waits for its turn to be left: at most 1 of 2 members may be unavailable at a time");
  EXPECT_EQ(On("m2").waits, "waits for its turn: at most 2 members may have the objects at a time");
  world_.Obey("m0");
  EXPECT_EQ(Step(), "m1:bound/0 m2:bound/0 m3:scheduled");
  world_.Obey("m2");
  EXPECT_EQ(Step(), "m1:leaving m2:bound/0 m3:scheduled");
  world_.Obey("m1");
  EXPECT_EQ(Step(), "m2:bound/0 m3:bound/0");
  EXPECT_EQ(On("m3").waits, "");
}

TEST_F(RolloutTest, WithSurge_NewMembersComeBeforeOldOnesGo) {
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"m0"};
  placement_.rollout.max_unavailable = {0, false};
  placement_.rollout.max_surge = {1, false};
  Start(2);
  placement_.policy.cluster_names = {"m1"};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/0");
  world_.Obey("m1");
  EXPECT_EQ(Step(), "m0:leaving m1:bound/0");
}

TEST_F(RolloutTest, WhatIsNotReady_IsLeftAtOnce) {
  placement_.rollout.max_unavailable = {0, false};
  Start(3);
  world_.Fail("m1");
  placement_.policy.required = {{{{{"none", "such"}}, {}}, {}}};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:leaving m1:leaving m2:leaving");  // nobody is picked: nobody is needed
  world_.ObeyAll();
  EXPECT_EQ(Step(), "");
}

TEST_F(RolloutTest, AMemberThatLeaves_AndDoesNotAnswer_IsNotWaitedFor) {
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"m0"};
  placement_.rollout.max_surge = {0, false};
  Start(2);
  placement_.policy.cluster_names = {"m1"};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:leaving m1:scheduled");
  world_.Member("m0").healthy = false;
  EXPECT_EQ(Step(), "m0:leaving m1:bound/0");
}

TEST_F(RolloutTest, APickedMemberThatGoesAway_IsAddedWhenItAnswers) {
  placement_.rollout.max_surge = {0, false};
  Start(2);
  world_.EditWork("m1", [](Work& work) {
    work.state = WorkState::kScheduled;
    work.manifests.clear();
  });
  world_.Member("m1").healthy = false;
  EXPECT_EQ(Step(), "m0:bound/0 m1:scheduled");
  EXPECT_EQ(On("m1").waits, "member cluster m1 does not answer");
  // m1 does not count among those that must stay available.
  Change();
  EXPECT_EQ(Step(), "m0:bound/1 m1:scheduled");
  world_.Member("m1").healthy = true;
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1");
}

TEST_F(RolloutTest, AMemberThatIsPickedAgainWhileItLeaves_GetsEverythingAnew) {
  placement_ = StepWorld::QueuePlacement(PlacementType::kPickFixed);
  placement_.policy.cluster_names = {"m0"};
  Start(2);
  placement_.policy.cluster_names = {"m1"};
  world_.Place(placement_);
  EXPECT_THAT(Step(), StartsWith("m0:leaving"));
  placement_.policy.cluster_names = {"m0"};
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:bound/0 m1:leaving");
  const Work& work = On("m0");
  ASSERT_EQ(work.manifests.size(), 1u);
  EXPECT_EQ(work.manifests[0].result, ManifestResult::kPending);
  EXPECT_EQ(work.manifests[0].applied, "");
  EXPECT_EQ(work.scheduled_at, world_.now());
}

TEST_F(RolloutTest, AMemberThatIsPickedAgainWhileItLeaves_NeedsNoSurge) {
  placement_.rollout.max_surge = {0, false};
  Start(2);
  const std::vector<ClusterSelectorTerm> none{{{{{"none", "such"}}, {}}, {}}};
  placement_.policy.required = none;
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:leaving m1:leaving");
  placement_.policy.required.clear();
  world_.Place(placement_);
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/0");
}

TEST_F(RolloutTest, AnUpdate_KeepsWhatIsKnownOfObjects_AndHasLeftoversRemoved) {
  placement_.selectors.push_back(Selecting(kKueue, "ResourceFlavor"));
  placement_.selectors.push_back(Selecting(kKueue, "Cohort"));
  const auto put = [&](ObjectKind kind, const std::string& name, const std::string& label) {
    const std::string word = kind == ObjectKind::kCohort ? "Cohort" : "ResourceFlavor";
    world_.Put(kind, "", name,
               R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":")" + word +
                   R"(","metadata":{"name":")" + name + R"(","labels":{"a":")" + label + R"("}}})");
  };
  put(ObjectKind::kResourceFlavor, "old", "1");
  put(ObjectKind::kResourceFlavor, "same", "1");
  Start(1);
  world_.EditWork("m0", [](Work& work) {
    for (auto& manifest : work.manifests) {
      manifest.remote_uid = "uid-" + manifest.ref.name;
      manifest.message = "m";
    }
    work.synced_at = {5};
  });
  world_.Delete(ObjectKind::kResourceFlavor, "", "old");
  put(ObjectKind::kCohort, "new", "1");
  Change();
  EXPECT_EQ(Step(), "m0:bound/1");
  const Work& work = On("m0");
  std::vector<std::string> told;
  for (const auto& one : work.manifests) {
    told.push_back(MentionOf(one.ref) + " " + one.remote_uid +
                   (one.result == ManifestResult::kPending ? " pending" : " applied") +
                   (one.message.empty() ? "" : " " + one.message));
  }
  EXPECT_THAT(told, ElementsAre("ResourceFlavor old uid-old pending",
                                "ResourceFlavor same uid-same applied m",
                                "ClusterQueue gpu uid-gpu pending", "Cohort new  pending"));
  EXPECT_FALSE(work.synced_at.set());
  EXPECT_EQ(work.bound_at, world_.now());
  EXPECT_EQ(work.manifests[1].since, WallTime{});  // unchanged
  EXPECT_EQ(work.manifests[2].since, world_.now());
}

TEST_F(RolloutTest, ALeftover_KeepsItsMemberUnready) {
  placement_.selectors.push_back(Selecting(kKueue, "ResourceFlavor"));
  world_.Put(ObjectKind::kResourceFlavor, "", "old",
             R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor"})");
  Start(2);
  world_.Delete(ObjectKind::kResourceFlavor, "", "old");
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0");
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/0");
  world_.Obey("m0");
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1");
}

TEST_F(RolloutTest, AnOverride_IsRolledOutAsAChangeIs) {
  Start(3);
  ResourceOverride hold{"", "hold", "", false, {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}},
                        {}};
  hold.rules = {{std::vector<LabelSelector>{},
                 false,
                 {{PatchOp::kReplace, "/spec/stopPolicy", R"("${MEMBER-CLUSTER-NAME}")"}}}};
  const std::string before = On("m0").rendered;
  world_.Override(hold);
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/0 m2:bound/0");  // no new revision
  EXPECT_NE(On("m0").rendered, before);
  EXPECT_EQ(On("m1").rendered, before);
  EXPECT_THAT(On("m0").overrides, ElementsAre("ClusterResourceOverride/hold"));
  EXPECT_EQ(On("m0").manifests[0].result, ManifestResult::kPending);
  EXPECT_THAT(On("m1").waits, HasSubstr("to be updated"));
  world_.Obey("m0");
  world_.Step();
  EXPECT_NE(On("m1").rendered, before);
}

TEST_F(RolloutTest, AnOverrideThatCannotBeApplied_LeavesMembersAsTheyAre) {
  Start(2);
  ResourceOverride bad{"", "bad", "", false, {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}}, {}};
  bad.rules = {{std::vector<LabelSelector>{{{{"kubernetes-fleet.io/member-name", "m0"}}, {}}},
                false,
                {{PatchOp::kRemove, "/spec/none", ""}}}};
  world_.Override(bad);
  Change();
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/1");  // the others go on
  EXPECT_THAT(On("m0").override_error, StartsWith("ClusterResourceOverride bad, rule 1"));
  EXPECT_EQ(On("m0").manifests[0].result, ManifestResult::kApplied);
  world_.Obey("m1");
  world_.Member("m2");
  EXPECT_EQ(Step(), "m0:bound/0 m1:bound/1 m2:bound/1");
  world_.NoOverride("", "bad");
  world_.ObeyAll();
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1 m2:bound/1");
  EXPECT_EQ(On("m0").override_error, "");
}

TEST_F(RolloutTest, AnOverrideThatCannotBeApplied_BindsNothingNew) {
  ResourceOverride bad{"", "bad", "", false, {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}}, {}};
  bad.rules = {{std::vector<LabelSelector>{}, false, {{PatchOp::kRemove, "/spec/none", ""}}}};
  world_.Override(bad);
  Start(1);
  EXPECT_EQ(world_.Rows(), "m0:scheduled");
  EXPECT_THAT(On("m0").override_error, HasSubstr("/spec/none"));
  EXPECT_EQ(On("m0").waits, "");
  world_.NoOverride("", "bad");
  EXPECT_EQ(Step(), "m0:bound/0");
}

TEST_F(RolloutTest, ARevisionThatChangesNothingForAMember_CostsNobodyATurn) {
  ResourceOverride none{"", "none", "", false, {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}},
                        {}};
  none.rules = {{std::vector<LabelSelector>{}, true, {}}};  // deleted everywhere
  world_.Override(none);
  Start(4);
  Change();
  const WallTime bound = On("m0").bound_at;
  EXPECT_EQ(Step(), "m0:bound/1 m1:bound/1 m2:bound/1 m3:bound/1");
  EXPECT_EQ(On("m0").bound_at, bound);
}

TEST_F(RolloutTest, Waves_GoFromNamespacesToUnknownKinds) {
  const std::vector<ResourceRef> order{
      {"", "v1", "Namespace", "", "z"},
      {"scheduling.k8s.io", "v1", "PriorityClass", "", "a"},
      {"", "v1", "ConfigMap", "a", "z"},
      {"", "v1", "ConfigMap", "b", "a"},
      {"rbac.authorization.k8s.io", "v1", "Role", "a", "a"},
      {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "", "a"},
      {kKueue, "v1beta1", "ResourceFlavor", "", "a"},
      {kKueue, "v1beta1", "ClusterQueue", "", "a"},
      {kKueue, "v1beta1", "LocalQueue", "a", "a"},
      {"apps", "v1", "Deployment", "a", "a"},
      {"apiregistration.k8s.io", "v1", "APIService", "", "a"},
      {"x.io", "v1", "Namespace", "", "a"},
  };
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    EXPECT_TRUE(AppliedBefore(order[i], order[i + 1])) << MentionOf(order[i]);
    EXPECT_FALSE(AppliedBefore(order[i + 1], order[i])) << MentionOf(order[i]);
  }
  EXPECT_EQ(WaveOf(order[2]), WaveOf(order[3]));
  EXPECT_LT(WaveOf(order[6]), WaveOf(order[7]));
}

}  // namespace
}  // namespace muster::propagation::testing
