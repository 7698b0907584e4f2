// Configuration objects on a fake member: created, kept, taken over, compared, refused.
#include "tests/unit/k8s_backend/object_world.h"

namespace muster::k8s {
namespace {

using R = ManifestResult;

ApplyStrategy Kept(ApplyType type = ApplyType::kClientSide) { return {.type = type}; }
// Fields that other managers have written are taken over, as client-side apply always does.
ApplyStrategy Forced(ApplyType type) { return {.type = type, .force_conflicts = true}; }
ApplyStrategy IfNotDrifted(ApplyType type = ApplyType::kClientSide) {
  return {.type = type, .if_not_drifted = true, .force_conflicts = true};
}
ApplyStrategy TakingOver(TakeOver when) { return {.take_over = when}; }
constexpr ApplyStrategy kReport{.type = ApplyType::kReportDiff};

std::vector<std::string> Paths(const ObjectOutcome& outcome) {
  std::vector<std::string> paths;
  for (const Difference& one : outcome.status.differences) paths.push_back(one.path);
  return paths;
}

class ObjectApplyTest : public ObjectWorld {};

// By client-side and by server-side apply.
class EitherApplyTest : public ObjectWorld, public ::testing::WithParamInterface<ApplyType> {};
INSTANTIATE_TEST_SUITE_P(, EitherApplyTest,
                         ::testing::Values(ApplyType::kClientSide, ApplyType::kServerSide));

TEST_P(EitherApplyTest, WhatIsAbsentIsMade_AndIsOurs) {
  Connect();
  const ObjectOrder order = QueueOrder("9", Forced(GetParam()));
  const ObjectOutcome made = Must(order);
  EXPECT_EQ(made.status.result, R::kApplied) << made.status.message;
  EXPECT_TRUE(made.wrote);
  EXPECT_EQ(made.status.message, "");
  EXPECT_EQ(made.status.applied, order.hash);
  EXPECT_EQ(made.status.remote_uid, TextAt(kQueue, "/metadata/uid"));
  EXPECT_EQ(made.status.generation, 1);
  EXPECT_EQ(made.status.availability, ManifestAvailability::kNotTrackable);
  EXPECT_EQ(OwnerOf(kQueue), "here//crp");
  EXPECT_EQ(TextAt(kQueue, "/metadata/labels/muster.io~1propagated"), "true");
  EXPECT_EQ(Quota(), "9");
}

TEST_P(EitherApplyTest, WhatIsAsItShouldBe_IsOnlyLookedAt) {
  Connect();
  const ObjectOrder order = QueueOrder("9", Forced(GetParam()));
  const ObjectOutcome made = Must(order);
  for (int i = 0; i < 2; ++i) {
    const ObjectOutcome again = Must(After(order, made));
    EXPECT_EQ(again.status, made.status);
    EXPECT_FALSE(again.wrote);
  }
  const std::string version = TextAt(kQueue, "/metadata/resourceVersion");
  const std::int64_t patches = Requests("patch clusterqueues");
  Must(After(order, made));
  EXPECT_EQ(Requests("patch clusterqueues"), patches)
      << "nothing has changed since it was looked at";
  EXPECT_EQ(TextAt(kQueue, "/metadata/resourceVersion"), version);
}

TEST_P(EitherApplyTest, AnotherManifestReplacesTheFirst_AndWhatItLeavesOutGoes) {
  Connect();
  const ObjectOutcome made = Must(QueueOrder("9", Forced(GetParam())));
  Edit(kQueue, R"({"spec":{"theirs":"stays"}})");
  ObjectOrder next = Order(QueueRef(), R"({"metadata":{"name":"cq"},"spec":{"nominalQuota":"5"}})",
                           Forced(GetParam()));
  next.before = made.status;
  const ObjectOutcome changed = Must(next);
  EXPECT_EQ(changed.status.result, R::kApplied) << changed.status.message;
  EXPECT_EQ(changed.status.applied, next.hash);
  const json::object spec = member_.Object(kQueue).at("spec").as_object();
  EXPECT_EQ(Quota(), "5");
  EXPECT_FALSE(spec.contains("cohort")) << "the first manifest had it";
  EXPECT_TRUE(spec.contains("theirs"));
  EXPECT_TRUE(spec.contains("queueingStrategy")) << "the member's own default";
  EXPECT_FALSE(member_.Object(kQueue).at("metadata").at("labels").as_object().contains("team"));
}

TEST_P(EitherApplyTest, ADriftIsCorrected_AndWhatOthersAddIsNone) {
  Connect();
  const ObjectOrder order = QueueOrder("9", Forced(GetParam()));
  const ObjectOutcome made = Must(order);
  Edit(kQueue, R"({"spec":{"nominalQuota":"1","theirs":"stays"}})");
  const ObjectOutcome corrected = Must(After(order, made));
  EXPECT_EQ(corrected.status.result, R::kApplied) << corrected.status.message;
  EXPECT_TRUE(corrected.status.differences.empty());
  EXPECT_TRUE(corrected.wrote);
  EXPECT_EQ(Quota(), "9");
  EXPECT_EQ(TextAt(kQueue, "/spec/theirs"), "stays");
  const ObjectOutcome again = Must(After(order, corrected));
  EXPECT_FALSE(again.wrote);
}

TEST_P(EitherApplyTest, IfNotDrifted_ADriftIsReportedAndLeft) {
  Connect();
  const ObjectOrder order = QueueOrder("9", IfNotDrifted(GetParam()));
  const ObjectOutcome made = Must(order);
  Edit(kQueue, R"({"spec":{"nominalQuota":"1"}})");
  ObjectOutcome drifted = Must(After(order, made));
  EXPECT_EQ(drifted.status.result, R::kFoundDrifts) << drifted.status.message;
  ASSERT_EQ(drifted.status.differences.size(), 1u);
  EXPECT_EQ(drifted.status.differences[0],
            (Difference{"/spec/nominalQuota", std::string("1"), std::string("9")}));
  EXPECT_FALSE(drifted.wrote);
  EXPECT_EQ(drifted.status.remote_uid, made.status.remote_uid);
  EXPECT_EQ(drifted.status.message,
            "somebody has changed it in 1 place (whenToApply is IfNotDrifted)");
  EXPECT_EQ(Quota(), "1");
  ObjectOrder next = QueueOrder("7", IfNotDrifted(GetParam()));
  drifted = Must(After(next, drifted));
  EXPECT_EQ(drifted.status.result, R::kFoundDrifts) << "another manifest does not change that";
  EXPECT_EQ(Paths(drifted), (std::vector<std::string>{"/spec/nominalQuota"}));
  EXPECT_EQ(Quota(), "1");
  Edit(kQueue, R"({"spec":{"nominalQuota":"9"}})");
  const ObjectOutcome applied = Must(After(next, drifted));
  EXPECT_EQ(applied.status.result, R::kApplied) << "it is again as it was applied last";
  EXPECT_EQ(Quota(), "7");
}

TEST_P(EitherApplyTest, AnObjectThatSomebodyDeleted_IsMadeAgain) {
  Connect();
  const ObjectOrder order = QueueOrder("9", Forced(GetParam()));
  const ObjectOutcome made = Must(order);
  member_.Call("DELETE", kQueue);
  const ObjectOutcome again = Must(After(order, made));
  EXPECT_EQ(again.status.result, R::kApplied);
  EXPECT_NE(again.status.remote_uid, made.status.remote_uid);
  EXPECT_EQ(again.status.remote_uid, TextAt(kQueue, "/metadata/uid"));
}

TEST_P(EitherApplyTest, AWriteOnAnObjectThatHasChanged_LooksAgain) {
  Connect();
  const ObjectOutcome made = Must(QueueOrder("9", Forced(GetParam())));
  const int fault = member_.Inject({.kind = FaultKind::kAnswer,
                                    .verb = "patch",
                                    .path = "/clusterqueues/cq",
                                    .status = 409,
                                    .reason = "Conflict",
                                    .message = "the object has been modified"});
  const ObjectOutcome changed = Must(After(QueueOrder("5", Forced(GetParam())), made));
  EXPECT_EQ(changed.status.result, R::kApplied) << changed.status.message;
  EXPECT_EQ(member_.Struck(fault), 1);
  EXPECT_EQ(Quota(), "5");
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "patch",
                  .path = "/clusterqueues/cq",
                  .times = -1,
                  .status = 409,
                  .reason = "Conflict",
                  .message = "the object has been modified"});
  const auto never = Apply(After(QueueOrder("6", Forced(GetParam())), changed));
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().code, Code::kUnavailable);
}

TEST_P(EitherApplyTest, AWriteThatIsNotAnswered_IsUnknown_AndTheNextTryFindsIt) {
  Connect();
  const ObjectOrder order = QueueOrder("9", Forced(GetParam()));
  const char* verb = GetParam() == ApplyType::kClientSide ? "create" : "patch";
  member_.Inject({.kind = FaultKind::kDropAnswer, .verb = verb, .path = "/clusterqueues"});
  const auto lost = Apply(order);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::kUnknown);
  const ObjectOutcome found = Must(order);
  EXPECT_EQ(found.status.result, R::kApplied) << found.status.message;
  EXPECT_EQ(found.status.remote_uid, TextAt(kQueue, "/metadata/uid"));
}

TEST_P(EitherApplyTest, TwoPlacementsOfOneObject_AreNeverMerged) {
  Connect();
  Must(QueueOrder("9", Forced(GetParam())));
  ObjectOrder other = QueueOrder("5", Forced(GetParam()));
  other.owner.placement = "ml/rp";
  const ObjectOutcome refused = Must(other);
  EXPECT_EQ(refused.status.result, R::kNotTakenOver);
  EXPECT_EQ(refused.status.message, "it belongs to ClusterResourcePlacement crp");
  EXPECT_EQ(refused.status.remote_uid, "");
  EXPECT_EQ(Quota(), "9");
}

TEST_F(ObjectApplyTest, IfNotDrifted_WhatWasAppliedInAnotherVersionIsNoDrift) {
  Connect();
  const ObjectOutcome made = Must(QueueOrder("9", IfNotDrifted()));
  Edit(kQueue, R"({"metadata":{"annotations":{
      "muster.io/last-applied":
        "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"spec\":{\"nominalQuota\":\"1\"}}"}}})");
  const ObjectOutcome next = Must(After(QueueOrder("5", IfNotDrifted()), made));
  EXPECT_EQ(next.status.result, R::kApplied) << next.status.message;
  EXPECT_EQ(Quota(), "5");
}

TEST_F(ObjectApplyTest, MarksThatSomebodyWroteAnyhow_DoNoHarm) {
  Connect();
  ObjectOutcome outcome = Must(QueueOrder("9", IfNotDrifted()));
  for (const char* text :
       {"nonsense", "[]", "{}", R"({\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"metadata\":7})",
        R"({\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":[],\"metadata\":{\"labels\":7}})"}) {
    for (const ApplyStrategy& strategy : {IfNotDrifted(), Kept()}) {
      Edit(kQueue, std::string(R"({"metadata":{"annotations":{"muster.io/last-applied":")") + text +
                       R"(","muster.io/manifest-hash":"?"}}})");
      outcome = Must(After(QueueOrder("9", strategy), outcome));
      EXPECT_TRUE(outcome.status.result == R::kApplied || outcome.status.result == R::kFoundDrifts)
          << text << ": " << outcome.status.message;
      EXPECT_EQ(Quota(), "9");
    }
  }
}

TEST_F(ObjectApplyTest, WithAFullComparison_WhatOthersHaveAddedIsToldToo) {
  Connect();
  ApplyStrategy strategy = Kept();
  strategy.full_comparison = true;
  const ObjectOrder order = QueueOrder("9", strategy);
  const ObjectOutcome made = Must(order);
  EXPECT_TRUE(made.status.differences.empty())
      << "what the API server filled in is no difference: " << made.status.differences[0].path;
  Edit(kQueue, R"({"spec":{"theirs":"x","nominalQuota":"1"}})");
  const ObjectOutcome told = Must(After(order, made));
  EXPECT_EQ(told.status.result, R::kApplied);
  ASSERT_EQ(Paths(told), (std::vector<std::string>{"/spec/theirs"}));
  EXPECT_EQ(told.status.differences[0].in_hub, std::nullopt);
  EXPECT_EQ(Quota(), "9");
  strategy.if_not_drifted = true;
  const ObjectOutcome drifted = Must(After(QueueOrder("9", strategy), told));
  EXPECT_EQ(drifted.status.result, R::kFoundDrifts);
  EXPECT_EQ(Paths(drifted), (std::vector<std::string>{"/spec/theirs"}));
}

TEST_F(ObjectApplyTest, WhatWasThereBefore_IsTakenOver_AsTheStrategySays) {
  struct Case {
    const char* name;
    TakeOver when;
    const char* quota;  // of the object on the member; the manifest's is 9
    R expected;
    std::vector<std::string> paths;
  };
  const Case cases[] = {
      {"always", TakeOver::kAlways, "1", R::kApplied, {}},
      {"never", TakeOver::kNever, "9", R::kNotTakenOver, {}},
      {"if it is the same", TakeOver::kIfNoDiff, "9", R::kApplied, {}},
      {"not if it differs", TakeOver::kIfNoDiff, "1", R::kFailedToTakeOver, {"/spec/nominalQuota"}},
  };
  Connect();
  for (const Case& one : cases) {
    MakeForeignQueue(one.quota);
    const std::string version = TextAt(kQueue, "/metadata/resourceVersion");
    const ObjectOutcome outcome = Must(QueueOrder("9", TakingOver(one.when)));
    EXPECT_EQ(outcome.status.result, one.expected) << one.name << ": " << outcome.status.message;
    EXPECT_EQ(Paths(outcome), one.paths) << one.name;
    const bool taken = one.expected == R::kApplied;
    EXPECT_EQ(OwnerOf(kQueue), taken ? "here//crp" : "") << one.name;
    EXPECT_EQ(Quota(), taken ? "9" : one.quota) << one.name;
    EXPECT_EQ(TextAt(kQueue, "/metadata/labels/own"), "yes") << one.name;
    EXPECT_EQ(outcome.status.remote_uid.empty(), !taken) << one.name;
    if (!taken) {
      EXPECT_EQ(TextAt(kQueue, "/metadata/resourceVersion"), version) << one.name;
      EXPECT_NE(outcome.status.message, "") << one.name;
    }
    member_.Call("DELETE", kQueue);
  }
}

TEST_F(ObjectApplyTest, OtherOwners_AreInTheWayUnlessTheyMayShare) {
  Connect();
  MakeForeignQueue("9");
  const std::string owner = R"([{"apiVersion":"v1","kind":"Namespace","name":"default","uid":")" +
                            TextAt("/api/v1/namespaces/default", "/metadata/uid") + R"("}])";
  Edit(kQueue, R"({"metadata":{"ownerReferences":)" + owner + "}}");
  ObjectOutcome outcome = Must(QueueOrder("9"));
  EXPECT_EQ(outcome.status.result, R::kFailedToTakeOver);
  EXPECT_EQ(outcome.status.message, "it has other owners there (allowCoOwnership is false)");
  ApplyStrategy shared;
  shared.allow_co_ownership = true;
  outcome = Must(QueueOrder("9", shared));
  EXPECT_EQ(outcome.status.result, R::kApplied) << outcome.status.message;
  outcome = Must(After(QueueOrder("9"), outcome));
  EXPECT_EQ(outcome.status.result, R::kApplyFailed) << "it is ours, and may be shared no longer";
}

TEST_F(ObjectApplyTest, WhatMusterOrKubeFleetHasThereOtherwise_IsNeverTouched) {
  Connect();
  MakeForeign("/api/v1/namespaces/default/configmaps",
              R"({"metadata":{"name":"cm","labels":{"muster.io/instance":"here"}},"data":{}})");
  ObjectOutcome outcome = Must(ConfigOrder("x"));
  EXPECT_EQ(outcome.status.result, R::kApplyFailed);
  EXPECT_EQ(outcome.status.message, "it belongs to jobs of Muster there");
  MakeForeignQueue("1");
  Edit(kQueue, R"({"metadata":{"ownerReferences":[{"kind":"AppliedWork","name":"w","uid":")" +
                   TextAt("/api/v1/namespaces/default", "/metadata/uid") +
                   R"(","apiVersion":"placement.kubernetes-fleet.io/v1beta1"}]}})");
  ApplyStrategy shared;
  shared.allow_co_ownership = true;
  outcome = Must(QueueOrder("9", shared));
  EXPECT_EQ(outcome.status.result, R::kNotTakenOver) << outcome.status.message;
  Edit(kQueue, R"({"metadata":{"ownerReferences":null,
                   "annotations":{"muster.io/placement":"there//crp"}}})");
  outcome = Must(QueueOrder("9"));
  EXPECT_EQ(outcome.status.message, "it belongs to a placement of another Muster (there//crp)");
  EXPECT_EQ(Quota(), "1");
}

TEST_F(ObjectApplyTest, MarksThatSomebodyTookOff_ArePutOnAgain) {
  Connect();
  const ObjectOrder order = QueueOrder("9");
  const ObjectOutcome made = Must(order);
  Edit(kQueue, R"({"metadata":{"labels":{"muster.io/propagated":null},
                               "annotations":{"muster.io/placement":null}}})");
  const ObjectOutcome again = Must(After(order, made));
  EXPECT_EQ(again.status.result, R::kApplied) << again.status.message;
  EXPECT_EQ(OwnerOf(kQueue), "here//crp");
  EXPECT_EQ(TextAt(kQueue, "/metadata/labels/muster.io~1propagated"), "true");
}

TEST_F(ObjectApplyTest, ReportDiff_WritesNothing) {
  Connect();
  ObjectOutcome outcome = Must(QueueOrder("9", kReport));
  EXPECT_EQ(outcome.status.result, R::kFoundDiff);
  EXPECT_EQ(outcome.status.differences,
            (std::vector<Difference>{{"/", std::nullopt, std::string("(the whole object)")}}));
  MakeForeignQueue("1");
  const std::string version = TextAt(kQueue, "/metadata/resourceVersion");
  outcome = Must(QueueOrder("9", kReport));
  EXPECT_EQ(outcome.status.result, R::kFoundDiff);
  EXPECT_EQ(Paths(outcome), (std::vector<std::string>{"/spec/nominalQuota"}));
  ApplyStrategy full = kReport;
  full.full_comparison = true;
  outcome = Must(QueueOrder("9", full));
  EXPECT_EQ(Paths(outcome),
            (std::vector<std::string>{"/metadata/labels/own", "/spec/nominalQuota"}));
  outcome = Must(QueueOrder("1", kReport));
  EXPECT_EQ(outcome.status.result, R::kNoDiffFound);
  EXPECT_EQ(outcome.status.message, "");
  EXPECT_EQ(TextAt(kQueue, "/metadata/resourceVersion"), version);
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "get",
                  .path = "/clusterqueues/cq",
                  .status = 403,
                  .reason = "Forbidden",
                  .message = "no"});
  outcome = Must(QueueOrder("9", kReport));
  EXPECT_EQ(outcome.status.result, R::kFailedToReportDiff);
  EXPECT_EQ(outcome.status.message, "no");
}

class DegradedTest : public ObjectWorld {
 protected:
  static ResourceRef Ref() { return {"apps", "v1", "Deployment", "default", "d"}; }
  // The selector of a Deployment may not change: a dry run with another one is refused.
  static ObjectOrder DeploymentOrder(const std::string& app, ApplyStrategy strategy = {}) {
    return Order(Ref(), R"({"metadata":{"name":"d"},"spec":{"selector":{"app":")" + app + R"("}}})",
                 strategy);
  }
  static constexpr char kPath[] = "/apis/apps/v1/namespaces/default/deployments/d";
};

TEST_F(DegradedTest, WhereADryRunIsRefused_TheTextsAreCompared) {
  Connect();
  MakeForeign("/apis/apps/v1/namespaces/default/deployments",
              R"({"metadata":{"name":"d"},"spec":{"selector":{"app":"a"}}})");
  ObjectOutcome outcome = Must(DeploymentOrder("b", kReport));
  EXPECT_EQ(outcome.status.result, R::kFoundDiffInDegradedMode) << outcome.status.message;
  EXPECT_EQ(Paths(outcome), (std::vector<std::string>{"/spec/replicas", "/spec/selector/app"}));
  outcome = Must(DeploymentOrder("a", IfNotDrifted()));
  ASSERT_EQ(outcome.status.result, R::kApplied) << outcome.status.message;
  // A user deletes it and creates it with another selector.
  member_.Call("DELETE", kPath);
  MakeForeign("/apis/apps/v1/namespaces/default/deployments",
              R"({"metadata":{"name":"d","annotations":{"muster.io/placement":"here//crp"}},
                  "spec":{"selector":{"app":"c"}}})");
  outcome = Must(After(DeploymentOrder("a", IfNotDrifted()), outcome));
  EXPECT_EQ(outcome.status.result, R::kFoundDriftsInDegradedMode) << outcome.status.message;
  const ObjectOutcome refused = Must(After(DeploymentOrder("a"), outcome));
  EXPECT_EQ(refused.status.result, R::kApplyFailed);
  EXPECT_NE(refused.status.message.find("field is immutable"), std::string::npos)
      << refused.status.message;
}

TEST_F(DegradedTest, WhatTheApiServerFilledIn_IsNotWrittenForEver) {
  Connect();
  const ObjectOrder order = DeploymentOrder("a", Kept(ApplyType::kServerSide));
  const ObjectOutcome made = Must(order);
  EXPECT_EQ(made.status.availability, ManifestAvailability::kNotYet);
  Edit(kPath, R"({"spec":{"theirs":"x"}})");
  const int fault = member_.Inject({.kind = FaultKind::kAnswer,
                                    .verb = "patch",
                                    .path = "/deployments/d",
                                    .status = 500,
                                    .message = "failed to create typed patch object (d): .spec.x: "
                                               "field not declared in schema"});
  const std::int64_t patches = Requests("patch deployments");
  const ObjectOutcome again = Must(After(order, made));
  EXPECT_EQ(Requests("patch deployments"), patches + 1) << "the dry run alone";
  EXPECT_EQ(member_.Struck(fault), 1);
  EXPECT_EQ(again.status.result, R::kApplied) << again.status.message;
  EXPECT_FALSE(again.wrote);
}

TEST_F(ObjectApplyTest, FieldsOfOthers_AreTakenOnlyByForce) {
  Connect();
  const ObjectOutcome made = Must(QueueOrder("9", Kept(ApplyType::kServerSide)));
  Edit(kQueue, R"({"spec":{"nominalQuota":"1"}})");
  const ObjectOutcome refused = Must(After(QueueOrder("5", Kept(ApplyType::kServerSide)), made));
  EXPECT_EQ(refused.status.result, R::kApplyFailed);
  EXPECT_NE(refused.status.message.find("conflict with \"kubectl\""), std::string::npos)
      << refused.status.message;
  EXPECT_EQ(refused.status.remote_uid, made.status.remote_uid) << "it is ours all the same";
  EXPECT_EQ(Quota(), "1");
  ApplyStrategy force = Kept(ApplyType::kServerSide);
  force.force_conflicts = true;
  const ObjectOutcome taken = Must(After(QueueOrder("5", force), refused));
  EXPECT_EQ(taken.status.result, R::kApplied) << taken.status.message;
  EXPECT_EQ(Quota(), "5");
}

TEST_F(ObjectApplyTest, WhatMusterAppliedClientSide_IsNoConflictServerSide) {
  Connect();
  const ObjectOutcome made = Must(QueueOrder("9"));
  const ObjectOutcome next = Must(After(QueueOrder("5", Kept(ApplyType::kServerSide)), made));
  EXPECT_EQ(next.status.result, R::kApplied) << next.status.message;
  EXPECT_EQ(Quota(), "5");
}

TEST_F(ObjectApplyTest, SecretsAndLargeObjects_LeaveNoCopyInAnAnnotation) {
  Connect();
  const ResourceRef secret{"", "v1", "Secret", "default", "s"};
  const char* path = "/api/v1/namespaces/default/secrets/s";
  const auto order = [&](const std::string& value) {
    return Order(secret, R"({"metadata":{"name":"s"},"stringData":{"k":")" + value + R"("}})");
  };
  ObjectOutcome outcome = Must(order("one"));
  ASSERT_EQ(outcome.status.result, R::kApplied) << outcome.status.message;
  EXPECT_FALSE(member_.Object(path)
                   .at("metadata")
                   .at("annotations")
                   .as_object()
                   .contains("muster.io/last-applied"));
  EXPECT_EQ(TextAt(path, "/data/k"), "b25l");
  EXPECT_FALSE(Must(After(order("one"), outcome)).wrote);
  Edit(path, R"({"data":{"k":"dHdv"}})");
  outcome = Must(After(order("one"), outcome));
  EXPECT_EQ(TextAt(path, "/data/k"), "b25l") << "corrected";
  const ResourceRef& ref = secret;
  outcome =
      Must(After(Order(ref, R"({"metadata":{"name":"s"},"stringData":{"l":"one"}})"), outcome));
  EXPECT_EQ(json::serialize(member_.Object(path).at("data")), R"({"l":"b25l"})");
  const ObjectOutcome large = Must(ConfigOrder(std::string(300'000, 'x')));
  ASSERT_EQ(large.status.result, R::kApplied) << large.status.message;
  EXPECT_FALSE(member_.Object(kConfig)
                   .at("metadata")
                   .at("annotations")
                   .as_object()
                   .contains("muster.io/last-applied"));
  EXPECT_EQ(Must(After(ConfigOrder("small"), large)).status.result, R::kApplied);
  EXPECT_EQ(TextAt(kConfig, "/data/k"), "small");
  const ObjectOutcome half = Must(After(ConfigOrder(std::string(150'000, 'x')), large));
  EXPECT_FALSE(Must(After(ConfigOrder(std::string(150'000, 'x')), half)).wrote);
  EXPECT_TRUE(member_.Object(kConfig)
                  .at("metadata")
                  .at("annotations")
                  .as_object()
                  .contains("muster.io/last-applied"))
      << "its own copy does not make it too large";
}

TEST_F(ObjectApplyTest, WhatALargeObjectHadAndASmallOneHasNot_Goes) {
  Connect();
  const ResourceRef ref{"", "v1", "ConfigMap", "default", "m"};
  const char* path = "/api/v1/namespaces/default/configmaps/m";
  const auto order = [&](const std::string& data) {
    return Order(ref, R"({"metadata":{"name":"m"},"data":{)" + data + "}}");
  };
  const std::string large = R"("k":"1","l":")" + std::string(300'000, 'x') + R"(")";
  ObjectOutcome outcome = Must(order(large));
  ASSERT_EQ(outcome.status.result, R::kApplied) << outcome.status.message;
  Edit(path, R"({"data":{"of-others":"1"}})");
  outcome = Must(After(order(R"("k":"2","m":"2")"), outcome));
  EXPECT_EQ(json::serialize(member_.Object(path).at("data")),
            R"({"k":"2","of-others":"1","m":"2"})");
  outcome = Must(After(order(R"("k":"3")"), outcome));
  EXPECT_EQ(json::serialize(member_.Object(path).at("data")), R"({"k":"3","of-others":"1"})");
}

TEST_F(ObjectApplyTest, WhatTheMemberCannotHave_IsRefusedWithASentence) {
  struct Case {
    const char* name;
    ResourceRef ref;
    const char* sentence;
  };
  const Case cases[] = {
      {"a group that is not served",
       {"x.io", "v1", "Widget", "", "w"},
       "the member does not serve Widget of x.io/v1"},
      {"a version that is not served",
       {"kueue.x-k8s.io", "v9", "ClusterQueue", "", "w"},
       "the member does not serve ClusterQueue of kueue.x-k8s.io/v9"},
      {"a kind that is not served",
       {"", "v1", "Widget", "", "w"},
       "the member does not serve Widget of v1"},
      {"no namespace",
       {"", "v1", "ConfigMap", "", "w"},
       "ConfigMap is namespaced there, and the manifest names no namespace"},
      {"a namespace too many",
       {"kueue.x-k8s.io", "v1beta1", "Cohort", "n", "w"},
       "Cohort is cluster-scoped there, and the manifest names a namespace"},
      {"a namespace that is not there",
       {"", "v1", "ConfigMap", "nowhere", "w"},
       "namespace nowhere does not exist there"},
  };
  Connect();
  for (const Case& one : cases) {
    const ObjectOutcome outcome = Must(Order(one.ref, R"({"data":{"k":"v"}})"));
    EXPECT_EQ(outcome.status.result, R::kApplyFailed) << one.name;
    EXPECT_EQ(outcome.status.message, one.sentence) << one.name;
    EXPECT_FALSE(outcome.wrote) << one.name;
  }
  EXPECT_EQ(StatusOf("/api/v1/namespaces/nowhere"), 404);
  EXPECT_EQ(Must(Order(ConfigRef(), "[]")).status.message, "its manifest cannot be read");
}

TEST_F(ObjectApplyTest, AKindThatComesAndGoes_IsNoticed) {
  Connect();
  const ObjectOrder order = QueueOrder("9");
  const ObjectOutcome made = Must(order);
  ASSERT_EQ(made.status.result, R::kApplied);
  member_.SetInstalled("clusterqueues", false);
  const ObjectOutcome gone = Must(After(order, made));
  EXPECT_EQ(gone.status.result, R::kApplyFailed);
  EXPECT_EQ(gone.status.message,
            "the member does not serve ClusterQueue of kueue.x-k8s.io/v1beta1");
  const std::int64_t asked = member_.counts().requests.size();
  Must(After(order, gone));
  EXPECT_EQ(static_cast<std::int64_t>(member_.counts().requests.size()), asked)
      << "not asked again at once";
}

TEST_F(ObjectApplyTest, WhatTheApiServerRefuses_IsItsWord_AndWhatItDoesNotSay_IsTriedAgain) {
  struct Case {
    const char* name;
    int status;
    const char* reason;
    bool refused;
  };
  const Case cases[] = {
      {"forbidden", 403, "Forbidden", true},
      {"invalid", 422, "Invalid", true},
      {"a webhook that cannot be called", 500, "InternalError", true},
      {"a database that is slow", 500, "", false},
      {"no leader", 503, "ServiceUnavailable", false},
  };
  Connect();
  for (const Case& one : cases) {
    member_.ClearFaults();
    member_.Inject({.kind = FaultKind::kAnswer,
                    .verb = "create",
                    .path = "/clusterqueues",
                    .times = -1,
                    .status = one.status,
                    .reason = one.reason,
                    .message = "because"});
    const auto outcome = Apply(QueueOrder("9"));
    ASSERT_EQ(outcome.ok(), one.refused) << one.name;
    if (!one.refused) {
      EXPECT_EQ(outcome.error().code, Code::kUnknown) << one.name;
      EXPECT_EQ(outcome.error().detail, "because") << one.name;
      continue;
    }
    EXPECT_EQ(outcome->status.result, R::kApplyFailed) << one.name;
    EXPECT_EQ(outcome->status.message, "because") << one.name;
  }
  EXPECT_EQ(StatusOf(kQueue), 404);
}

TEST_F(ObjectApplyTest, WhatIsBeingDeleted_IsLeftToGo) {
  Connect();
  MakeForeignQueue("1");
  Edit(kQueue, R"({"metadata":{"finalizers":["a.io/held"]}})");
  member_.Call("DELETE", kQueue);
  const ObjectOutcome outcome = Must(QueueOrder("9"));
  EXPECT_EQ(outcome.status.result, R::kApplyFailed);
  EXPECT_EQ(outcome.status.message, "it is being deleted there; it is made again when it is gone");
}

TEST_F(ObjectApplyTest, AMemberThatTakesTheMarksOff_IsTold) {
  Connect();
  member_.Inject({.kind = FaultKind::kMutate,
                  .verb = "create",
                  .path = "/clusterqueues",
                  .times = -1,
                  .patch = json::array{{{"op", "remove"}, {"path", "/metadata/annotations"}}}});
  const ObjectOutcome outcome = Must(QueueOrder("9"));
  EXPECT_EQ(outcome.status.result, R::kApplyFailed);
  EXPECT_EQ(outcome.status.message, "the member removes Muster's marks from what is written there");
  EXPECT_EQ(outcome.status.remote_uid, TextAt(kQueue, "/metadata/uid"));
}

TEST_F(ObjectApplyTest, AMemberThatIsAway_IsUnavailable) {
  Connect();
  member_.Stop();
  const auto outcome = Apply(QueueOrder("9"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
  EXPECT_TRUE(objects().TakesObjects("m"));
  EXPECT_FALSE(objects().TakesObjects("another"));
  member_.Start();
}

}  // namespace
}  // namespace muster::k8s
