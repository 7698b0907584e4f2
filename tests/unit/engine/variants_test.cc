// Concurrent admission in the engine: a job tries each flavor of its queue separately, runs on the
// first that admits it, and moves to a better one if the policy says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

EngineOptions WithConcurrentAdmission() {
  auto settings = std::make_shared<AdmissionSettings>();
  settings->concurrent_admission = true;
  EngineOptions options;
  options.settings = settings;
  return options;
}

class VariantsTest : public testing::Test {
 protected:
  // Flavors best, good and poor, in this order, with these quotas of cpu in thousandths.
  void Declare(std::int64_t best, std::int64_t good, std::int64_t poor,
               const std::string& migration = "{mode: TryPreferredFlavors}",
               const std::string& within = "Never") {
    migration_ = migration;
    within_ = within;
    ASSERT_TRUE(
        world
            .Apply({NamespaceObject("default"), FlavorObject("best"), FlavorObject("good"),
                    FlavorObject("poor"), Queue(best, good, poor), LocalQueueObject("queue", "cq"),
                    MemberObject("east", {{"cpu", 64'000}})})
            .ok());
    world.Run();
  }
  ObjectChange Queue(std::int64_t best, std::int64_t good, std::int64_t poor) const {
    const auto flavor = [](const char* name, std::int64_t cpu) {
      return std::string(R"({"name":")") + name +
             R"(","resources":[{"name":"cpu","nominalQuota":")" + std::to_string(cpu) + "m\"}]}";
    };
    ObjectChange queue = ClusterQueueObject({.within = within_});
    const bool retain = migration_.find("Retain") != std::string::npos;
    std::string constraint;
    if (const auto at = migration_.find("last: "); at != std::string::npos) {
      constraint =
          R"(,"constraints":{"lastAcceptableFlavorName":")" + migration_.substr(at + 6, 4) + "\"}";
    }
    queue.manifest =
        R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"cq"},
            "spec":{"namespaceSelector":{},"concurrentAdmissionPolicy":{"migration":{"mode":")" +
        std::string(retain ? "RetainFirstAdmission" : "TryPreferredFlavors") + "\"" + constraint +
        R"(}},"preemption":{"withinClusterQueue":")" + within_ +
        R"("},"resourceGroups":[{"coveredResources":["cpu"],"flavors":[)" + flavor("best", best) +
        "," + flavor("good", good) + "," + flavor("poor", poor) + "]}]}}";
    return queue;
  }
  // The object with this spec.
  static ObjectChange Labelled(ObjectChange object, const std::string& text) {
    const std::string spec = R"("spec":{})";
    object.manifest.replace(object.manifest.find(spec), spec.size(), text);
    return object;
  }
  // A member that serves the flavors of one tier and the flavors without a label.
  static ObjectChange Member(const std::string& name, const std::string& tier,
                             const std::string& cpu) {
    ObjectChange member = MemberObject(name, {});
    member.manifest = R"({"apiVersion":"cluster.kubernetes-fleet.io/v1beta1",
                          "kind":"MemberCluster","metadata":{"name":")" +
                      name + R"(","labels":{"tier":")" + tier +
                      R"("},"annotations":{"muster.io/backend":"simulated",
                          "muster.io/allocatable":"{\"cpu\":\")" +
                      cpu + R"(\"}"}},"spec":{}})";
    return member;
  }
  JobId Submit(const std::string& name, std::int32_t pods = 2, std::int32_t priority = 0) {
    const JobPtr job = world.Submit({.name = name, .pods = {{pods}}, .priority = priority});
    MUSTER_CHECK(job != nullptr);
    world.Run();
    return job->id;
  }
  std::string FlavorOf(JobId id) {
    const JobPtr job = world.Job(id);
    return job->admission == nullptr ? "" : job->admission->pod_sets[0].flavors.at("cpu");
  }
  std::int64_t Used(const std::string& flavor) {
    const core::Usage& usage = world.engine->View()->usage;
    const auto pair = usage.tree().PairIndex(flavor, "cpu");
    return pair < 0 ? 0 : usage.At(usage.tree().ClusterQueueIndex("cq"), pair);
  }

  EngineWorld world{1, WithConcurrentAdmission()};

 private:
  std::string migration_, within_;
};

TEST_F(VariantsTest, TheBestFlavorThatFitsIsTaken_Once) {
  Declare(4000, 4000, 4000);
  const JobId id = Submit("a");
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(FlavorOf(id), "best");
  EXPECT_EQ(Used("best") + Used("good") + Used("poor"), 2000);
  EXPECT_EQ(world.members.starts[world.KeyOf(id)], 1);
  EXPECT_EQ(world.engine->View()->queues.at("cq").active, 0u) << "the losers have left the queue";
  EXPECT_EQ(world.engine->View()->queues.at("cq").inadmissible, 0u);
}

TEST_F(VariantsTest, AJobMovesToABetterFlavorWhenThatComesFree) {
  Declare(2000, 1000, 4000);
  const JobId first = Submit("first");
  const JobId second = Submit("second");
  EXPECT_EQ(FlavorOf(second), "poor");
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(FlavorOf(second), "best");
  EXPECT_EQ(world.Job(second)->attempt, 2);
  EXPECT_EQ(Used("poor"), 0);
  EXPECT_EQ(Used("best"), 2000);
  const Condition* evicted = FindCondition(*world.Job(second), "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_FALSE(evicted->status);
  const auto event = std::find_if(world.events.begin(), world.events.end(),
                                  [](const Event& one) { return one.reason == "FlavorMigration"; });
  ASSERT_NE(event, world.events.end());
  EXPECT_THAT(event->message, HasSubstr("migration to more favorable resource flavor"));
  EXPECT_LE(world.members.most_active_of_one_job, 1u);
}

TEST_F(VariantsTest, APolicyThatRetainsTheFirstAdmissionMovesNobody) {
  Declare(2000, 1000, 4000, "RetainFirstAdmission");
  const JobId first = Submit("first");
  const JobId second = Submit("second");
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(FlavorOf(second), "poor");
  EXPECT_EQ(world.Job(second)->attempt, 1);
}

TEST_F(VariantsTest, NobodyMovesToAFlavorBelowTheLastAcceptableOne) {
  Declare(1000, 2000, 4000, "last: best");
  const JobId first = Submit("first");
  EXPECT_EQ(FlavorOf(first), "good");
  const JobId second = Submit("second");
  EXPECT_EQ(FlavorOf(second), "poor");
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(FlavorOf(second), "poor") << "good is better, but not good enough to move to";
  ASSERT_TRUE(world.Apply({Queue(2000, 2000, 4000)}).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(second), "best");
}

TEST_F(VariantsTest, AJobThatFitsNowhereSaysWhyOfEachFlavor_AndStartsWhenOneGrows) {
  Declare(1000, 1000, 1000);
  const JobId id = Submit("a");
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_THAT(world.Job(id)->message,
              AllOf(HasSubstr("flavor best"), HasSubstr("flavor good"), HasSubstr("flavor poor")));
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  ASSERT_TRUE(world.Apply({Queue(1000, 1000, 2000)}).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(id), "poor");
}

TEST_F(VariantsTest, OneVariantAfterTheOtherMayPreempt) {
  Declare(2000, 2000, 1000, "{mode: TryPreferredFlavors}", "LowerPriority");
  const JobId low = Submit("low");
  const JobId lower = Submit("lower");
  EXPECT_EQ(FlavorOf(low), "best");
  EXPECT_EQ(FlavorOf(lower), "good");
  const JobId urgent = Submit("urgent", 2, 10);
  EXPECT_EQ(world.StateOf(urgent), JobState::kRunning);
  EXPECT_EQ(FlavorOf(urgent), "best") << "the best flavor's gate is the first";
  EXPECT_EQ(world.StateOf(low), JobState::kPending);
  EXPECT_EQ(world.StateOf(lower), JobState::kRunning) << "nobody was evicted for the other one";
}

TEST_F(VariantsTest, TheNextGateOpensWhenTheFirstHasHadItsTime) {
  Declare(2000, 2000, 1000, "{mode: TryPreferredFlavors}", "LowerPriority");
  const JobId low = Submit("low");
  const JobId lower = Submit("lower");
  const JobPtr urgent = world.Submit({.name = "urgent", .pods = {{2}}, .priority = 10});
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(low), "Preempted"));
  // The member shrinks: the room that becomes free does not help, and the next flavor is tried.
  ASSERT_TRUE(world.Apply({MemberObject("east", {{"cpu", 2000}})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(urgent->id), JobState::kPending);
  EXPECT_EQ(world.Job(urgent->id)->reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(world.StateOf(lower), JobState::kRunning);
  EXPECT_EQ(FlavorOf(lower), "good") << "on the best flavor the urgent one would evict it";
  EXPECT_EQ(world.Job(lower)->attempt, 1);
  world.clock.Advance(299'000);
  world.Run();
  EXPECT_EQ(world.StateOf(lower), JobState::kRunning);
  world.clock.Advance(1'000);
  world.Run();
  EXPECT_EQ(world.StateOf(urgent->id), JobState::kRunning);
  EXPECT_EQ(world.StateOf(lower), JobState::kPending);
}

TEST_F(VariantsTest, NobodyMovesToAFlavorThatNoMemberHasTheRoomFor) {
  Declare(2000, 1000, 4000);
  ASSERT_TRUE(
      world
          .Apply({Labelled(FlavorObject("best"), R"("spec":{"nodeLabels":{"tier":"best"}})"),
                  Member("east", "other", "64"), Member("west", "best", "2")})
          .ok());
  const JobId first = Submit("first");
  const JobId second = Submit("second");
  ASSERT_EQ(FlavorOf(first), "best");
  ASSERT_EQ(FlavorOf(second), "poor");
  ASSERT_TRUE(world.Apply({Member("west", "best", "1")}).ok());
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(FlavorOf(second), "poor");
  EXPECT_EQ(world.Job(second)->attempt, 1) << "an eviction would bring it back to where it is";
  ASSERT_TRUE(world.Apply({Member("west", "best", "2")}).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(second), "best");
  EXPECT_EQ(world.Job(second)->attempt, 2);
}

TEST_F(VariantsTest, WhoStoodBackMovesOnceTheOneBeforeItHasGone) {
  Declare(2000, 2000, 1000, "{mode: TryPreferredFlavors}", "LowerPriority");
  const JobId low = Submit("low");
  const JobId lower = Submit("lower");
  const JobPtr urgent = world.Submit({.name = "urgent", .pods = {{2}}, .priority = 10});
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(low), "Preempted"));
  ASSERT_TRUE(world.Do(JobVerb::kCancel, low).ok());
  ASSERT_TRUE(world.Apply({MemberObject("east", {{"cpu", 2000}})}).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(lower), "good");
  EXPECT_EQ(world.Job(urgent->id)->reason, Reason::kWaitingForCapacity);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, urgent->id).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(lower), "best");
  EXPECT_EQ(world.Job(lower)->attempt, 2);
}

TEST_F(VariantsTest, ACrashInTheMidstOfAMigrationIsGoneOnFrom) {
  Declare(2000, 1000, 4000);
  const JobId first = Submit("first");
  const JobId second = Submit("second");
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(second), "Evicted"));
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(FlavorOf(second), "best");
  EXPECT_EQ(Used("poor"), 0);
  for (const UsageRow& row : world.Stored().usage)
    EXPECT_EQ(row.amount, row.flavor == "best" ? 2000 : 0) << row.flavor;
}

TEST_F(VariantsTest, HoldsCancelsAndDeactivationsTakeEveryVariantAlong) {
  Declare(1000, 1000, 1000);
  const JobId id = Submit("a");
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  world.Run();
  EXPECT_EQ(world.engine->View()->queues.at("cq").inadmissible, 0u);
  ASSERT_TRUE(world.Apply({Queue(2000, 1000, 1000)}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  world.Run();
  EXPECT_EQ(FlavorOf(id), "best");
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(Used("best"), 0);
}

}  // namespace
}  // namespace muster::test
