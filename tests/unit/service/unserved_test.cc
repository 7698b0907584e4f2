// Objects that nothing could carry out are refused by their field and change nothing.
#include <gtest/gtest.h>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

json::value ClusterQueueWith(const char* field, const char* value) {
  json::value queue = Json(ClusterQueueObject(QueueSpec{.name = "other"}).manifest);
  queue.at("spec").as_object()[field] = Json(value);
  return queue;
}

json::value ConcurrentAndChecked() {
  json::value queue = ClusterQueueWith("concurrentAdmissionPolicy",
                                       R"({"migration":{"mode":"RetainFirstAdmission"}})");
  queue.at("spec").as_object()["admissionChecks"] = Json(R"(["look"])");
  return queue;
}

json::value PlacedElasticJob() {
  json::value job = JobManifest("placed");
  job.at("metadata").as_object()["annotations"] = Json(R"({"kueue.x-k8s.io/elastic-job":"true"})");
  job.at_pointer("/spec/template").as_object()["metadata"] =
      Json(R"({"annotations":{"kueue.x-k8s.io/podset-required-topology":"rack"}})");
  return job;
}

TEST(Unserved, WhatNothingCarriesOut_IsRefusedByItsField_AndChangesNothing) {
  const struct {
    json::value document;
    const char* field;
  } cases[] = {
      {ConcurrentAndChecked(), "spec.concurrentAdmissionPolicy"},
      {PlacedElasticJob(), "elastic-job"},
  };
  for (const auto& one : cases) {
    ServiceWorld w;
    const auto outcomes = w.Apply({one.document});
    ASSERT_FALSE(outcomes.ok()) << one.field;
    EXPECT_EQ(outcomes.error().code, Code::kInvalidArgument) << one.field;
    EXPECT_NE(FieldsOf(outcomes.error()).find(one.field), std::string::npos)
        << FieldsOf(outcomes.error());
    EXPECT_NE(outcomes.error().detail.find("not supported by this version"), std::string::npos)
        << outcomes.error().detail;
    EXPECT_EQ(w.Jobs(), 0u);
    const ConfigPtr config = w.world.engine->View()->config;
    EXPECT_FALSE(config->cluster_queues.contains("other"));
  }
}

TEST(Unserved, AnElasticJobCannotTryEachFlavorForItself) {
  auto settings = std::make_shared<AdmissionSettings>();
  settings->concurrent_admission = true;
  EngineOptions options;
  options.settings = settings;
  ServiceWorld w(std::move(options));
  json::value queue = ClusterQueueWith("concurrentAdmissionPolicy",
                                       R"({"migration":{"mode":"TryPreferredFlavors"}})");
  ASSERT_TRUE(w.Apply({queue, Json(LocalQueueObject("tries", "other").manifest)}).ok());
  json::value job = JobManifest("elastic", "tries");
  EXPECT_TRUE(w.Apply({job}, true).ok());
  job.at("metadata").as_object()["annotations"] = Json(R"({"kueue.x-k8s.io/elastic-job":"true"})");
  const auto refused = w.Apply({job});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().detail.find("concurrentAdmissionPolicy"), std::string::npos)
      << refused.error().detail;
}

}  // namespace
}  // namespace muster::test
