// The requests that count against quota: transformations, exclusions, reclaimable pods,
// reservations.
#include "schedd/model/requests.h"

#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_gates.h"

namespace muster {
namespace {

struct TransformCase {
  std::string name;
  std::vector<ResourceTransformation> rules;
  ResourceList of_pod, wanted;
};

TEST(QuotaRequest, TransformsExactly) {
  const std::vector<TransformCase> cases = {
      {"nothing to do", {}, {{"cpu", 500}}, {{"cpu", 500}}},
      {"a retained input stays",
       {{"cpu", false, "", {{"credits", "1"}}}},
       {{"cpu", 2000}},
       {{"cpu", 2000}, {"credits", 2}}},
      {"a replaced input goes",
       {{"cpu", true, "", {{"credits", "1"}}}},
       {{"cpu", 2000}},
       {{"credits", 2}}},
      {"thousandths are not lost",
       {{"cpu", true, "", {{"credits", "3k"}}}},
       {{"cpu", 100}},
       {{"credits", 300}}},
      {"a fraction of a unit rounds up",
       {{"cpu", true, "", {{"credits", "1"}}}},
       {{"cpu", 1}},
       {{"credits", 1}}},
      {"an output in cores", {{"x", true, "", {{"cpu", "500m"}}}}, {{"x", 3}}, {{"cpu", 1500}}},
      {"two inputs add to one output",
       {{"a", true, "", {{"c", "2"}}}, {"b", true, "", {{"c", "3"}}}},
       {{"a", 1}, {"b", 1}},
       {{"c", 5}}},
      {"an output adds to what was asked for",
       {{"a", true, "", {{"b", "1"}}}},
       {{"a", 1}, {"b", 1}},
       {{"b", 2}}},
      {"multiplied by another resource",
       {{"a", true, "n", {{"c", "1"}}}},
       {{"a", 20}, {"n", 2}},
       {{"c", 40}, {"n", 2}}},
      {"multiplied by less than one",
       {{"a", true, "cpu", {{"c", "1"}}}},
       {{"a", 10}, {"cpu", 500}},
       {{"c", 5}, {"cpu", 500}}},
      {"not multiplied by what is not asked for",
       {{"a", true, "n", {{"c", "1"}}}},
       {{"a", 20}},
       {{"c", 20}}},
      {"never below nothing", {{"a", true, "", {{"c", "-5"}}}}, {{"a", 2}}, {{"c", 0}}},
      {"beyond 64 bits is unlimited",
       {{"a", true, "", {{"c", "1E"}}}},
       {{"a", 1'000'000}},
       {{"c", kUnlimited}}},
  };
  for (const auto& c : cases) {
    AdmissionSettings settings;
    settings.transformations = c.rules;
    EXPECT_EQ(QuotaRequest(c.of_pod, settings), c.wanted) << c.name;
  }
}

TEST(QuotaRequest, DropsExcludedPrefixesBeforeTransforming) {
  AdmissionSettings settings;
  settings.excluded_resource_prefixes = {"net.example.com/"};
  settings.transformations = {{"net.example.com/vpc", false, "", {{"credits", "1"}}}};
  EXPECT_EQ(QuotaRequest({{"cpu", 1}, {"net.example.com/vpc", 1}}, settings),
            (ResourceList{{"cpu", 1}}));
}

JobRecord JobOf(std::int32_t count, std::int32_t given_back) {
  JobRecord job;
  PodSet pod_set;
  pod_set.name = "main";
  pod_set.count = count;
  pod_set.requests = {{"cpu", 10}};
  job.pod_sets = std::make_shared<const PodSets>(PodSets{pod_set});
  AdmissionState state;
  state.reclaimable = {{"main", given_back}};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  return job;
}

TEST(TotalRequests, CountThePodsThatAreLeft) {
  JobRecord job = JobOf(5, 2);
  auto totals = TotalRequests(job, {});
  EXPECT_EQ(totals[0].count, 3);
  EXPECT_EQ(AmountOf(totals[0].requests, "cpu"), 30);
  AdmissionSettings off;
  off.reclaimable_pods = false;
  EXPECT_EQ(TotalRequests(job, off)[0].count, 5);

  Admission admission;
  admission.pod_sets.push_back({"main", 3, {{"cpu", "f"}}, {{"cpu", 30}}});
  job.admission = std::make_shared<const Admission>(admission);
  totals = TotalRequests(job, {});
  EXPECT_EQ(totals[0].count, 3) << "admitted for as many as are left";
  EXPECT_EQ(AmountOf(totals[0].requests, "cpu"), 30);
  EXPECT_EQ(totals[0].reservation, &job.admission->pod_sets[0]);

  job.admission_state = JobOf(5, 4).admission_state;
  totals = TotalRequests(job, {});
  EXPECT_EQ(totals[0].count, 1) << "more were given back since";
  EXPECT_EQ(AmountOf(totals[0].requests, "cpu"), 10);
}

TEST(Gates, AreFoundByTheirNames) {
  AdmissionSettings settings;
  *FindGate(&settings, "PartialAdmission") = false;
  EXPECT_FALSE(settings.partial_admission);
  EXPECT_EQ(FindGate(&settings, "NoSuchGate"), nullptr);
}

TEST(PodSetEquality, LooksAtContentNotAtPointers) {
  const PodSet one = JobOf(1, 0).pod_sets->front();
  PodSet other = JobOf(1, 0).pod_sets->front();
  const auto request = [](const char* level) {
    TopologyRequest topology;
    topology.required = level;
    return std::make_shared<const TopologyRequest>(topology);
  };
  EXPECT_EQ(one, other);
  other.topology = request("rack");
  EXPECT_NE(one, other);
  PodSet same = other;
  same.topology = request("rack");
  EXPECT_EQ(same, other);
  same.topology = request("block");
  EXPECT_NE(same, other);
}

}  // namespace
}  // namespace muster
