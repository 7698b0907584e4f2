// What nothing could carry out is refused at the door, by field, and changes nothing.
#include <gtest/gtest.h>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

constexpr const char* kCheck =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"AdmissionCheck","metadata":{"name":"look"},
        "spec":{"controllerName":"example.com/look"}})";

json::value ClusterQueueWith(const char* field, const char* value) {
  json::value queue = Json(ClusterQueueObject(QueueSpec{.name = "other"}).manifest);
  queue.at("spec").as_object()[field] = Json(value);
  return queue;
}

json::value LocalQueueWithWeight() {
  json::value queue = Json(LocalQueueObject("weighty", "cq").manifest);
  queue.at("spec").as_object()["fairSharing"] = Json(R"({"weight":"2"})");
  return queue;
}

json::value GatedJob() {
  json::value job = JobManifest("gated");
  job.at("metadata").as_object()["annotations"] =
      Json(R"({"kueue.x-k8s.io/admission-gated-by":"example.com/gate"})");
  return job;
}

TEST(Unserved, WhatNothingCarriesOut_IsRefusedByItsField_AndChangesNothing) {
  const struct {
    json::value document;
    const char* field;
  } cases[] = {
      {ClusterQueueWith("admissionChecks", R"(["look"])"), "spec.admissionChecks"},
      {ClusterQueueWith("admissionChecksStrategy", R"({"admissionChecks":[{"name":"look"}]})"),
       "spec.admissionChecksStrategy"},
      {ClusterQueueWith("admissionScope", R"({"admissionMode":"UsageBasedAdmissionFairSharing"})"),
       "spec.admissionScope"},
      {LocalQueueWithWeight(), "spec.fairSharing"},
      {Json(kCheck), "kind"},
      {GatedJob(), "admission-gated-by"},
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
    EXPECT_TRUE(config->admission_checks.empty());
  }
}

}  // namespace
}  // namespace muster::test
