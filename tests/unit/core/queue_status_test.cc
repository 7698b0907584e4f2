// The status of a queue: why it admits nothing, and how much of its quota is used.
#include "schedd/core/quota/queue_status.h"

#include <gtest/gtest.h>

namespace muster::core {
namespace {

ClusterQueue QueueOn(const std::vector<std::string>& flavors) {
  ClusterQueue queue;
  queue.name = "q";
  ResourceGroup group;
  group.covered_resources = {"cpu"};
  for (const auto& flavor : flavors) group.flavors.push_back({flavor, {{"cpu", {10, {}, {}}}}});
  queue.resource_groups = {group};
  return queue;
}

ConfigView ConfigOf(const ClusterQueue& queue) {
  ConfigView config;
  config.cluster_queues["q"] = queue;
  config.flavors["f"].name = "f";
  const std::vector<AdmissionCheck> checks = {
      {"ready", "example.com/x", true, 0},
      {"asleep", "example.com/x", false, 0},
      {"far", "kueue.x-k8s.io/multikueue", true, 0},
      {"farther", "kueue.x-k8s.io/multikueue", true, 0},
      {"machines", "kueue.x-k8s.io/provisioning-request", true, 0}};
  for (const auto& check : checks) config.admission_checks[check.name] = check;
  config.flavors["racks"] = {"racks", {}, {}, {}, "no-such-topology"};
  return config;
}

struct ReadinessCase {
  std::string name;
  std::vector<std::string> flavors;
  std::vector<AdmissionCheckRule> checks;
  StopPolicy stop = StopPolicy::kNone;
  std::string reason, message;
};

TEST(Readiness, NamesTheFirstReasonAndEveryProblem) {
  const std::string cannot = "Can't admit new workloads: ";
  const std::vector<ReadinessCase> cases = {
      {"nothing wrong",
       {"f"},
       {{"ready", {}}},
       StopPolicy::kNone,
       "Ready",
       "Can admit new workloads"},
      {"stopped and incomplete",
       {"z", "a", "z"},
       {},
       StopPolicy::kHold,
       "Stopped",
       cannot + "is stopped, references missing ResourceFlavor(s): z,a."},
      {"checks in alphabetical order",
       {"f"},
       {{"two", {}}, {"one", {}}, {"asleep", {}}},
       StopPolicy::kNone,
       "AdmissionCheckNotFound",
       cannot + "references missing AdmissionCheck(s): one,two, references inactive "
                "AdmissionCheck(s): asleep."},
      {"two dispatchers",
       {"f"},
       {{"farther", {}}, {"far", {}}},
       StopPolicy::kNone,
       "MultipleMultiKueueAdmissionChecks",
       cannot + "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
                "far,farther."},
      {"a dispatcher for one flavor",
       {"f"},
       {{"far", {"f"}}},
       StopPolicy::kNone,
       "MultiKueueAdmissionCheckAppliedPerFlavor",
       cannot + "Cannot specify MultiKueue AdmissionCheck per flavor, found: far."},
      {"machines for nobody",
       {"f"},
       {{"machines", {}}, {"far", {}}},
       StopPolicy::kNone,
       "MultiKueueWithProvisioningRequest",
       cannot + "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
                "found: far,machines."},
      {"a flavor without its topology",
       {"racks"},
       {},
       StopPolicy::kNone,
       "TopologyNotFound",
       cannot + "there is no Topology \"no-such-topology\" for TAS flavor \"racks\"."},
  };
  for (const auto& c : cases) {
    ClusterQueue queue = QueueOn(c.flavors);
    queue.admission_checks = c.checks;
    queue.stop_policy = c.stop;
    const ConfigView config = ConfigOf(queue);
    const Readiness readiness = ReadinessOf(config, {}, *QuotaTree::Build(config), queue, false);
    EXPECT_EQ(readiness.reason, c.reason) << c.name;
    EXPECT_EQ(readiness.message, c.message) << c.name;
    EXPECT_EQ(readiness.active, c.reason == "Ready") << c.name;
  }
}

TEST(Readiness, KnowsCyclesDeletionAndTheGate) {
  ClusterQueue queue = QueueOn({"racks"});
  queue.cohort = "c";
  ConfigView config = ConfigOf(queue);
  AdmissionSettings off;
  off.tas = false;
  const auto tree = QuotaTree::Build(config);
  EXPECT_TRUE(ReadinessOf(config, off, *tree, queue, false).active);
  EXPECT_EQ(ReadinessOf(config, off, *tree, queue, true).reason, "Terminating");
  config.cohorts["c"] = {"c", "c", {}};
  EXPECT_EQ(ReadinessOf(config, off, *QuotaTree::Build(config), queue, false).message,
            "Can't admit new workloads: its cohorts form a cycle.");
}

TEST(Use, IsBorrowedOnlyInACohort) {
  ClusterQueue queue = QueueOn({"f", "g"});
  const auto held = [](const std::string& flavor, const std::string&) -> std::int64_t {
    return flavor == "f" ? 13 : 0;
  };
  for (const bool in_cohort : {false, true}) {
    queue.cohort = in_cohort ? "c" : "";
    const auto use = UseOf(queue, held);
    ASSERT_EQ(use.size(), 2U);
    EXPECT_EQ(use[0].resources[0].total, 13);
    EXPECT_EQ(use[0].resources[0].borrowed, in_cohort ? 3 : 0);
    EXPECT_EQ(use[1].resources[0].total, 0) << "every flavor is shown";
  }
}

}  // namespace
}  // namespace muster::core
