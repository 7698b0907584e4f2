// Copies of jobs in the queue of a member that runs Kueue, and the release of a job that such a
// queue has admitted.
#include <gmock/gmock.h>

#include "backends/member_queues.h"
#include "schedd/model/member_queues.h"
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

using ::testing::HasSubstr;

constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads";

class CopiesTest : public BackendWorld {
 protected:
  MemberQueues& queues() { return dynamic_cast<MemberQueues&>(*backend_); }

  CopyOrder OrderOf(const DispatchKey& key) {
    CopyOrder order;
    order.key = key;
    order.ns = "default";
    order.local_queue = "lq";
    order.priority = 5;
    order.object = JobOf(key, true).object;
    order.pod_sets_of = [this](const std::string& completed) -> Result<std::vector<CopyPodSet>> {
      completed_ = completed;
      return std::vector<CopyPodSet>{{"main", 2, R"({"spec":{"containers":[{"name":"main"}]}})"}};
    };
    return order;
  }
  Result<Done> EnsureCopy(const CopyOrder& order) {
    return muster::testing::Wait<Done>(
        [&](Callback<Done> done) { queues().EnsureCopy(order, std::move(done)); });
  }
  Result<std::vector<MemberCopy>> ListCopies() {
    return muster::testing::Wait<std::vector<MemberCopy>>(
        [&](Callback<std::vector<MemberCopy>> done) { queues().ListCopies("m", std::move(done)); });
  }
  Result<Done> RemoveCopy(const std::string& name, const std::string& uid) {
    return muster::testing::Wait<Done>([&](Callback<Done> done) {
      queues().RemoveCopy({"m", "default", name, uid}, std::move(done));
    });
  }
  static std::string PathOf(const DispatchKey& key) {
    return std::string(kWorkloads) + "/" + CopyName(key.job_uid, key.attempt);
  }

  std::string completed_;
};

TEST_F(CopiesTest, ACopyIsAWorkloadWithThePodSetsOfTheJobAsTheMemberCompletesIt) {
  Connect();
  const DispatchKey key = Key();
  const auto made = EnsureCopy(OrderOf(key));
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_THAT(completed_, HasSubstr("\"uid\"")) << "its API server has answered it";
  const auto answered = ParseJson(completed_);
  ASSERT_TRUE(answered.ok());
  EXPECT_LE(answered->at_pointer("/metadata/name").as_string().size(), 12u)
      << "names of pods are made of it";
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404) << "nothing of the job is made";
  const json::value copy(member_.Object(PathOf(key)));
  EXPECT_EQ(copy.at_pointer("/spec/queueName").as_string(), "lq");
  EXPECT_EQ(copy.at_pointer("/spec/priority").as_int64(), 5);
  EXPECT_EQ(copy.at_pointer("/spec/active").as_bool(), true);
  EXPECT_EQ(copy.at_pointer("/spec/podSets/0/name").as_string(), "main");
  EXPECT_EQ(copy.at_pointer("/spec/podSets/0/count").as_int64(), 2);
  EXPECT_EQ(copy.at_pointer("/metadata/labels/kueue.x-k8s.io~1multikueue-origin").as_string(),
            kInstance);
  EXPECT_TRUE(EnsureCopy(OrderOf(key)).ok()) << "asked again, it is there";
  const auto listed = ListCopies();
  ASSERT_TRUE(listed.ok()) << listed.error().detail;
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ((*listed)[0].key, key);
  EXPECT_FALSE((*listed)[0].admitted);
}

TEST_F(CopiesTest, WhatTheMembersQueueSaysIsRead) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(EnsureCopy(OrderOf(key)).ok());
  member_.SetStatus(PathOf(key),
                    R"({"conditions":[{"type":"QuotaReserved","status":"False",
                        "message":"couldn't assign flavors to pod set main"}]})");
  auto listed = ListCopies();
  ASSERT_TRUE(listed.ok() && listed->size() == 1u);
  EXPECT_EQ((*listed)[0].message, "couldn't assign flavors to pod set main");
  member_.SetStatus(PathOf(key),
                    R"({"conditions":[{"type":"QuotaReserved","status":"True"},
                        {"type":"Admitted","status":"True",
                         "lastTransitionTime":"2026-01-01T00:00:00Z"}]})");
  listed = ListCopies();
  ASSERT_TRUE(listed.ok() && listed->size() == 1u);
  EXPECT_TRUE((*listed)[0].admitted);
  EXPECT_TRUE((*listed)[0].admitted_since.set());
  member_.SetStatus(PathOf(key),
                    R"({"conditions":[{"type":"Admitted","status":"False"},
                        {"type":"Evicted","status":"True","message":"Preempted"}]})");
  listed = ListCopies();
  ASSERT_TRUE(listed.ok() && listed->size() == 1u);
  EXPECT_FALSE((*listed)[0].admitted);
  EXPECT_TRUE((*listed)[0].evicted);
  EXPECT_EQ((*listed)[0].message, "Preempted");
}

TEST_F(CopiesTest, AWorkloadOfTheNameThatIsNotOursIsNeitherTakenNorRemoved) {
  Connect();
  const DispatchKey key = Key();
  const std::string name = CopyName(key.job_uid, key.attempt);
  const auto foreign = member_.Call(
      "POST", kWorkloads,
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"name":")" + name +
          R"("},"spec":{}})");
  ASSERT_TRUE(foreign.ok()) << foreign.body;
  const auto refused = EnsureCopy(OrderOf(key));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  const auto listed = ListCopies();
  ASSERT_TRUE(listed.ok());
  EXPECT_TRUE(listed->empty());
  EXPECT_TRUE(RemoveCopy(name, "00000000-0000-4000-8000-000000000000").ok());
  EXPECT_EQ(StatusOf(PathOf(key)), 200);
}

TEST_F(CopiesTest, ACopyIsRemovedByItsUidAndTwiceIsFine) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(EnsureCopy(OrderOf(key)).ok());
  const std::string uid = TextAt(PathOf(key), "/metadata/uid");
  ASSERT_TRUE(RemoveCopy(CopyName(key.job_uid, key.attempt), uid).ok());
  EXPECT_EQ(StatusOf(PathOf(key)), 404);
  EXPECT_TRUE(RemoveCopy(CopyName(key.job_uid, key.attempt), uid).ok());
}

TEST_F(CopiesTest, AMemberWithoutKueueRunsNoQueueUntilItIsInstalled) {
  member_.SetInstalled("workloads", false);
  Connect();
  const auto listed = ListCopies();
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(queues().RunsQueue("m"));
  EXPECT_FALSE(queues().RunsQueue("unknown"));
  const auto refused = EnsureCopy(OrderOf(Key()));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().detail, HasSubstr("runs no queue of its own"));
  member_.SetInstalled("workloads", true);
  EXPECT_TRUE(ListCopies().ok());
  EXPECT_TRUE(queues().RunsQueue("m"));
  // Jobs need the version that was served. That one version is not served says nothing about
  // another.
  member_.SetInstalled("workloads", false);
  const auto unsure = ListCopies();
  ASSERT_FALSE(unsure.ok());
  EXPECT_EQ(unsure.error().code, Code::kUnavailable);
  const auto gone = ListCopies();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kFailedPrecondition);
}

TEST_F(CopiesTest, ANamespaceThatIsMissingIsMade) {
  Connect();
  const DispatchKey key = Key();
  CopyOrder order = OrderOf(key);
  order.ns = "team";
  order.object.ns = "team";
  const std::string before = "\"namespace\":\"default\"";
  order.object.json.replace(order.object.json.find(before), before.size(),
                            "\"namespace\":\"team\"");
  const auto made = EnsureCopy(order);
  ASSERT_TRUE(made.ok()) << made.error().detail;
  EXPECT_EQ(StatusOf("/api/v1/namespaces/team"), 200);
}

TEST_F(CopiesTest, AReleaseLeavesTheSuspensionToTheMembersQueue) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  DispatchOrder release = JobOf(key, false);
  release.expected_uid = made->remote_uid;
  release.member_queue = {"lq", CopyName(key.job_uid, key.attempt)};
  ASSERT_TRUE(Ensure(release).ok());
  EXPECT_TRUE(IsSuspended());
  const std::string job = std::string(kJobs) + "/work";
  EXPECT_EQ(TextAt(job, "/metadata/labels/kueue.x-k8s.io~1queue-name"), "lq");
  EXPECT_EQ(TextAt(job, "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name"),
            CopyName(key.job_uid, key.attempt));
  EXPECT_EQ(TextAt(job, "/metadata/annotations/muster.io~1released"), "true");
  ASSERT_TRUE(Ensure(release).ok()) << "asked again";
  EXPECT_TRUE(IsSuspended());
  EXPECT_TRUE(member_.ActivePods(key.job_uid.ToString(), 1).empty());
  // Its queue admits it.
  ASSERT_TRUE(
      member_.Call("PATCH", job, R"({"spec":{"suspend":false}})", "application/merge-patch+json")
          .ok());
  EXPECT_EQ(sink_.recording.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

}  // namespace
}  // namespace muster::k8s
