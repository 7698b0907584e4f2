// Members that are added and removed: the questions to the cluster, the refusals, the stored
// objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/service/registered_member.h"
#include "schedd/text/base64.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

class FakeProbe final : public MemberProbe {
 public:
  Result<MemberReport> Ask(const MemberDeclaration& member) override {
    asked = member;
    return answer;
  }
  MemberDeclaration asked;
  Result<MemberReport> answer = [] {
    MemberReport report;
    report.incarnation = "uid-1";
    report.version = "v1.34.1";
    return report;
  }();
};

class MemberRegistry : public testing::Test {
 protected:
  MemberRegistry() { w.service.SetProbe(&probe); }

  Result<api::AddedMember> Add(const std::string& name, bool force = false) {
    api::NewMember wanted;
    wanted.declaration = {.name = name, .kubeconfig = "text", .context = "c", .fast = true};
    wanted.labels = {{"zone", "a"}};
    wanted.force = force;
    std::optional<Result<api::AddedMember>> answer;
    w.service.AddMember(w.alice, wanted,
                        [&answer](Result<api::AddedMember> result) { answer = std::move(result); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  Result<api::RemovedMember> Remove(const std::string& name, bool force = false) {
    std::optional<Result<api::RemovedMember>> answer;
    w.service.RemoveMember(w.alice, name, force, [&answer](Result<api::RemovedMember> result) {
      answer = std::move(result);
    });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  ObjectPtr Stored(ObjectKind kind, const std::string& ns, const std::string& name) const {
    const WorldViewPtr view = w.service.View();
    const auto found = view->objects->find({kind, ns, name});
    return found == view->objects->end() ? nullptr : found->second;
  }
  ObjectPtr Member(const std::string& name) const {
    return Stored(ObjectKind::kMemberCluster, "", name);
  }
  ObjectPtr Secret(const std::string& name) const {
    return Stored(ObjectKind::kSecret, "muster-system", "muster-member-" + name);
  }

  ServiceWorld w;
  FakeProbe probe;
};

json::value Manifest(const std::string& name, const std::string& annotations) {
  return Json(R"({"apiVersion":"cluster.kubernetes-fleet.io/v1beta1","kind":"MemberCluster",
    "metadata":{"name":")" +
              name + R"(","annotations":{)" + annotations + "}}}");
}

TEST_F(MemberRegistry, AnAddedMemberIsAnObjectAndASecret) {
  const auto added = Add("west");
  ASSERT_TRUE(added.ok()) << added.error().detail;
  EXPECT_EQ(added->report.version, "v1.34.1");
  EXPECT_EQ(probe.asked.kubeconfig, "text");
  ASSERT_NE(Member("west"), nullptr);
  EXPECT_EQ(api::KubeconfigSecretOf(*Member("west")), "muster-system/muster-member-west");
  EXPECT_THAT(Member("west")->manifest, HasSubstr(R"("muster.io/context":"c")"));
  EXPECT_THAT(Member("west")->manifest, HasSubstr(R"("muster.io/fast":"true")"));
  ASSERT_NE(Secret("west"), nullptr);
  EXPECT_THAT(Secret("west")->manifest, HasSubstr(EncodeBase64("text")));
  const auto& known = w.service.View()->config->member_clusters.at("west");
  EXPECT_EQ(known.backend, "kubernetes");
  EXPECT_TRUE(known.any_flavor);
  EXPECT_EQ(known.labels, (LabelMap{{"zone", "a"}}));
}

TEST_F(MemberRegistry, WhatIsWrongIsSaidTogetherAndNothingIsStored) {
  probe.answer->problems = {"it is away", "Muster's user lacks permissions there: get of pods/log"};
  probe.answer->role = "kind: ClusterRole\n";
  const auto refused = Add("west");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  const std::vector<FieldError> wanted{
      {"kubeconfig", "it is away"},
      {"kubeconfig", "Muster's user lacks permissions there: get of pods/log"},
      {"clusterRole", "kind: ClusterRole\n"}};
  EXPECT_EQ(refused.error().fields, wanted);
  EXPECT_EQ(Member("west"), nullptr);
  EXPECT_EQ(Secret("west"), nullptr);
  const auto forced = Add("west", true);
  ASSERT_TRUE(forced.ok()) << forced.error().detail;
  EXPECT_EQ(forced->report.problems.size(), 2U);
  EXPECT_NE(Member("west"), nullptr);
}

TEST_F(MemberRegistry, AKubeconfigThatCannotBeTakenIsRefusedWhateverIsForced) {
  probe.answer = InvalidArgument("kubeconfig: not YAML");
  EXPECT_EQ(Add("west", true).error().detail, "kubeconfig: not YAML");
  EXPECT_EQ(Member("west"), nullptr);
}

TEST_F(MemberRegistry, OneClusterIsOneMember) {
  ASSERT_TRUE(Add("west").ok());
  EXPECT_EQ(Add("west").error().code, Code::kAlreadyExists);
  const auto again = Add("south");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().fields.at(0).message, "it is member cluster west already");
  ASSERT_TRUE(Remove("west").ok());
  EXPECT_TRUE(Add("south").ok()) << "the other one is gone";
}

TEST_F(MemberRegistry, ANameIsJudgedBeforeTheClusterIsAsked) {
  const auto refused = Add("W_1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fields.at(0).field, "name");
  EXPECT_EQ(probe.asked.name, "");
}

TEST_F(MemberRegistry, ARemovedMemberTakesItsSecretAndOneOfAFlagStays) {
  ASSERT_TRUE(Add("west").ok());
  ASSERT_TRUE(Remove("west").ok());
  EXPECT_EQ(Member("west"), nullptr);
  EXPECT_EQ(Secret("west"), nullptr);
  EXPECT_EQ(Remove("west").error().code, Code::kNotFound);
  EXPECT_THAT(Remove("east").error().detail, HasSubstr("is declared by a flag"));
  EXPECT_NE(Member("east"), nullptr);
}

TEST_F(MemberRegistry, ARemovalSaysWhatPlacementsBroughtThere) {
  ASSERT_TRUE(Add("west").ok());
  RecordWorksCommand works;
  const auto put =
      [&works](const char* placement, const char* cluster, const std::vector<std::string>& uids) {
    auto work = std::make_shared<Work>();
    work->placement = placement;
    work->cluster = cluster;
    for (const std::string& uid : uids) work->manifests.emplace_back().remote_uid = uid;
    works.works.push_back(std::move(work));
  };
  put("queues", "west", {"u1", "u2", ""});
  put("flavors", "west", {"u3"});
  put("refused", "west", {""});
  put("queues", "east", {"u4"});
  works.done = [](const Status&) {};
  w.world.engine->Post(std::move(works));
  w.world.Settle();
  const auto removed = Remove("west");
  ASSERT_TRUE(removed.ok()) << removed.error().detail;
  EXPECT_EQ(removed->objects, 3U);
  EXPECT_EQ(removed->placements, 2U);
}

TEST_F(MemberRegistry, OneThatHoldsAnEndedJobStaysUnlessItIsForced) {
  ASSERT_TRUE(Add("west").ok());
  w.world.members.two_steps = true;
  w.world.members.Tell("west");
  w.world.members.List("west");
  w.world.Run();
  CordonCommand cordon;
  cordon.cluster = "east";
  cordon.done = [](const Result<ObjectPtr>&) {};
  w.world.engine->Post(std::move(cordon));
  const auto job = w.Submit(JobManifest("job"));
  ASSERT_TRUE(job.ok());
  w.world.Run();
  const DispatchKey key = w.world.KeyOf(job->job->id);
  ASSERT_EQ(key.cluster, "west");
  w.world.members.End(key, RemotePhase::kSucceeded);
  w.world.Settle();
  const auto refused = Remove("west");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().detail, HasSubstr("holds objects of 1 ended attempt"));
  EXPECT_NE(Member("west"), nullptr);
  EXPECT_TRUE(Remove("west", true).ok());
  EXPECT_EQ(Member("west"), nullptr);
}

TEST_F(MemberRegistry, AManifestThatNamesASecretIsAMemberToo) {
  const std::string secret = R"("muster.io/kubeconfig-secret":"default/way")";
  ASSERT_TRUE(w.Apply({Manifest("west", secret)}).ok());
  EXPECT_EQ(w.service.View()->config->member_clusters.at("west").backend, "kubernetes");
  CordonCommand cordon;
  cordon.cluster = "west";
  cordon.done = [](const Result<ObjectPtr>&) {};
  w.world.engine->Post(std::move(cordon));
  w.world.Settle();
  ASSERT_TRUE(w.Apply({Manifest("west", secret)}).ok());
  EXPECT_TRUE(w.service.View()->config->member_clusters.at("west").cordoned)
      << "an apply does not end a cordon";
  ASSERT_TRUE(Remove("west").ok());
  const std::pair<json::value, const char*> refused[] = {
      {Manifest("east", secret), "declared by the daemon's"},
      {Manifest("west", R"("muster.io/kubeconfig-secret":"way")"), "must be NAMESPACE/NAME"},
      {Manifest("west", secret + R"(,"muster.io/backend":"local")"), "must be kubernetes"},
      {Manifest("west", secret + R"(,"muster.io/fast":"yes")"), "muster.io/fast"}};
  for (const auto& [manifest, sentence] : refused)
    EXPECT_THAT(w.Apply({manifest}).error().detail, HasSubstr(sentence));
}

}  // namespace
}  // namespace muster::test
