// What a 403 means: the member's user may not do such a thing, or the member refuses the object.
#include <gmock/gmock.h>

#include <functional>

#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

using ::testing::HasSubstr;

constexpr char kReviews[] = "/selfsubjectaccessreviews";

class RightsTest : public BackendWorld {
 protected:
  void ConnectHere() {
    Connect();
    // What is missing is asked about again with each probe.
    backend_->SetHeartbeat("m", 1);
  }
  ClusterFacts AwaitHealthy(bool healthy) {
    return sink_.AwaitFacts(
        [healthy](const ClusterFacts& facts) { return facts.healthy == healthy; });
  }
  void RefuseCreation() {
    member_.Inject({.kind = FaultKind::kAnswer,
                    .verb = "create",
                    .path = "/jobs",
                    .status = 403,
                    .reason = "Forbidden",
                    .message = "jobs.batch \"work\" is forbidden: violates PodSecurity"});
  }
  Code CodeOf(const DispatchOrder& order) {
    const auto made = Ensure(order);
    return made.ok() ? Code::kOk : made.error().code;
  }
  static DispatchOrder InNewNamespace(const DispatchKey& key) {
    DispatchOrder order = JobOf(key, true);
    json::value object = json::parse(order.object.json);
    object.at("metadata").as_object()["namespace"] = "new";
    order.object.json = json::serialize(object);
    order.object.ns = "new";
    return order;
  }
};

TEST_F(RightsTest, WhatTheUserMayNotDo_IsNoRefusalOfTheJob_AndKeepsOthersAwayUntilItMay) {
  const struct {
    const char* what;
    const char *verb, *resource, *ns;
    std::function<DispatchOrder(const DispatchKey&)> order;
    const char* sentence;
  } kCases[] =
      {
          {"creating the object", "create", "jobs.batch", "default",
           [](const DispatchKey& key) { return JobOf(key, true); },
           "lacks permissions there: create of jobs.batch in namespace default"},
          {"creating it anywhere", "create", "jobs.batch", "",
           [](const DispatchKey& key) { return JobOf(key, true); },
           "lacks permissions there: create of jobs.batch in namespace default"},
          {"releasing it", "patch", "jobs.batch", "default",
           [this](const DispatchKey& key) {
    const auto made = Ensure(JobOf(key, true));
    EXPECT_TRUE(made.ok());
    DispatchOrder release = JobOf(key, false);
    release.expected_uid = made->remote_uid;
    return release;
           },
           "lacks permissions there: patch of jobs.batch in namespace default"},
          {"creating a dependent", "create", "configmaps", "default",
           [](const DispatchKey& key) {
    DispatchOrder order = JobOf(key, false);
    order.dependents = {ConfigMapOf("fresh", "1")};
    return order;
           },
           "lacks permissions there: create of configmaps in namespace default"},
    {"reading a dependent that is there", "get", "configmaps", "default",
     [this](const DispatchKey& key) {
    const ManifestText there = ConfigMapOf("there", "1");
    member_.Call("POST", "/api/v1/namespaces/default/configmaps", there.json);
    DispatchOrder order = JobOf(key, false);
    order.dependents = {there};
    return order;
     },
     "lacks permissions there: get of configmaps in namespace default"},
      {"creating its namespace", "create", "namespaces", "",
       [](const DispatchKey& key) { return InNewNamespace(key); },
       "lacks permissions there: create of namespaces"},
      };
  ConnectHere();
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.what);
    const DispatchKey key = Key();
    const DispatchOrder order = one.order(key);
    member_.SetRight(one.verb, one.resource, one.ns, false);
    const auto refused = Ensure(order);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_THAT(refused.error().detail, HasSubstr("member cluster m: Muster's user lacks"));
    EXPECT_THAT(refused.error().detail, HasSubstr(one.sentence));
    const ClusterFacts closed = AwaitHealthy(false);
    EXPECT_TRUE(closed.answers) << "what runs there is not lost";
    EXPECT_THAT(closed.message, HasSubstr(one.sentence));
    EXPECT_EQ(CodeOf(order), Code::kUnavailable) << "the second one is judged the same";
    member_.SetRight(one.verb, one.resource, one.ns, true);
    AwaitHealthy(true);
    EXPECT_EQ(CodeOf(order), Code::kOk);
    EXPECT_TRUE(Remove(key, At("work")).ok());
    member_.Call("DELETE", std::string(kJobs) + "/work");
  }
}

TEST_F(RightsTest, WhatIsRefusedThoughTheUserMayDoIt_IsTheJobsOwn_AndTheMemberStaysHealthy) {
  const struct {
    const char* what;
    int review;  // the status of the answer about the right; 0: it is answered
    Code code;
  } kCases[] = {
      {"the user may", 0, Code::kPermissionDenied},
      {"the member does not tell", 403, Code::kPermissionDenied},
      {"the question fails", 500, Code::kUnavailable},
  };
  ConnectHere();
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.what);
    RefuseCreation();
    if (one.review != 0) {
      member_.Inject({.kind = FaultKind::kAnswer,
                      .path = kReviews,
                      .status = one.review,
                      .reason = "Forbidden",
                      .message = "no"});
    }
    const auto refused = Ensure(JobOf(Key(), true));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, one.code);
    EXPECT_THAT(refused.error().detail, HasSubstr("violates PodSecurity"));
    EXPECT_TRUE(AwaitHealthy(true).healthy);
  }
}

TEST_F(RightsTest, AReleaseWithoutAnAnswerStaysUnknown_WhileTheObjectMayNotBeRead) {
  ConnectHere();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  member_.SetRight("get", "jobs.batch", "", false);
  member_.Inject({.kind = FaultKind::kDropAnswer, .verb = "patch", .path = "/jobs/work"});
  EXPECT_EQ(CodeOf(release), Code::kUnknown);
  EXPECT_FALSE(IsSuspended()) << "it was carried out";
  AwaitHealthy(false);
  member_.SetRight("get", "jobs.batch", "", true);
  AwaitHealthy(true);
  EXPECT_EQ(CodeOf(release), Code::kOk);
}

TEST_F(RightsTest, ACreationWithoutAnAnswerStaysUnknown_WhileTheObjectMayNotBeRead) {
  ConnectHere();
  const DispatchOrder order = JobOf(Key(), true);
  member_.SetRight("get", "jobs.batch", "", false);
  member_.Inject({.kind = FaultKind::kDropAnswer, .verb = "create", .path = "/jobs"});
  EXPECT_EQ(CodeOf(order), Code::kUnknown);
  AwaitHealthy(false);
  member_.SetRight("get", "jobs.batch", "", true);
  AwaitHealthy(true);
  EXPECT_EQ(CodeOf(order), Code::kOk);
}

}  // namespace
}  // namespace muster::k8s
