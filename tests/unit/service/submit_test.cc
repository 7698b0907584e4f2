#include <gtest/gtest.h>

#include "api/service/batch_view.h"
#include "api/service/job_view.h"
#include "api/service/submission.h"
#include "schedd/model/task_ranges.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

json::value WithLabel(json::value manifest, const char* key, const char* value) {
  json::value& labels = manifest.at("metadata").as_object()["labels"];
  if (!labels.is_object()) labels = json::object();
  labels.as_object()[key] = value;
  return manifest;
}

json::value PriorityClass(const std::string& name, int value) {
  json::value manifest = Json(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"WorkloadPriorityClass","metadata":{}})");
  manifest.at("metadata").as_object()["name"] = name;
  manifest.as_object()["value"] = value;
  return manifest;
}

TEST(Submit, WhatAJobSaysOfItsPlacement_IsInItsRecord) {
  ServiceWorld w;
  json::value manifest = WithLabel(JobManifest("train"), "team", "vision");
  manifest.at("metadata").as_object()["annotations"] =
      json::object{{"muster.io/placement", "gpu"}, {"muster.io/cluster", "east"}};
  const Result<SubmittedJob> submitted = w.Submit(manifest);
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  ASSERT_NE(submitted->job->placement, nullptr);
  EXPECT_EQ(submitted->job->placement->labels.at("team"), "vision");
  EXPECT_EQ(submitted->job->placement->placement, "gpu");
  EXPECT_EQ(submitted->job->placement->cluster, "east");
}

TEST(Submit, AJob_IsAnsweredWithItsRecord_AndItsManifestIsKept) {
  ServiceWorld w;
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("train"));
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  const JobRecord& job = *submitted->job;
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.ns, "default");
  EXPECT_EQ(job.user, "alice");
  EXPECT_EQ(job.local_queue, "queue");
  EXPECT_EQ(job.cluster_queue, "cq");
  EXPECT_EQ(AmountOf(job.pod_sets->front().requests, "cpu"), 1000);
  EXPECT_FALSE(submitted->replayed);
  const Result<json::value> manifest = w.service.JobManifest(w.alice, job.id);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->at("spec"), JobManifest("train").at("spec"));
}

// Rule U60.
TEST(Submit, AJobHasTheAccountOfItsSubmitter_AndRootsOnlyByTheKernelsWord) {
  struct Case {
    const char* method;
    const char* impersonator;
    std::optional<std::uint32_t> uid, account;
  };
  const Case cases[] = {{"unix", "", 1000U, 1000U},      {"loopback", "", 1000U, 1000U},
                        {"munge", "", 1000U, 1000U},     {"token", "", 1000U, 1000U},
                        {"unix", "root", 1000U, 1000U},  {"unix", "", 0U, 0U},
                        {"loopback", "", 0U, 0U},        {"munge", "", 0U, std::nullopt},
                        {"token", "", 0U, std::nullopt}, {"unix", "eve", 0U, std::nullopt},
                        {"jwt", "", {}, std::nullopt}};
  int number = 0;
  for (const Case& one : cases) {
    ServiceWorld w;
    w.alice.method = one.method;
    w.alice.impersonator = one.impersonator;
    w.alice.uid = one.uid;
    json::value manifest = JobManifest("train-" + std::to_string(++number));
    // What a manifest says of accounts changes nothing.
    manifest.at("metadata").as_object()["annotations"] =
        json::object{{"account", "0"}, {"muster.io/account", "0"}};
    const Result<SubmittedJob> submitted = w.Submit(manifest);
    if (submitted.ok()) {
      EXPECT_EQ(submitted->job->account, one.account) << one.method;
    }
    const Result<SubmittedJob> plain = w.Submit(JobManifest("plain"));
    ASSERT_TRUE(plain.ok()) << plain.error().detail;
    EXPECT_EQ(plain->job->account, one.account) << one.method << " " << one.impersonator;
  }
}

TEST(Submit, SuspendTrue_IsHowQueuedJobsCome_AndNotAHold) {
  ServiceWorld w;
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("train"));
  ASSERT_TRUE(submitted.ok());
  EXPECT_EQ(w.world.StateOf(submitted->job->id), JobState::kAdmitted);
}

struct Refusal {
  const char* name;
  json::value body;
  const char* ns;
  Code code;
  const char* field;
  const char* says;
};

TEST(Submit, BadRequests_AreRefusedWithOneSentenceThatNamesTheField_AndLeaveNothing) {
  json::value elsewhere = JobManifest("a");
  elsewhere.at("metadata").as_object()["namespace"] = "other";
  json::value zero = JobManifest("a", "queue", "-1");
  json::value nameless = JobManifest("");
  const char* queue_field = "metadata.labels[kueue.x-k8s.io/queue-name]";
  const char* class_field = "metadata.labels[kueue.x-k8s.io/priority-class]";
  const Refusal refusals[] = {
      {"no queue", JobManifest("a", ""), "", Code::kInvalidArgument, queue_field,
       "names no queue, and namespace \"default\" has no LocalQueue named \"default\""},
      {"unknown queue", JobManifest("a", "nope"), "", Code::kInvalidArgument, queue_field,
       "LocalQueue \"nope\" does not exist in namespace \"default\""},
      {"unknown namespace", JobManifest("a"), "nope", Code::kNotFound, "metadata.namespace",
       "namespace \"nope\" does not exist"},
      {"path and manifest differ", elsewhere, "default", Code::kInvalidArgument,
       "metadata.namespace", "other"},
      {"unknown priority class",
       WithLabel(JobManifest("a"), "kueue.x-k8s.io/priority-class", "nope"), "",
       Code::kInvalidArgument, class_field, "WorkloadPriorityClass \"nope\" does not exist"},
      {"negative amount", zero, "", Code::kInvalidArgument, "cpu", ""},
      {"no name", nameless, "", Code::kInvalidArgument, "metadata.name", ""},
      {"not an object", json::value(3), "", Code::kInvalidArgument, "", "JSON object"},
      {"unknown kind",
       Json(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}})"), "",
       Code::kInvalidArgument, "kind", ""},
  };
  ServiceWorld w;
  for (const Refusal& refusal : refusals) {
    const Result<SubmittedJob> submitted = w.Submit(refusal.body, refusal.ns);
    ASSERT_FALSE(submitted.ok()) << refusal.name;
    EXPECT_EQ(submitted.error().code, refusal.code) << refusal.name;
    EXPECT_NE(FieldsOf(submitted.error()).find(refusal.field), std::string::npos)
        << refusal.name << ": " << FieldsOf(submitted.error());
    EXPECT_NE(submitted.error().detail.find(refusal.says), std::string::npos)
        << refusal.name << ": " << submitted.error().detail;
  }
  EXPECT_EQ(w.Jobs(), 0u);
}

TEST(Submit, LocalQueueDefault_TakesJobsThatNameNoQueue) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("default", "cq")}).ok());
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("a", ""));
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  EXPECT_EQ(submitted->job->local_queue, "default");
}

TEST(Submit, AQueueWithoutItsClusterQueue_AcceptsAndTheJobWaits) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("lost", "gone")}).ok());
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("a", "lost"));
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  EXPECT_EQ(submitted->job->cluster_queue, "gone");
  EXPECT_EQ(w.world.StateOf(submitted->job->id), JobState::kPending);
}

TEST(Submit, PriorityClass_GivesTheValue_AndDefaultFillsIn) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({PriorityClass("high", 100)}).ok());
  EXPECT_EQ((*w.Submit(WithLabel(JobManifest("a"), "kueue.x-k8s.io/priority-class", "high")))
                .job->priority,
            100);
  EXPECT_EQ((*w.Submit(JobManifest("b"))).job->priority, 0);
  ASSERT_TRUE(w.Apply({PriorityClass("default", 7)}).ok());
  const Result<SubmittedJob> filled = w.Submit(JobManifest("c"));
  EXPECT_EQ(filled->job->priority, 7);
  EXPECT_EQ(filled->job->priority_class, "default");
}

TEST(Submit, GenerateName_IsResolvedToDifferentNames) {
  ServiceWorld w;
  json::value manifest = JobManifest("");
  manifest.at("metadata").as_object()["generateName"] = "sweep-";
  const Result<SubmittedJob> a = w.Submit(manifest);
  const Result<SubmittedJob> b = w.Submit(manifest);
  ASSERT_TRUE(a.ok()) << a.error().detail;
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(a->job->name.substr(0, 6), "sweep-");
  EXPECT_EQ(a->job->name.size(), 11u);
  EXPECT_NE(a->job->name, b->job->name);
  EXPECT_EQ(w.service.JobManifest(w.alice, a->job->id)->at_pointer("/metadata/name"),
            json::value(a->job->name));
}

TEST(Submit, ATakenName_IsAlreadyExists) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("a")).ok());
  const Result<SubmittedJob> again = w.Submit(JobManifest("a", "queue", "2"));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
}

TEST(Submit, ARepeatedKey_GivesTheFirstJob_AndAnotherRequestUnderItIsRefused) {
  ServiceWorld w;
  const Result<SubmittedJob> first = w.Submit(JobManifest("a"), "", "key-1");
  const Result<SubmittedJob> again = w.Submit(JobManifest("a"), "", "key-1");
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(again.ok()) << again.error().detail;
  EXPECT_EQ(first->job->id, again->job->id);
  EXPECT_TRUE(again->replayed);
  const Result<SubmittedJob> other = w.Submit(JobManifest("b"), "", "key-1");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);
  EXPECT_EQ(w.Jobs(), 1u);
}

TEST(Submit, ABatchScript_IsNamedAfterItsId_AndKeepsItsJobName) {
  ServiceWorld w;
  const Result<SubmittedJob> submitted = w.Submit(json::object{
      {"script", "#!/bin/sh\n#SBATCH --job-name='My run'\ntrue\n"}, {"queue", "queue"}});
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  const JobRecord& job = *submitted->job;
  const std::string name = "job-" + std::to_string(job.id.value);
  EXPECT_EQ(job.name, name);
  EXPECT_EQ(job.display_name, "My run");
  const Result<json::value> manifest = w.service.JobManifest(w.alice, job.id);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->at_pointer("/metadata/name"), json::value(name));
  EXPECT_EQ(w.service.JobObject(job, *manifest).at_pointer("/metadata/name"), json::value(name));
  EXPECT_EQ(*w.world.store.FindJob("default", ShapeKind::kBatchScript, name), job.id);
}

TEST(Submit, AJobMayHaveTheNameThatAScriptGets_ButNoScriptMayTakeIt) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("job-2")).ok());
  const json::object script{{"script", "#!/bin/sh\ntrue\n"}, {"queue", "queue"}};
  const Result<SubmittedJob> second = w.Submit(script);
  ASSERT_TRUE(second.ok()) << second.error().detail;
  EXPECT_EQ(second->job->name, "job-2");
  w.world.Run();
  EXPECT_EQ(w.world.StateOf(second->job->id), JobState::kRunning);
  json::value manifest = *w.service.JobManifest(w.alice, second->job->id);
  manifest.at("metadata").as_object()["name"] = "job-77";
  const Result<SubmittedJob> taken = w.Submit(manifest);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().fields.at(0).field, "metadata.name");
  manifest.at("metadata").as_object()["name"] = "job-x";
  EXPECT_EQ(w.Submit(manifest)->job->name, "job-x");
}

TEST(Submit, AnArrayWithANameOfItsOwn_IsRefused) {
  ServiceWorld w;
  const Result<SubmittedJob> one =
      w.Submit(json::object{{"script", "#!/bin/sh\ntrue\n"}, {"queue", "queue"}, {"hold", true}});
  ASSERT_TRUE(one.ok());
  json::value manifest = *w.service.JobManifest(w.alice, one->job->id);
  manifest.at("metadata").as_object()["name"] = "many";
  manifest.at("spec").as_object()["array"] = "0-1";
  const auto outcomes = w.Apply({manifest});
  ASSERT_FALSE(outcomes.ok());
  EXPECT_NE(outcomes.error().detail.find("named after their ids"), std::string::npos)
      << outcomes.error().detail;
}

TEST(Submit, AnArrayScript_IsOneJob_AlsoUnderARepeatedKey) {
  ServiceWorld w;
  const json::object body{
      {"script", "#!/bin/sh\n#SBATCH --array=0-99999%7\ntrue\n"}, {"queue", "queue"}, {"hold", true}};
  const auto first = w.Submit(body, "", "k");
  ASSERT_TRUE(first.ok()) << first.error().detail;
  const JobRecord& job = *first->job;
  EXPECT_TRUE(IsArrayRecord(job));
  EXPECT_EQ(job.batch->array_job_id, job.id);
  EXPECT_EQ(CountOf(BatchStateOf(job).waiting_tasks), 100'000);
  EXPECT_EQ(BatchStateOf(job).task_throttle, 7);
  const auto again = w.Submit(body, "", "k");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->job->id, job.id);
  EXPECT_EQ(w.Jobs(), 1U);
}

TEST(SubmitBatch, AnswersEveryItemInOrder_AndBadOnesHarmNoOther) {
  ServiceWorld w;
  std::optional<Result<std::vector<Result<SubmittedJob>>>> answer;
  w.service.SubmitBatch(w.alice, "default",
                        {JobManifest("a"), JobManifest("b", "nope"), JobManifest("c")},
                        [&](auto results) { answer = std::move(results); });
  w.world.Settle();
  ASSERT_TRUE(answer && answer->ok());
  ASSERT_EQ((*answer)->size(), 3u);
  EXPECT_EQ((**answer)[0]->job->name, "a");
  EXPECT_EQ((**answer)[1].error().code, Code::kInvalidArgument);
  EXPECT_EQ((**answer)[2]->job->name, "c");
}

TEST(Submit, ARefusedPrincipal_IsDenied_AndNothingHappens) {
  ServiceWorld w;
  w.authorizer.refused_user = "alice";
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("a"));
  ASSERT_FALSE(submitted.ok());
  EXPECT_EQ(submitted.error().code, Code::kPermissionDenied);
  EXPECT_EQ(w.service.ListJobs(w.alice, {}, "", 10).error().code, Code::kPermissionDenied);
  EXPECT_EQ(w.service.GetObject(w.alice, ObjectKind::kClusterQueue, "", "cq").error().code,
            Code::kPermissionDenied);
  EXPECT_EQ(w.Jobs(), 0u);
}

json::object Script(const std::string& line) {
  return {{"script", "#!/bin/sh\n#SBATCH " + line + "\ntrue\n"}, {"queue", "queue"}};
}

TEST(NeverFits, ScriptsAreRefusedAsSlurmDoes_OtherKindsWait_UnlessTheQueueChooses) {
  ServiceWorld w;
  const auto choose = [&w](const std::string& choice) {
    Result<json::value> queue = w.service.GetObject(w.alice, ObjectKind::kClusterQueue, "", "cq");
    json::object& metadata = queue->at("metadata").as_object();
    metadata.erase("annotations");
    if (!choice.empty()) metadata["annotations"] = json::object{{"muster.io/never-fits", choice}};
    return w.Apply({*queue}).ok();
  };
  const Result<SubmittedJob> script = w.Submit(Script("-c 9"));
  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.error().code, Code::kInvalidArgument);
  EXPECT_EQ(script.error().detail,
            "Requested node configuration is not available: no member cluster can ever hold it as "
            "they are: the nearest is east, which has 4 of the 9 cpu that it needs");
  EXPECT_EQ(script.error().fields.at(0).field, "resources");
  EXPECT_FALSE(w.Submit(Script("--gres=gpu:1")).ok()) << "nobody has one";
  EXPECT_FALSE(w.Submit(Script("-c 9 --array=0-3")).ok());
  EXPECT_FALSE(w.Apply({json::value(Script("-c 9"))}, true).ok()) << "sbatch --test-only";
  EXPECT_TRUE(w.Submit(Script("-N 3 -c 3")).ok()) << "each node fits, and more may come";
  EXPECT_FALSE(w.Submit(Script("-N 3 -c 9")).ok());
  EXPECT_TRUE(w.Submit(Script("-c 4")).ok());
  EXPECT_TRUE(w.Submit(JobManifest("waits", "queue", "9")).ok());
  ASSERT_TRUE(choose("wait"));
  EXPECT_TRUE(w.Submit(Script("-c 9")).ok());
  ASSERT_TRUE(choose("refuse"));
  EXPECT_FALSE(w.Submit(JobManifest("refused", "queue", "9")).ok());
  EXPECT_FALSE(w.Apply({JobManifest("refused", "queue", "9")}).ok());
  EXPECT_FALSE(choose("never")) << "no such choice";
}

// The member east with two machines of so many CPUs.
ObjectChange TwoMachines(std::int64_t cpus) {
  const std::string each = std::to_string(cpus);
  const ObjectChange member = MemberObject("east", {{"cpu", 2 * cpus * 1000}});
  return WithAnnotation(member, "muster.io/nodes",
                        R"([{"name":"a","allocatable":{"cpu":")" + each +
                            R"("}},{"name":"b","allocatable":{"cpu":")" + each + R"("}}])");
}

TEST(BatchChecks, TasksThatNoMachineCanRunTogether_AreSpreadAsInSlurm) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({TwoMachines(8)}).ok());
  struct Row {
    const char* options;
    std::int32_t nodes;
  };
  for (const Row& row : std::vector<Row>{{"-n 8", 1},
                                         {"-n 9", 2},
                                         {"-n 16", 2},
                                         {"-n 2 -c 8", 2},
                                         {"-n 4 -c 4", 2},
                                         {"-n 9 -O", 1},
                                         {"-N 1 -n 8", 1},
                                         {"-n 4 --ntasks-per-node=2", 2}}) {
    SCOPED_TRACE(row.options);
    const Result<SubmittedJob> job = w.Submit(Script(row.options));
    ASSERT_TRUE(job.ok()) << job.error().detail;
    EXPECT_EQ(job->job->batch->nodes, row.nodes);
    EXPECT_EQ(job->job->pod_sets->front().count, row.nodes);
  }
  for (const char* options : {"-n 3 -c 9", "-N 1 -n 9", "-n 3 -c 5", "-n 17"})
    EXPECT_FALSE(w.Submit(Script(options)).ok()) << options;
}

TEST(BatchChecks, MoreNodesThanDeclaredMachines_WaitUntilThereAreAsMany) {
  ServiceWorld w;
  const auto reason = [&](const SubmittedJob& made) { return w.world.Job(made.job->id)->reason; };
  const Result<SubmittedJob> small = w.Submit(Script("-N 3"));
  ASSERT_TRUE(small.ok());
  w.world.Run();
  EXPECT_EQ(reason(*small), Reason::kRunning) << "no machine is declared: a node is a pod";
  ASSERT_TRUE(w.world.Apply({TwoMachines(2)}).ok());
  const Result<SubmittedJob> three = w.Submit(Script("-N 3"));
  const Result<SubmittedJob> two = w.Submit(Script("-N 2 -H"));
  ASSERT_TRUE(three.ok() && two.ok());
  w.world.Run();
  EXPECT_EQ(reason(*three), Reason::kPartitionNodeLimit);
  EXPECT_EQ(reason(*two), Reason::kHeldByUser);
  ASSERT_TRUE(w.world.Do(JobVerb::kCancel, small->job->id).ok());
  ASSERT_TRUE(w.world.Apply({MemberObject("east", {{"cpu", 4000}})}).ok());
  w.world.Run();
  EXPECT_EQ(reason(*three), Reason::kRunning);
}

TEST(JobViews, TheBriefMembersOfAScript_AreAllButLongTexts) {
  const auto members = api::JobMembersOf({"id", "batch.brief"});
  ASSERT_TRUE(members.ok());
  EXPECT_TRUE(members->batch.test(*api::BatchMemberOf("holdAtRequeue")));
  EXPECT_TRUE(members->batch.test(*api::BatchMemberOf("nodes")));
  for (const char* long_text : {"command", "workDir", "output", "submitLine", "how"})
    EXPECT_FALSE(members->batch.test(*api::BatchMemberOf(long_text))) << long_text;
}

}  // namespace
}  // namespace muster::test
