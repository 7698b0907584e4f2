// The admission section: what each key sets, Kueue's defaults for absent keys, and refused values.
#include "schedd/shapes/config/admission_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/text/yaml.h"

namespace muster {
namespace {

using testing::ElementsAre;

Result<AdmissionSettings> Read(const std::string& yaml) {
  auto documents = ParseYaml(yaml);
  EXPECT_TRUE(documents.ok()) << yaml;
  return ReadAdmissionSettings(documents->front());
}

TEST(AdmissionConfig, AnEmptySectionIsKueuesDefault) {
  const auto settings = Read("{}");
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->fair_sharing.has_value());
  EXPECT_FALSE(settings->admission_fair_sharing.has_value());
  EXPECT_TRUE(settings->pods_ready.enabled);
  EXPECT_EQ(settings->pods_ready.timeout_s, 30 * 60);
  EXPECT_FALSE(settings->pods_ready.recovery_timeout_s.has_value());
  EXPECT_FALSE(settings->pods_ready.backoff_limit.has_value());
  EXPECT_FALSE(settings->ignore_undeclared);
}

TEST(AdmissionConfig, EveryKeySetsItsSwitch) {
  const auto settings = Read(R"(
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing:
  usageHalfLifeTime: 168h
  usageSamplingInterval: 2m
  resourceWeights: {cpu: 2, memory: 0.5}
waitForPodsReady:
  timeout: 1h30m
  recoveryTimeout: 0s
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffBaseSeconds: 5, backoffMaxSeconds: 50,
                      backoffLimitCount: 3}
resources:
  excludeResourcePrefixes: [example.com]
  quotaCheckStrategy: IgnoreUndeclared
  transformations: [{input: nvidia.com/mig, strategy: Replace, outputs: {memory: 5Gi}}]
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 90s}}
featureGates: {PartialAdmission: false, PriorityBoost: true}
)");
  ASSERT_TRUE(settings.ok()) << settings.error().detail;
  EXPECT_THAT(*settings->fair_sharing, ElementsAre(FairStrategy::kLessThanInitialShare));
  ASSERT_TRUE(settings->admission_fair_sharing.has_value());
  EXPECT_EQ(settings->admission_fair_sharing->half_life_s, 168 * 3600);
  EXPECT_EQ(settings->admission_fair_sharing->sampling_interval_s, 120);
  EXPECT_THAT(settings->admission_fair_sharing->resource_weights,
              ElementsAre(testing::Pair("cpu", 2.0), testing::Pair("memory", 0.5)));
  EXPECT_EQ(settings->pods_ready.timeout_s, 5400);
  EXPECT_EQ(settings->pods_ready.recovery_timeout_s, 0);
  EXPECT_TRUE(settings->pods_ready.block_admission);
  EXPECT_FALSE(settings->pods_ready.requeue_by_eviction_time);
  EXPECT_EQ(settings->pods_ready.backoff_base_s, 5);
  EXPECT_EQ(settings->pods_ready.backoff_max_s, 50);
  EXPECT_EQ(settings->pods_ready.backoff_limit, 3);
  EXPECT_THAT(settings->excluded_resource_prefixes, ElementsAre("example.com"));
  EXPECT_TRUE(settings->ignore_undeclared);
  ASSERT_EQ(settings->transformations.size(), 1U);
  EXPECT_TRUE(settings->transformations[0].replace);
  EXPECT_EQ(settings->transformations[0].outputs[0].second, "5Gi");
  EXPECT_EQ(settings->retain_finished_s, 3600);
  EXPECT_EQ(settings->retain_deactivated_s, 90);
  EXPECT_FALSE(settings->partial_admission);
  EXPECT_TRUE(settings->priority_boost);
}

TEST(AdmissionConfig, AnEmptyFairSharingHasBothStrategiesInOrder) {
  const auto settings = Read("fairSharing: {}");
  ASSERT_TRUE(settings.ok());
  EXPECT_THAT(*settings->fair_sharing, ElementsAre(FairStrategy::kLessThanOrEqualToFinalShare,
                                                   FairStrategy::kLessThanInitialShare));
}

TEST(AdmissionConfig, AnEmptyAdmissionFairSharingSamplesEveryFiveMinutes) {
  const auto settings = Read("admissionFairSharing: {}");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->admission_fair_sharing->half_life_s, 0);
  EXPECT_EQ(settings->admission_fair_sharing->sampling_interval_s, 300);
  EXPECT_TRUE(settings->admission_fair_sharing->resource_weights.empty());
}

TEST(AdmissionConfig, EveryMistakeIsNamedAtOnce) {
  const auto settings = Read(R"(
fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}
waitForPodsReady: {timeout: soon, requeuingStrategy: {timestamp: Never}}
admissionFairSharing:
  {usageHalfLifeTime: -1h, usageSamplingInterval: 0s, resourceWeights: {cpu: -1}}
featureGates: {NoSuchGate: true, MultiKueueOrchestratedPreemption: true}
colour: blue
)");
  ASSERT_FALSE(settings.ok());
  std::vector<std::string> fields;
  for (const FieldError& one : settings.error().fields) fields.push_back(one.field);
  EXPECT_THAT(
      fields,
      testing::UnorderedElementsAre(
          "fairSharing.preemptionStrategies", "waitForPodsReady.timeout",
          "waitForPodsReady.requeuingStrategy.timestamp", "admissionFairSharing.usageHalfLifeTime",
          "admissionFairSharing.usageSamplingInterval", "admissionFairSharing.resourceWeights[cpu]",
          "featureGates[NoSuchGate]", "featureGates[MultiKueueOrchestratedPreemption]", "colour"));
}

}  // namespace
}  // namespace muster
