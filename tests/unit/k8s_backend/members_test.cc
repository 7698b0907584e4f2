// Members that are added and removed while the backend runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MembersTest : public BackendWorld {
 protected:
  MembersTest() {
    KubernetesOptions options;
    options.instance_id = kInstance;
    options.clock = &clock_;
    options.timers = &timers_;
    options.random = &random_;
    auto made = MakeKubernetesBackend(std::move(options));
    members_ = made.get();
    backend_ = std::move(made);
    backend_->Start(sink_);
  }
  MemberOptions Registered() const {
    MemberOptions options;
    options.name = "m";
    options.kubeconfig = kubeconfig_;
    options.registered = true;
    return options;
  }
  void AwaitHealthy(bool healthy) {
    sink_.AwaitFacts([healthy](const ClusterFacts& facts) { return facts.healthy == healthy; });
  }

  KubernetesMembers* members_ = nullptr;
};

TEST_F(MembersTest, OneThatIsAddedRunsJobsUntilItIsDropped) {
  EXPECT_THAT(backend_->Clusters(), IsEmpty());
  EXPECT_EQ(Ensure(JobOf(Key(), true)).error().code, Code::kUnavailable);
  members_->AddMember(Registered());
  AwaitHealthy(true);
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
  members_->DropMember("m");
  EXPECT_THAT(backend_->Clusters(), IsEmpty());
  EXPECT_EQ(Ensure(JobOf(Key(), true, {}, "later")).error().code, Code::kUnavailable);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 200) << "what runs there goes on";
  members_->DropMember("m");
}

TEST_F(MembersTest, AKubeconfigThatGoesIsSaidWithoutItsPathAndComesBack) {
  members_->AddMember(Registered());
  AwaitHealthy(true);
  std::filesystem::remove(kubeconfig_);
  members_->ReloadMember("m");
  AwaitHealthy(false);
  const std::string message = sink_.latest.message;
  EXPECT_THAT(message, HasSubstr("muster.io/kubeconfig-secret"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr(kubeconfig_)));
  WriteKubeconfig(member_.Kubeconfig());
  members_->ReloadMember("m");
  AwaitHealthy(true);
}

TEST_F(MembersTest, WhetherItRunsAQueueIsAskedAnewOfOneThatIsAddedAgain) {
  member_.SetInstalled("workloads", false);
  members_->AddMember(Registered());
  AwaitHealthy(true);
  const auto listed = muster::testing::Wait<std::vector<MemberCopy>>(
      [&](Callback<std::vector<MemberCopy>> done) { members_->ListCopies("m", std::move(done)); });
  ASSERT_FALSE(listed.ok());
  EXPECT_FALSE(members_->RunsQueue("m"));
  members_->DropMember("m");
  members_->AddMember(Registered());
  EXPECT_TRUE(members_->RunsQueue("m")) << "it may be another cluster";
}

TEST_F(MembersTest, OneClusterUnderASecondNameIsAProblem) {
  members_->AddMember(Registered());
  AwaitHealthy(true);
  MemberDeclaration again;
  again.name = "again";
  again.kubeconfig = member_.Kubeconfig();
  const auto report = members_->Ask(again);
  ASSERT_TRUE(report.ok()) << report.error().detail;
  EXPECT_THAT(report->problems, ::testing::Contains("it is member cluster m already"));
  EXPECT_THAT(report->serves, ::testing::Contains("Job"));
}

}  // namespace
}  // namespace muster::k8s
