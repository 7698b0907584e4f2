// Partial admission: the counts that are tried, and the ones that fit.
#include "schedd/core/flavor/partial_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

PodSet Between(std::int32_t min, std::int32_t count) {
  PodSet pods;
  pods.count = count;
  pods.min_count = min;
  return pods;
}

PodSet Exactly(std::int32_t count) {
  PodSet pods;
  pods.count = count;
  return pods;
}

std::optional<std::vector<std::int32_t>> AtMost(std::int64_t limit, const PodSets& pods,
                                                int* tries = nullptr) {
  return LargestFittingCounts(pods, [&](std::span<const std::int32_t> counts) {
    if (tries != nullptr) ++*tries;
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) <= limit;
  });
}

TEST(PartialAdmission, FindsTheMostPodsThatFit) {
  EXPECT_THAT(AtMost(7, {Between(2, 10)}), Optional(ElementsAre(7)));
  EXPECT_THAT(AtMost(2, {Between(2, 10)}), Optional(ElementsAre(2)));
  EXPECT_THAT(AtMost(99, {Between(2, 10)}), Optional(ElementsAre(10)));
}

TEST(PartialAdmission, BelowTheMinimum_NothingIsFound) {
  EXPECT_EQ(AtMost(1, {Between(2, 10)}), std::nullopt);
}

TEST(PartialAdmission, PodSetsWithoutAMinimum_StayWhole) {
  EXPECT_THAT(AtMost(9, {Exactly(4), Between(1, 8)}), Optional(ElementsAre(4, 5)));
  EXPECT_EQ(AtMost(3, {Exactly(4)}), std::nullopt) << "nothing can be given up";
}

TEST(PartialAdmission, SeveralPodSets_ShrinkInProportion) {
  EXPECT_THAT(AtMost(9, {Between(2, 6), Between(1, 9)}), Optional(ElementsAre(4, 5)));
}

TEST(PartialAdmission, ManyPods_TakeFewTries) {
  int tries = 0;
  EXPECT_THAT(AtMost(123'456, {Between(1, 1'000'000)}, &tries), Optional(ElementsAre(123'456)));
  EXPECT_LE(tries, 21);
}

TEST(PartialAdmission, IsOnlyForJobsThatMayShrink_AndAreNotElastic) {
  AdmissionSettings settings;
  JobRecord job;
  EXPECT_FALSE(MayBePartial(job, settings));
  job.pod_sets = std::make_shared<const PodSets>(PodSets{Exactly(4), Between(4, 4)});
  EXPECT_FALSE(MayBePartial(job, settings));
  job.pod_sets = std::make_shared<const PodSets>(PodSets{Exactly(4), Between(1, 4)});
  EXPECT_TRUE(MayBePartial(job, settings));
  job.elastic = true;
  EXPECT_FALSE(MayBePartial(job, settings));
  job.elastic = false;
  settings.partial_admission = false;
  EXPECT_FALSE(MayBePartial(job, settings));
}

}  // namespace
}  // namespace muster::core
