// scontrol update, operators' rights, dependencies at submission, and what a partition gives to
// scripts: over the service, with a user who is no operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

// Bob may do everything but update ClusterQueues and see jobs named "secret".
class UserAuthorizer final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb verb,
              const auth::ResourceRef& what) const override {
    if (who.user != "bob") return true;
    if (what.resource == "clusterqueues")
      return verb != auth::Verb::kUpdate || what.name == bobs_queue;
    return what.name != "secret" && what.ns != "hidden";
  }
  bool AllowsPath(const auth::Principal&, auth::Verb, std::string_view) const override {
    return true;
  }
  std::string bobs_queue;  // he is its operator
};

class UpdateTest : public ::testing::Test {
 protected:
  UpdateTest()
      : service(*w.world.engine, w.world.store, w.world.random, authorizer,
                [](const std::string&) { return nullptr; }) {
    MUSTER_CHECK(w.Apply({Json(R"({"apiVersion":"v1","kind":"Namespace",
        "metadata":{"name":"hidden"}})"),
                          Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"LocalQueue",
        "metadata":{"name":"queue","namespace":"hidden"},"spec":{"clusterQueue":"cq"}})")})
                     .ok());
  }

  json::value Script(const std::string& more = "") {
    return Json(R"({"script":"#!/bin/sh\ntrue\n","queue":"queue")" + more + "}");
  }
  Result<JobPtr> Submit(const std::string& more, const auth::Principal& who,
                        const std::string& ns = "default") {
    std::optional<Result<JobPtr>> answer;
    service.SubmitJob(who, {ns, Script(more), ""}, [&answer](Result<SubmittedJob> result) {
      answer = result.ok() ? Result<JobPtr>(result->job) : Result<JobPtr>(result.error());
    });
    w.world.Settle();
    return *answer;
  }
  Result<JobPtr> Update(JobId id, const std::string& fields, const auth::Principal& who) {
    std::optional<Result<JobPtr>> answer;
    service.UpdateJob(who, std::to_string(id.value), Json(fields).as_object(),
                      [&answer](Result<JobPtr> result) { answer = std::move(result); });
    w.world.Settle();
    return *answer;
  }
  Result<JobPtr> Do(JobId id, JobVerb verb, const auth::Principal& who,
                    api::VerbOptions options = {}) {
    return Do(std::to_string(id.value), verb, who, options);
  }
  Result<JobPtr> Do(const std::string& id, JobVerb verb, const auth::Principal& who,
                    api::VerbOptions options = {}) {
    std::optional<Result<JobPtr>> answer;
    service.ChangeJob(
        who, id, verb,
        [&answer](Result<JobPtr> result) { answer = std::move(result); }, options);
    w.world.Settle();
    return *answer;
  }
  void Annotate(const std::string& annotations) {
    ASSERT_TRUE(w.Apply({Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"LocalQueue",
        "metadata":{"name":"queue","namespace":"default","annotations":{)" +
                              annotations + R"(}},"spec":{"clusterQueue":"cq"}})")})
                    .ok());
  }

  ServiceWorld w;
  UserAuthorizer authorizer;
  SchedulerService service;
  auth::Principal alice = Tester("alice"), bob = Tester("bob");
};

TEST_F(UpdateTest, FieldsOfTheScript_AreReadAsAtSubmission) {
  const JobId id = (*Submit(R"(,"hold":true,"timeLimit":"10")", bob))->id;
  const auto changed = Update(id, R"({"comment":"new","name":"other","timeLimit":"5"})", bob);
  ASSERT_TRUE(changed.ok()) << changed.error().detail;
  EXPECT_EQ((*changed)->batch->comment, "new");
  EXPECT_EQ((*changed)->display_name, "other");
  EXPECT_EQ((*changed)->time_limit_s, 300);
  EXPECT_THAT(BatchStateOf(**changed).changed_spec, HasSubstr("\"jobName\":\"other\""));
  const auto again = Update(id, R"({"comment":"newer"})", bob);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->time_limit_s, 300) << "earlier changes stay";
  const auto nodes = Update(id, R"({"cpusPerTask":2})", bob);
  ASSERT_TRUE(nodes.ok()) << nodes.error().detail;
  EXPECT_EQ((*nodes)->pod_sets->front().requests, (ResourceList{{"cpu", 2000}}));
}

TEST_F(UpdateTest, RefusedFields_AreNamed) {
  const JobId id = (*Submit(R"(,"hold":true,"timeLimit":"10")", bob))->id;
  const std::pair<const char*, const char*> cases[] = {
      {R"({"script":"x"})", "script"},
      {R"({"timeLimit":"20"})", "timeLimit"},
      {R"({"timeLimit":"soon"})", "timeLimit"},
      {R"({"priority":5})", "priority"},
      {R"({"nice":-1})", "nice"},
      {R"({"queue":"none"})", "queue"},
      {R"({"account":"none"})", "account"},
      {R"({"priorityClass":"none"})", "priorityClass"},
      {R"({"dependency":"afterok:999"})", "dependency"},
      {R"({"dependency":"sometime:1"})", "dependency"},
      {R"({"begin":"soon"})", "begin"},
      {R"({"arrayTaskThrottle":2})", "arrayTaskThrottle"},
  };
  for (const auto& [fields, wanted] : cases) {
    const auto refused = Update(id, fields, bob);
    ASSERT_FALSE(refused.ok()) << fields;
    EXPECT_EQ(FieldsOf(refused.error()), wanted) << refused.error().detail;
  }
  EXPECT_FALSE(Update(id, "{}", bob).ok());
}

TEST_F(UpdateTest, AnOperatorOfOneQueue_RaisesNothingInAnotherOne) {
  ASSERT_TRUE(w.Apply({Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
        "metadata":{"name":"other"},"spec":{"namespaceSelector":{}}})"),
                       Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"LocalQueue",
        "metadata":{"name":"elsewhere","namespace":"default"},"spec":{"clusterQueue":"other"}})")})
                  .ok());
  authorizer.bobs_queue = "cq";
  const JobId id = (*Submit(R"(,"begin":"2035-01-01T00:00:00Z","timeLimit":"10")", bob))->id;
  const auto both = Update(id, R"({"queue":"elsewhere","priority":9})", bob);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(FieldsOf(both.error()), "priority");
  EXPECT_EQ(FieldsOf(Update(id, R"({"queue":"elsewhere","timeLimit":"20"})", bob).error()),
            "timeLimit");
  ASSERT_TRUE(Update(id, R"({"priority":9})", bob).ok());
  const auto later = Update(id, R"({"queue":"elsewhere"})", bob);
  ASSERT_FALSE(later.ok()) << "nor in two steps";
  EXPECT_EQ(FieldsOf(later.error()), "priority");
  const auto lowered = Update(id, R"({"queue":"elsewhere","priority":null})", bob);
  EXPECT_TRUE(lowered.ok()) << lowered.error().detail;
}

TEST_F(UpdateTest, AnUpdateIsCheckedAgainstTheMembers_AsASubmissionIs) {
  const JobId id = (*Submit(R"(,"hold":true)", bob))->id;
  const auto node = Update(id, R"({"requiredNodes":"nowhere"})", bob);
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(FieldsOf(node.error()), "requiredNodes");
  const auto license = Update(id, R"({"licenses":"none:1"})", bob);
  ASSERT_FALSE(license.ok());
  EXPECT_EQ(FieldsOf(license.error()), "licenses");
  EXPECT_FALSE(Update(id, R"({"reservation":"maintenance"})", bob).ok());
}

TEST_F(UpdateTest, CpusThatThePartitionAddsForMemory_StayWithLaterUpdates) {
  Annotate(R"("muster.io/partition-max-memory-per-cpu":"1000")");
  const JobId id = (*Submit(R"(,"hold":true)", bob))->id;
  const auto raised = Update(id, R"({"memoryPerCpu":"2000"})", bob);
  ASSERT_TRUE(raised.ok()) << raised.error().detail;
  EXPECT_EQ((*raised)->batch->cpus_per_task, 2);
  const auto comment = Update(id, R"({"comment":"x"})", bob);
  ASSERT_TRUE(comment.ok());
  EXPECT_EQ((*comment)->batch->cpus_per_task, 2);
}

TEST_F(UpdateTest, OfAnArray_AWaitingTaskIsChangedAlone) {
  const JobId id = (*Submit(R"(,"hold":true,"array":"0-5")", bob))->id;
  std::optional<Result<JobPtr>> answer;
  service.UpdateJob(bob, std::to_string(id.value) + "_3", Json(R"({"nice":4})").as_object(),
                    [&answer](Result<JobPtr> result) { answer = std::move(result); });
  w.world.Settle();
  ASSERT_TRUE(answer->ok()) << answer->error().detail;
  EXPECT_NE((**answer)->id, id);
  EXPECT_EQ(BatchStateOf(*w.world.Job(id)).nice, 0);
}

TEST_F(UpdateTest, OperatorsRaiseWhatUsersOnlyLower) {
  const JobId id = (*Submit(R"(,"hold":true,"timeLimit":"10")", bob))->id;
  ASSERT_TRUE(Update(id, R"({"timeLimit":"20","priority":7,"nice":-3})", alice).ok());
  const JobPtr job = w.world.Job(id);
  EXPECT_EQ(job->time_limit_s, 1200);
  EXPECT_EQ(BatchStateOf(*job).own_priority, 7);
  EXPECT_EQ(BatchStateOf(*job).nice, -3);
  EXPECT_TRUE(Update(id, R"({"nice":5,"priority":6})", bob).ok()) << "this lowers both";
}

TEST_F(UpdateTest, StateFields_TakeEffectAndAreNotKeptInTheSpec) {
  const JobId parent = (*Submit(R"(,"hold":true)", bob))->id;
  const JobId id = (*Submit(R"(,"hold":true)", bob))->id;
  const auto changed = Update(id,
                              R"({"dependency":"afterok:)" + std::to_string(parent.value) +
                                  R"(","begin":"2035-01-01T00:00:00Z"})",
                              bob);
  ASSERT_TRUE(changed.ok()) << changed.error().detail;
  const BatchState& state = BatchStateOf(**changed);
  EXPECT_EQ(state.dependencies.size(), 1U);
  EXPECT_TRUE(state.begin_at.has_value());
  EXPECT_EQ(state.changed_spec, "");
  EXPECT_FALSE(Update(parent, R"({"dependency":")" + std::to_string(id.value) + R"("})", bob).ok())
      << "a circle";
}

TEST_F(UpdateTest, ADependency_OnAJobThatTheUserMayNotSee_IsOneOnNone) {
  const JobId hidden = (*Submit("", alice, "hidden"))->id;
  const std::string dependency = R"(,"dependency":"afterok:)" + std::to_string(hidden.value) + "\"";
  ASSERT_TRUE(Submit(dependency, alice).ok());
  const auto refused = Submit(dependency, bob);
  const auto unknown = Submit(R"(,"dependency":"afterok:99999")", bob);
  ASSERT_FALSE(refused.ok());
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(refused.error().detail, unknown.error().detail);
  EXPECT_THAT(refused.error().detail, HasSubstr("Job dependency problem"));
  // Whatever way the script comes.
  EXPECT_FALSE(service.EstimateSubmission(bob, {"default", Script(dependency), ""}).ok());
  EXPECT_TRUE(service.EstimateSubmission(alice, {"default", Script(dependency), ""}).ok());
  std::optional<Error> applied;
  service.Apply(bob, "default", {Script(dependency)}, false,
                [&applied](Result<std::vector<api::DocumentOutcome>> result) {
    if (!result.ok()) applied = result.error();
  });
  w.world.Settle();
  ASSERT_TRUE(applied.has_value());
  EXPECT_THAT(applied->detail, HasSubstr("Job dependency problem"));
}

TEST_F(UpdateTest, TasksOfAnArray_AreAskedTheSameRightsAndOptions) {
  const JobId array = (*Submit(R"(,"array":"0-3","hold":true)", bob))->id;
  const std::string task = std::to_string(array.value) + "_1";
  EXPECT_EQ(Do(task, JobVerb::kSuspend, bob).error().code, Code::kPermissionDenied);
  EXPECT_EQ(Do(task, JobVerb::kHold, bob, {.by_admin = true}).error().code,
            Code::kPermissionDenied);
  ASSERT_TRUE(Do(task, JobVerb::kHold, alice, {.by_admin = true}).ok());
  EXPECT_EQ(Do(task, JobVerb::kRelease, bob).error().code, Code::kPermissionDenied);
  EXPECT_TRUE(Do(task, JobVerb::kRelease, alice).ok());
}

TEST_F(UpdateTest, OperatorsAloneSuspendAndHoldForOperators) {
  const JobId id = (*Submit("", bob))->id;
  EXPECT_EQ(Do(id, JobVerb::kSuspend, bob).error().code, Code::kPermissionDenied);
  const JobId held = (*Submit(R"(,"hold":true)", bob))->id;
  EXPECT_EQ(Do(held, JobVerb::kHold, bob, {.by_admin = true}).error().code,
            Code::kPermissionDenied);
  ASSERT_TRUE(Do(held, JobVerb::kHold, alice, {.by_admin = true}).ok());
  EXPECT_EQ(Do(held, JobVerb::kRelease, bob).error().code, Code::kPermissionDenied);
  EXPECT_TRUE(Do(held, JobVerb::kRelease, alice).ok());
  EXPECT_EQ(FieldsOf(Submit(R"(,"nice":-5)", bob).error()), "nice");
  EXPECT_EQ(FieldsOf(Submit(R"(,"priority":5)", bob).error()), "priority");
  EXPECT_TRUE(Submit(R"(,"nice":5)", bob).ok());
}

TEST_F(UpdateTest, APartition_GivesItsDefaults_AndDrainRefuses) {
  Annotate(R"("muster.io/partition-default-time":"30","muster.io/partition-max-time":"60",
              "muster.io/partition-default-memory-per-cpu":"512")");
  const JobPtr plain = *Submit("", bob);
  EXPECT_EQ(plain->time_limit_s, 1800);
  EXPECT_EQ(plain->batch->mem_per_cpu_mb, 512);
  const JobPtr asks = *Submit(R"(,"timeLimit":"5","memoryPerNode":"100M")", bob);
  EXPECT_EQ(asks->time_limit_s, 300);
  EXPECT_EQ(asks->batch->mem_per_node_mb, 100);
  EXPECT_EQ((*Submit(R"(,"timeLimit":"61")", bob))->reason, Reason::kPartitionTimeLimit);
  EXPECT_EQ((*Submit(R"(,"timeLimit":"0")", bob))->reason, Reason::kPartitionTimeLimit);
  Annotate(R"("muster.io/partition-state":"drain")");
  EXPECT_EQ(FieldsOf(Submit("", bob).error()), "queue");
}

}  // namespace
}  // namespace muster::test
