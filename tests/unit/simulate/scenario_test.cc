#include "schedd/text/documents.h"
#include "tests/unit/simulate/sim_world.h"

namespace muster::simulate::testing {
namespace {

Error ErrorOf(const std::string& yaml, const ReadOptions& options = {}) {
  const auto documents = ParseDocuments(yaml);
  EXPECT_TRUE(documents.ok());
  const auto scenario = ReadScenario(documents.value(), options);
  EXPECT_FALSE(scenario.ok()) << "was taken";
  return scenario.ok() ? InvalidArgument("") : scenario.error();
}

TEST(ScenarioFromManifests, JobsAreNumberedAsTheyArrive) {
  const Scenario scenario = ScenarioOf(Flavor() + Queue("a", 4) + Job({"late", "a", 1, "1h"}) +
                                       Job({"early", "a", 1, "90"}));
  ASSERT_EQ(scenario.jobs.size(), 2u);
  EXPECT_EQ(scenario.jobs[0].job->name, "early");
  EXPECT_EQ(scenario.jobs[0].job->id.value, 1);
  EXPECT_EQ(scenario.jobs[0].arrival.us - kClockStart.us, 90 * kMicrosPerSecond);
  EXPECT_EQ(scenario.jobs[1].job->submit_time, scenario.jobs[1].arrival);
  EXPECT_EQ(scenario.jobs[1].run_us, 10 * kMicrosPerSecond);
}

TEST(ScenarioFromManifests, AMissingRunTimeIsNamedUnlessAllJobsHaveOne) {
  const std::string yaml =
      Flavor() + Queue("a", 1) +
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, labels: {kueue.x-k8s.io/queue-name: "
      "a}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n";
  const Error error = ErrorOf(yaml);
  ASSERT_EQ(error.fields.size(), 1u);
  EXPECT_EQ(error.fields[0].field, "documents[3].metadata.annotations[muster.io/run-time]");
  ReadOptions options;
  options.run_us = 5 * kMicrosPerSecond;
  options.arrival_us = 2 * kMicrosPerSecond;
  EXPECT_EQ(Story(ScenarioOf(yaml, options)), (Lines{"2s Admitted x", "7s Finished x"}));
}

TEST(ScenarioFromManifests, WrongFieldsAreNamedWithTheirDocument) {
  const Error error = ErrorOf(Flavor() +
                              "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\n"
                              "metadata: {name: q}\nspec: {cohrt: all}\n");
  ASSERT_FALSE(error.fields.empty());
  EXPECT_EQ(error.fields[0].field, "documents[1].spec.cohrt");
  const Error job = ErrorOf(Flavor() + Queue("a", 1) + Job({"x", "elsewhere"}));
  ASSERT_EQ(job.fields.size(), 1u);
  EXPECT_NE(job.fields[0].message.find("LocalQueue \"elsewhere\" does not exist"),
            std::string::npos);
  const Error time = ErrorOf(Flavor() + Queue("a", 1) + Job({"x", "a", 1, "soon"}));
  ASSERT_EQ(time.fields.size(), 1u);
  EXPECT_EQ(time.fields[0].field, "documents[3].metadata.annotations[muster.io/arrival]");
}

TEST(ScenarioFromManifests, DocumentsComeOnTopOfTheBase) {
  ReadOptions options;
  options.base = ScenarioOf(Flavor() + Queue("a", 1)).config;
  const Scenario scenario = ScenarioOf(Queue("a", 2) + Job({"wide", "a", 2}), options);
  EXPECT_EQ(Story(scenario)[0], "0s Admitted wide");
  EXPECT_EQ(Story(ScenarioOf(Job({"wide", "a", 2}), options)), Lines{});
}

TEST(ScenarioFromManifests, MoreJobsThanAllowedAreRefused) {
  ReadOptions options;
  options.max_jobs = 1;
  const Error error =
      ErrorOf(Flavor() + Queue("a", 1) + Job({"x", "a"}) + Job({"y", "a"}), options);
  EXPECT_NE(error.detail.find("more than 1 jobs"), std::string::npos) << error.detail;
}

TEST(Edits, ChangeOneAmountOrSayWhatIsNotThere) {
  const Scenario before = ScenarioOf(
      Flavor() + Queue("a", 4, "  cohort: all\n") + Queue("b", 4, "  cohort: all\n") +
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Cohort\nmetadata: {name: all}\nspec:\n"
      "  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: default\n"
      "      resources: [{name: cpu, nominalQuota: 1}]\n---\n"
      "apiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata:\n"
      "  name: east\n  annotations: {muster.io/backend: simulated, "
      "muster.io/allocatable: '{\"cpu\":\"8\"}'}\n---\n");
  const auto quota = [](const Scenario& scenario) {
    return scenario.config->cluster_queues.at("a")
        .resource_groups[0]
        .flavors[0]
        .resources[0]
        .second;
  };
  const auto edited = [&](const std::string& edit) {
    const auto after = Edited(before, {edit});
    EXPECT_TRUE(after.ok()) << edit << ": " << (after.ok() ? "" : after.error().detail);
    return after.ok() ? *after : before;
  };
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu=+8")).nominal, 12'000);
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu=-1500m")).nominal, 2500);
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu.nominalQuota=7")).nominal, 7000);
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu.borrowingLimit=3")).borrowing_limit, 3000);
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu.lendingLimit=0")).lending_limit, 0);
  EXPECT_EQ(quota(edited("clusterqueue/a:default/cpu.lendingLimit=none")).lending_limit,
            std::nullopt);
  EXPECT_EQ(edited("cohort/all:default/cpu=+1")
                .config->cohorts.at("all")
                .resource_groups[0]
                .flavors[0]
                .resources[0]
                .second.nominal,
            2000);
  EXPECT_EQ(
      AmountOf(edited("membercluster/east:cpu=+8").config->member_clusters.at("east").allocatable,
               "cpu"),
      16'000);
  const std::pair<const char*, const char*> refused[] = {
      {"clusterqueue/a:default/cpu", "an edit reads"},
      {"queue/a:default/cpu=1", "an edit reads"},
      {"clusterqueue/z:default/cpu=1", "clusterqueue \"z\" does not exist"},
      {"clusterqueue/a:spot/cpu=1", "has no quota of \"spot/cpu\""},
      {"clusterqueue/a:default/cpu=lots", "lots"},
      {"clusterqueue/a:default/cpu=-9", "less than nothing"},
      {"clusterqueue/a:default/cpu.borrowingLimit=+1", "no limit to change"},
      {"cohort/none:default/cpu=1", "cohort \"none\" does not exist"},
  };
  for (const auto& [edit, why] : refused) {
    const auto after = Edited(before, {edit});
    ASSERT_FALSE(after.ok()) << edit;
    EXPECT_NE(after.error().detail.find(why), std::string::npos) << after.error().detail;
  }
}

}  // namespace
}  // namespace muster::simulate::testing
