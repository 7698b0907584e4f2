// Ensure on a Kubernetes member: jobs that are created, adopted, replaced, released, resized,
// refused.
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

class EnsureTest : public BackendWorld {};

TEST_F(EnsureTest, MakesItSuspended_WithOurFinalizerAndSequence_AndNothingRuns) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_TRUE(made->suspended);
  EXPECT_EQ(made->incarnation, member_.incarnation());
  const std::string job = std::string(kJobs) + "/work";
  EXPECT_EQ(TextAt(job, "/metadata/uid"), made->remote_uid);
  EXPECT_EQ(TextAt(job, "/metadata/finalizers/0"), kRecordFinalizer);
  EXPECT_EQ(TextAt(job, "/metadata/annotations/muster.io~1dispatch-sequence"), "7");
  EXPECT_TRUE(IsSuspended());
  EXPECT_TRUE(member_.ActivePods(key.job_uid.ToString(), 1).empty());
  EXPECT_EQ(sink_.recording.AwaitPhase(key, RemotePhase::kSuspended).sequence, 7);
}

TEST_F(EnsureTest, ReleasesOnlyTheObjectOfTheExpectedUid) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = "00000000-0000-4000-8000-000000000000";
  const auto other = Ensure(release);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kNotFound);
  EXPECT_TRUE(IsSuspended());
  release.expected_uid = made->remote_uid;
  ASSERT_TRUE(Ensure(release).ok());
  const Observation end = sink_.recording.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(end.held);
  EXPECT_TRUE(Ensure(release).ok()) << "a release that comes again is none";
}

class BlindEnsureTest : public EnsureTest {
 protected:
  // From here on no watch reports Jobs: writes after a creation are not seen.
  void StopWatches() {
    member_.Inject({.kind = FaultKind::kStall, .verb = "watch", .path = "/jobs", .times = -1});
    member_.CloseWatches();
  }
  std::int64_t Requests(const char* what) { return member_.counts().requests[what]; }
};

TEST_F(BlindEnsureTest, WhatAControllerSaysInTheStatus_DoesNotHinderARelease) {
  Connect();
  StopWatches();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));  // its controller has reported Suspended by now
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  ASSERT_TRUE(Ensure(release).ok());
  EXPECT_FALSE(IsSuspended());
  EXPECT_EQ(Requests("patch jobs"), 1);
  EXPECT_EQ(Requests("get jobs"), 0);
}

TEST_F(BlindEnsureTest, WhatSomebodyChangedInTheSpec_IsLookedAtBeforeItIsReleased) {
  Connect();
  StopWatches();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  const std::string patch = R"({"spec":{"backoffLimit":3}})";
  ASSERT_TRUE(
      member_.Call("PATCH", std::string(kJobs) + "/work", patch, "application/merge-patch+json")
          .ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  ASSERT_TRUE(Ensure(release).ok());
  EXPECT_FALSE(IsSuspended());
  EXPECT_EQ(Requests("patch jobs"), 2) << "the first was refused";
  EXPECT_EQ(Requests("get jobs"), 1);
}

TEST_F(EnsureTest, AnAnswerThatIsLost_IsLookedUp_AndWhatWasMadeIsAdopted) {
  Connect();
  member_.Inject({.kind = FaultKind::kDropAnswer, .verb = "create", .path = "/jobs"});
  const auto made = Ensure(JobOf(Key(), true));
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_EQ(made->remote_uid, TextAt(std::string(kJobs) + "/work", "/metadata/uid"));
}

TEST_F(EnsureTest, AGatewayThatGivesUp_IsLookedUpToo) {
  Connect();
  member_.Inject({.kind = FaultKind::kGatewayTimeout, .verb = "create", .path = "/jobs"});
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
}

TEST_F(EnsureTest, AForeignObjectOfTheName_Survives) {
  Connect();
  member_.Call("POST", kJobs,
               R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"work"},"spec":{
               "suspend":true,"template":{"spec":{"restartPolicy":"Never",
               "containers":[{"name":"c","image":"i"}]}}}})");
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kAlreadyExists);
  EXPECT_FALSE(Remove(key, At("work"))->existed);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 200);
}

TEST_F(EnsureTest, LabelsAloneAreNoProof_ACopyByAUserIsForeign) {
  Connect();
  const DispatchKey key = Key();
  member_.Call("POST", kJobs, JobOf(key, true).object.json);
  const auto made = Ensure(JobOf(key, true));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kAlreadyExists);
}

TEST_F(EnsureTest, AnEarlierAttemptGoesFirst_ALaterOneMakesUsStale) {
  Connect();
  DispatchKey first = Key();
  DispatchKey second = first;
  second.attempt = 2;
  const auto one = Run(first, {});
  ASSERT_TRUE(one.ok());
  const auto two = Ensure(JobOf(second, true));
  ASSERT_TRUE(two.ok()) << two.error().detail;
  EXPECT_NE(one->remote_uid, two->remote_uid);
  EXPECT_TRUE(member_.ActivePods(first.job_uid.ToString(), 1).empty());
  const auto stale = Ensure(JobOf(first, true));
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, Code::kAborted);
}

TEST_F(EnsureTest, AMissingNamespaceIsMade) {
  Connect();
  DispatchOrder order = JobOf(Key(), true);
  order.object.ns = "new";
  const auto at = order.object.json.find("\"default\"");
  order.object.json.replace(at, 9, "\"new\"");
  ASSERT_TRUE(Ensure(order).ok());
  EXPECT_EQ(StatusOf("/apis/batch/v1/namespaces/new/jobs/work"), 200);
}

TEST_F(EnsureTest, DependentsComeBeforeTheRelease_AndBelongToTheObject) {
  Connect();
  const DispatchKey key = Key();
  DispatchOrder order = JobOf(key, true, {});
  order.dependents = {ConfigMapOf("script", "one")};
  const auto made = Ensure(order);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(StatusOf("/api/v1/namespaces/default/configmaps/script"), 404)
      << "nothing but the object before its uid is on record";
  order.suspended = false;
  order.object.json = JobOf(key, false, {}).object.json;
  order.expected_uid = made->remote_uid;
  ASSERT_TRUE(Ensure(order).ok());
  EXPECT_EQ(
      TextAt("/api/v1/namespaces/default/configmaps/script", "/metadata/ownerReferences/0/uid"),
      made->remote_uid);
  ASSERT_TRUE(Remove(key, At("work", made->remote_uid)).ok());
  EXPECT_EQ(StatusOf("/api/v1/namespaces/default/configmaps/script"), 404);
}

TEST_F(EnsureTest, AForeignConfigMapWithOtherContent_IsNotTouched_AndNothingRuns) {
  Connect();
  member_.Call("POST", "/api/v1/namespaces/default/configmaps", ConfigMapOf("script", "x").json);
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  release.dependents = {ConfigMapOf("script", "ours")};
  const auto refused = Ensure(release);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_NE(refused.error().detail.find("ConfigMap default/script"), std::string::npos);
  EXPECT_TRUE(IsSuspended());
  release.dependents = {ConfigMapOf("script", "x")};
  EXPECT_TRUE(Ensure(release).ok()) << "the same content is as good as ours";
}

TEST_F(EnsureTest, AConfigMapOfTwoJobs_OutlivesTheFirst) {
  Connect();
  std::vector<std::string> uids;
  std::vector<DispatchKey> keys{Key(), Key()};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string name = "work" + std::to_string(i);
    const auto made = Ensure(JobOf(keys[i], true, {}, name));
    ASSERT_TRUE(made.ok());
    DispatchOrder release = JobOf(keys[i], false, {}, name);
    release.expected_uid = made->remote_uid;
    release.dependents = {ConfigMapOf("shared", "v")};
    ASSERT_TRUE(Ensure(release).ok());
    uids.push_back(made->remote_uid);
  }
  for (const std::string& uid : uids) {
    const json::object map = member_.Object("/api/v1/namespaces/default/configmaps/shared");
    EXPECT_NE(json::serialize(map.at("metadata").at("ownerReferences")).find(uid),
              std::string::npos);
  }
  ASSERT_TRUE(Remove(keys[0], At("work0", uids[0])).ok());
  EXPECT_EQ(StatusOf("/api/v1/namespaces/default/configmaps/shared"), 200);
  ASSERT_TRUE(Remove(keys[1], At("work1", uids[1])).ok());
  EXPECT_EQ(StatusOf("/api/v1/namespaces/default/configmaps/shared"), 404);
}

TEST_F(EnsureTest, AWebhookThatTakesOurLabels_IsAReasonToRefuse_AndNothingIsLeft) {
  Connect();
  member_.Inject({.kind = FaultKind::kMutate,
                  .verb = "create",
                  .path = "/jobs",
                  .patch = {{{"op", "remove"}, {"path", "/metadata/labels"}}}});
  const auto made = Ensure(JobOf(Key(), true));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404);
}

TEST_F(EnsureTest, WhatTheMemberRefuses_IsToldInItsWords) {
  Connect();
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "create",
                  .path = "/jobs",
                  .status = 422,
                  .reason = "Invalid",
                  .message = "Job.batch \"work\" is invalid: spec: no"});
  const auto made = Ensure(JobOf(Key(), true));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  EXPECT_NE(made.error().detail.find("spec: no"), std::string::npos);
}

TEST_F(EnsureTest, WhatTheMemberRefusesForNow_MayBeTakenLater) {
  struct {
    int status;
    const char* reason;
    const char* message;
    Code code;
  } const kCases[] = {
      {403, "Forbidden", "is forbidden: exceeded quota: q", Code::kUnavailable},
      {403, "Forbidden", "is forbidden: status unknown for quota: q", Code::kUnavailable},
      {403, "Forbidden", "is forbidden: not yet ready to handle request", Code::kUnavailable},
      {403, "Forbidden", "is forbidden: namespace x is being terminated", Code::kUnavailable},
      {409, "Conflict", "Operation cannot be fulfilled on resourcequotas \"q\"",
       Code::kUnavailable},
      {403, "Forbidden", "is forbidden: no", Code::kPermissionDenied},
  };
  Connect();
  for (const auto& one : kCases) {
    member_.Inject({.kind = FaultKind::kAnswer,
                    .verb = "create",
                    .path = "/jobs",
                    .status = one.status,
                    .reason = one.reason,
                    .message = std::string("jobs.batch \"work\": ") + one.message});
    const auto made = Ensure(JobOf(Key(), true));
    ASSERT_FALSE(made.ok()) << one.message;
    EXPECT_EQ(made.error().code, one.code) << one.message;
  }
}

TEST_F(EnsureTest, AResizeThatTheMemberRefuses_IsRefusedAtOnce) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Run(key, {});
  ASSERT_TRUE(made.ok());
  DispatchOrder resize = JobOf(key, false, {});
  json::value object = json::parse(resize.object.json);
  object.at("spec").as_object()["parallelism"] = 3;
  resize.object.json = json::serialize(object);
  resize.expected_uid = made->remote_uid;
  resize.scale = 9;
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "patch",
                  .path = "/jobs/work",
                  .times = -1,
                  .status = 422,
                  .reason = "Invalid",
                  .message = "ValidatingAdmissionPolicy 'few' denied it"});
  const auto refused = Ensure(resize);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().detail.find("denied it"), std::string::npos);
}

TEST_F(EnsureTest, AKindThatIsNotInstalled_IsRefusedInASentence_AndOthersWork) {
  member_.SetInstalled("jobsets", false);
  Connect();
  DispatchOrder order = JobOf(Key(), true);
  order.object.api_version = "jobset.x-k8s.io/v1alpha2";
  order.object.kind = "JobSet";
  const auto made = Ensure(order);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kFailedPrecondition);
  EXPECT_NE(made.error().detail.find("JobSet"), std::string::npos);
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
}

TEST_F(EnsureTest, OnTheFastPath_OneCreateMakesItRun) {
  fast_ = true;
  Connect();
  EXPECT_FALSE(backend_->CreatesSuspended("m"));
  const DispatchKey key = Key();
  DispatchOrder order = JobOf(key, false);
  order.dependents = {ConfigMapOf("script", "one")};
  const auto made = Ensure(order);
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_FALSE(made->suspended);
  EXPECT_EQ(sink_.recording.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(
      TextAt("/api/v1/namespaces/default/configmaps/script", "/metadata/ownerReferences/0/uid"),
      made->remote_uid);
}

class LedEnsureTest : public EnsureTest {
 protected:
  LedEnsureTest() {
    lead_ = std::make_shared<LeadTerm>(clock_, 3600 * kNanosPerSecond);
    lead_->Begin(Epoch{1}, clock_.Now(), clock_.Now());
  }
  std::int64_t Writes() {
    const auto requests = member_.counts().requests;
    std::int64_t writes = 0;
    for (const auto& [what, count] : requests) {
      const bool reads =
          what.starts_with("get") || what.starts_with("list") || what.starts_with("watch");
      if (!reads) writes += count;
    }
    return writes;
  }
};

TEST_F(LedEnsureTest, AReleaseThatIsUnderWayWhenTheLeadEndsIsNotSent) {
  Connect();
  const DispatchKey key = Key();
  DispatchOrder order = JobOf(key, true);
  order.permit = lead_->Current();
  const auto made = Ensure(order);
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  release.permit = order.permit;
  lead_->End();
  const auto refused = Ensure(release);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(IsSuspended());
}

TEST_F(LedEnsureTest, WithoutTheLeadNothingIsWrittenThere_NeitherMadeNorRemovedNorLetGo) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  const std::int64_t before = Writes();
  lead_->End();
  DispatchOrder other = JobOf(Key(), false, {}, "other");
  other.dependents = {ConfigMapOf("settings", "v")};
  EXPECT_EQ(Ensure(other).error().code, Code::kUnavailable);
  EXPECT_EQ(Remove(key, At("work", made->remote_uid)).error().code, Code::kUnavailable);
  EXPECT_EQ(Acknowledge(key, made->remote_uid).error().code, Code::kUnavailable);
  EXPECT_EQ(Writes(), before);
  EXPECT_EQ(List().size(), 1u) << "reading is everybody's";
}

}  // namespace
}  // namespace muster::k8s
