// The section `limits:` of the configuration file (rules U74, U75).
#include "schedd/daemon/limits_config.h"

#include <gtest/gtest.h>

#include "schedd/text/yaml.h"

namespace muster {
namespace {

Result<TenantLimits> Read(const std::string& section) {
  const auto documents = ParseYaml(section);
  EXPECT_TRUE(documents.ok()) << section;
  return ReadTenantLimits((*documents)[0]);
}

TEST(LimitsConfig, TakesEveryKey_AndLeavesTheOthersAtTheirDefaults) {
  const auto all = Read(
      "{pending-jobs-per-user: 10, pending-jobs-per-namespace: 20, "
      "requests-per-second-per-user: 0.5, burst: 3, streams-per-user: 4, "
      "connections-per-peer: 5}");
  ASSERT_TRUE(all.ok()) << all.error().detail;
  EXPECT_EQ(all->pending_jobs_per_user, 10U);
  EXPECT_EQ(all->pending_jobs_per_namespace, 20U);
  EXPECT_EQ(all->requests_per_second_per_user, 0.5);
  EXPECT_EQ(all->burst, 3);
  EXPECT_EQ(all->streams_per_user, 4U);
  EXPECT_EQ(all->connections_per_peer, 5U);
  const auto one = Read("{streams-per-user: 0}");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->streams_per_user, 0U);
  EXPECT_EQ(one->burst, limits::kRequestBurst);
  EXPECT_EQ(one->pending_jobs_per_user, limits::kPendingJobsPerUser);
}

TEST(LimitsConfig, RefusesTheRest_AllAtOnce) {
  const auto wrong = Read(
      "{pending-jobs-per-user: -1, pending-jobs-per-namespace: 1.5, burst: 0, "
      "requests-per-second-per-user: fast, stream-per-user: 4}");
  ASSERT_FALSE(wrong.ok());
  std::string fields;
  for (const FieldError& one : wrong.error().fields) fields += one.field + " ";
  EXPECT_EQ(fields,
            "pending-jobs-per-user pending-jobs-per-namespace burst "
            "requests-per-second-per-user stream-per-user ");
  EXPECT_EQ(wrong.error().fields.back().message, "unknown key");
  TenantLimits kept;
  std::vector<FieldError> problems;
  TakeTenantLimits("/etc/muster.yaml", (*ParseYaml("{burst: 0}"))[0], &kept, &problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].field, "/etc/muster.yaml: limits.burst");
  EXPECT_EQ(problems[0].message, "must be a number from 1 to 10000000");
  problems.clear();
  TakeTenantLimits("f", json::value("many"), &kept, &problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "must be a mapping");
}

}  // namespace
}  // namespace muster
