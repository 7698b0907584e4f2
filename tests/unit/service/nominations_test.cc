// Members that a controller nominates for a job: who may nominate, what is refused, how it is
// shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Member `east` runs a queue of its own, according to its answers.
class OneQueue final : public MemberQueues {
 public:
  bool RunsQueue(const std::string& cluster) const override { return cluster == "east"; }
  void EnsureCopy(const CopyOrder&, Callback<Done> done) override { done(Done{}); }
  void RemoveCopy(const CopyRemoval&, Callback<Done> done) override { done(Done{}); }
  void ListCopies(const std::string&, Callback<std::vector<MemberCopy>> done) override {
    done(std::vector<MemberCopy>{});
  }
};

class NominationsTest : public ::testing::Test {
 protected:
  NominationsTest() {
    w.service.SetMemberQueues(&queues);
    const auto applied = w.world.Apply(
        {WithAnnotation(ClusterQueueObject({}), "muster.io/dispatch-mode", "External"),
         MemberObject("west", {{"cpu", 4000}})});
    MUSTER_CHECK(applied.ok());
    id = w.Submit(JobManifest("train"))->job->id;
    w.world.Settle();
  }
  Result<JobPtr> Nominate(std::vector<std::string> clusters) {
    std::optional<Result<JobPtr>> answer;
    w.service.NominateClusters(w.alice, std::to_string(id.value), std::move(clusters),
                               [&answer](Result<JobPtr> result) { answer = std::move(result); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    return *answer;
  }
  json::value Status() {
    return w.service.WorkloadObject(*w.world.Job(id), "v1beta1").at("status");
  }

  OneQueue queues;
  ServiceWorld w;
  JobId id;
};

TEST_F(NominationsTest, TheyAreShownAsMultiKueueShowsThem) {
  EXPECT_FALSE(Status().as_object().contains("clusterName")) << "it is not chosen yet";
  ASSERT_TRUE(Nominate({"east"}).ok());
  EXPECT_THAT(StateOf(*w.world.Job(id)).nominated, ElementsAre("east"));
  EXPECT_EQ(WriteJson(Status().at("nominatedClusterNames")), R"(["east"])");
  EXPECT_FALSE(Status().as_object().contains("clusterName"));
  ChooseMemberCommand choice;
  choice.job = id;
  choice.attempt = 1;
  choice.cluster = "east";
  choice.done = [](const Result<JobPtr>&) {};
  w.world.engine->Post(std::move(choice));
  w.world.Settle();
  EXPECT_EQ(Status().at("clusterName"), "east");
  EXPECT_FALSE(Status().as_object().contains("nominatedClusterNames"));
}

TEST_F(NominationsTest, AMemberWithoutAQueueIsRefusedByNameAndNothingChanges) {
  const auto refused = Nominate({"east", "west"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(FieldsOf(refused.error()), "clusters[1]");
  EXPECT_THAT(refused.error().detail, HasSubstr("member cluster west runs no queue of its own"));
  EXPECT_TRUE(StateOf(*w.world.Job(id)).nominated.empty());
}

// A job that the caller may not see is answered as one that does not exist (rule U21).
TEST_F(NominationsTest, WhoMayNotSeeTheJobMayNotNominate) {
  w.authorizer.refused_user = "alice";
  const auto refused = Nominate({"east"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kNotFound);
}

TEST_F(NominationsTest, WhatItWaitsForIsExplained) {
  const auto explained = w.service.Explain(w.alice, std::to_string(id.value));
  ASSERT_TRUE(explained.ok());
  EXPECT_THAT(explained->why.summary, HasSubstr(std::string(kMemberQueuesCheck)));
}

}  // namespace
}  // namespace muster::test
