// Admission fair sharing and LimitRanges at the API: read from a manifest, shown in a status.
#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

json::value LocalQueueOf(ServiceWorld* w, const std::string& name) {
  const auto object = w->service.GetObject(w->alice, ObjectKind::kLocalQueue, "default", name);
  EXPECT_TRUE(object.ok());
  return *object;
}

// The manifest with limits as high as its requests.
json::value WithLimit(json::value manifest) {
  json::object& resources =
      manifest.at_pointer("/spec/template/spec/containers/0/resources").as_object();
  resources["limits"] = json::value(resources.at("requests"));
  return manifest;
}

TEST(FairStatus, ALocalQueue_ShowsWhatItUsedLately) {
  AdmissionSettings settings;
  settings.admission_fair_sharing = AdmissionFairSharing{3600, 300, {}};
  ServiceWorld w(OptionsWith(settings));
  json::value queue = Json(ClusterQueueObject({}).manifest);
  queue.at("spec").as_object()["admissionScope"] =
      Json(R"({"admissionMode":"UsageBasedAdmissionFairSharing"})");
  json::value weighty = Json(LocalQueueObject("weighty", "cq").manifest);
  weighty.at("spec").as_object()["fairSharing"] = Json(R"({"weight":"2"})");
  ASSERT_TRUE(w.Apply({queue, weighty}).ok());
  ASSERT_TRUE(w.Submit(JobManifest("a", "weighty", "2")).ok());
  w.world.Run();
  for (int i = 0; i < 12; ++i) {
    w.world.clock.Advance(300'000);
    w.world.Run();
  }
  const json::value shown =
      LocalQueueOf(&w, "weighty").at_pointer("/status/fairSharing/admissionFairSharingStatus");
  EXPECT_EQ(shown.at("lastUpdate").as_string(), "2026-01-01T01:00:01Z");
  const auto cpu =
      ParseQuantity("cpu", std::string(shown.at("consumedResources").at("cpu").as_string()));
  ASSERT_TRUE(cpu.ok());
  EXPECT_NEAR(static_cast<double>(*cpu), 1000 + 2000 * 0.0561 / 2, 10)
      << "half of 2 cpu, and half of its penalty";
}

TEST(FairStatus, WithoutTheSetting_NothingIsShown) {
  ServiceWorld w;
  EXPECT_FALSE(LocalQueueOf(&w, "queue").at("status").as_object().contains("fairSharing"));
}

TEST(LimitRanges, AJobOutsideThem_IsTakenAndWaitsWithItsSentence) {
  ServiceWorld w;
  const std::vector<json::value> range(1, Json(R"({"apiVersion":"v1","kind":"LimitRange",
      "metadata":{"name":"bounds","namespace":"default"},
      "spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}})"));
  ASSERT_TRUE(w.Apply(range).ok());
  const auto submitted = w.Submit(WithLimit(JobManifest("wide", "queue", "2")));
  ASSERT_TRUE(submitted.ok()) << submitted.error().detail;
  w.world.Run();
  const JobPtr job = w.world.Job(submitted->job->id);
  EXPECT_EQ(job->state, JobState::kPending);
  EXPECT_EQ(job->reason, Reason::kMisconfigured);
  EXPECT_EQ(job->message,
            "resources didn't satisfy LimitRange constraints: "
            "spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: requests must "
            "not be above the limitRange max");
}

}  // namespace
}  // namespace muster::test
