#include <gtest/gtest.h>

#include "api/service/apply_plan.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

json::value Flavor(const std::string& name) { return Json(FlavorObject(name).manifest); }
json::value Queue(const std::string& name, const std::string& ns) {
  json::value queue = Json(LocalQueueObject(name, "cq").manifest);
  if (ns.empty()) {
    queue.at("metadata").as_object().erase("namespace");
  } else {
    queue.at("metadata").as_object()["namespace"] = ns;
  }
  return queue;
}

TEST(Apply, ObjectsAndAJobTogether_TakeEffectInOneCall) {
  ServiceWorld w;
  json::value job = JobManifest("train", "fresh");
  job.at("metadata").as_object()["namespace"] = "team";
  const auto outcomes = w.Apply(
      {job, Queue("fresh", "team"), Json(NamespaceObject("team").manifest), Flavor("spot")});
  ASSERT_TRUE(outcomes.ok()) << outcomes.error().detail;
  ASSERT_EQ(outcomes->size(), 4u);
  EXPECT_EQ((*outcomes)[0].kind, "Job");
  ASSERT_NE((*outcomes)[0].job, nullptr);
  EXPECT_EQ((*outcomes)[0].job->ns, "team");
  EXPECT_EQ((*outcomes)[1].kind, "LocalQueue");
  EXPECT_EQ((*outcomes)[1].ns, "team");
  for (const auto& outcome : *outcomes)
    EXPECT_EQ(outcome.outcome, ApplyOutcome::kCreated) << outcome.name;
}

TEST(Apply, OneBadDocument_ChangesNothing_AndEveryErrorNamesItsDocument) {
  ServiceWorld w;
  json::value bad = Flavor("bad");
  bad.at("spec").as_object()["colour"] = "red";
  const auto outcomes = w.Apply({Flavor("spot"), bad, JobManifest("a"), JobManifest("b", "nope")});
  ASSERT_FALSE(outcomes.ok());
  const std::string fields = FieldsOf(outcomes.error());
  EXPECT_NE(fields.find("documents[1].spec.colour"), std::string::npos) << fields;
  EXPECT_NE(fields.find("documents[3].metadata.labels"), std::string::npos) << fields;
  EXPECT_EQ(fields.find("documents[0]"), std::string::npos) << fields;
  EXPECT_EQ(w.Jobs(), 0u);
  EXPECT_FALSE(w.world.engine->View()->config->flavors.contains("spot"));
}

TEST(Apply, TheSameTwice_IsUnchanged) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({Flavor("spot"), JobManifest("a")}).ok());
  const auto again = w.Apply({Flavor("spot"), JobManifest("a")});
  ASSERT_TRUE(again.ok()) << again.error().detail;
  EXPECT_EQ((*again)[0].outcome, ApplyOutcome::kUnchanged);
  EXPECT_EQ((*again)[1].outcome, ApplyOutcome::kUnchanged);
  ASSERT_NE((*again)[1].job, nullptr);
  EXPECT_EQ(w.Jobs(), 1u);
}

TEST(Apply, AJobWithAnotherSpecUnderATakenName_IsRefused) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({JobManifest("a")}).ok());
  const auto changed = w.Apply({Flavor("spot"), JobManifest("a", "queue", "2")});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, Code::kAlreadyExists);
  EXPECT_EQ(FieldsOf(changed.error()), "documents[1]");
  EXPECT_NE(changed.error().detail.find("immutable"), std::string::npos);
  EXPECT_FALSE(w.world.engine->View()->config->flavors.contains("spot"));
}

json::value ElasticJob(int parallelism) {
  json::value job = JobManifest("elastic");
  job.at("metadata").as_object()["annotations"] =
      json::object{{"kueue.x-k8s.io/elastic-job", "true"}};
  job.at("spec").as_object()["parallelism"] = parallelism;
  return job;
}

TEST(Apply, AnElasticJobOfAnotherSize_IsConfigured) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({ElasticJob(2)}).ok());
  w.world.Run();
  const auto changed = w.Apply({Flavor("spot"), ElasticJob(3)});
  ASSERT_TRUE(changed.ok()) << changed.error().detail;
  EXPECT_EQ((*changed)[1].outcome, ApplyOutcome::kConfigured);
  const JobId id = (*changed)[1].job->id;
  w.world.Run();
  EXPECT_EQ(w.world.UsedCpu(), 3000);
  EXPECT_EQ((*w.Apply({ElasticJob(3)}))[0].outcome, ApplyOutcome::kUnchanged);
  const auto tried = w.Apply({ElasticJob(1)}, true);
  EXPECT_EQ((*tried)[0].outcome, ApplyOutcome::kConfigured);
  EXPECT_EQ(w.world.UsedCpu(), 3000);
  const auto object = w.service.JobObject(*w.world.Job(id), *w.service.JobManifest(w.alice, id));
  EXPECT_EQ(object.at("spec").at("parallelism"), 3);
  EXPECT_EQ(object.at("metadata").at("generation"), 2);
}

TEST(Apply, AJobThatIsNotElastic_KeepsItsSize) {
  ServiceWorld w;
  ASSERT_TRUE(w.Apply({JobManifest("a")}).ok());
  json::value larger = JobManifest("a");
  larger.at("spec").as_object()["parallelism"] = 2;
  const auto changed = w.Apply({larger});
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().detail.find("kueue.x-k8s.io/elastic-job"), std::string::npos)
      << changed.error().detail;
}

TEST(Apply, TwoJobsOfOneNameInAFile_AreRefused) {
  ServiceWorld w;
  const auto outcomes = w.Apply({JobManifest("a"), JobManifest("a")});
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(FieldsOf(outcomes.error()), "documents[1].metadata.name");
  EXPECT_EQ(w.Jobs(), 0u);
}

TEST(Apply, DryRun_SaysWhatWouldHappen_AndDoesNothing) {
  ServiceWorld w;
  const auto outcomes = w.Apply({Flavor("spot"), JobManifest("a")}, true);
  ASSERT_TRUE(outcomes.ok()) << outcomes.error().detail;
  EXPECT_EQ((*outcomes)[0].outcome, ApplyOutcome::kCreated);
  EXPECT_EQ((*outcomes)[1].outcome, ApplyOutcome::kCreated);
  EXPECT_EQ(w.Jobs(), 0u);
  EXPECT_FALSE(w.world.engine->View()->config->flavors.contains("spot"));
}

TEST(Apply, ALocalQueueInANamespaceThatNobodyMakes_IsRefused) {
  ServiceWorld w;
  const auto outcomes = w.Apply({Queue("q", "nowhere")});
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().code, Code::kNotFound);
  EXPECT_EQ(FieldsOf(outcomes.error()), "documents[0].metadata.namespace");
}

TEST(Apply, ANamespacedObjectWithoutNamespace_GoesToTheDefaultOne) {
  ServiceWorld w;
  const auto outcomes = w.Apply({Queue("q", "")});
  ASSERT_TRUE(outcomes.ok()) << outcomes.error().detail;
  EXPECT_EQ((*outcomes)[0].ns, "default");
}

TEST(Apply, MemberClusters_AreTheDaemonsToDeclare) {
  ServiceWorld w;
  const auto outcomes = w.Apply({Json(MemberObject("west", {{"cpu", 1000}}).manifest)});
  ASSERT_FALSE(outcomes.ok());
  EXPECT_NE(outcomes.error().detail.find("--local-cluster"), std::string::npos)
      << outcomes.error().detail;
}

TEST(Apply, Errors_OfTheEngine_AreCountedOverDocuments) {
  Error error = InvalidField("documents[1].spec", "bad");
  error = api::RenumberDocuments(error, {2, 5});
  EXPECT_EQ(error.fields[0].field, "documents[5].spec");
  EXPECT_EQ(error.detail, "documents[5].spec: bad");
}

}  // namespace
}  // namespace muster::test
