// What status shows of queues: cluster-queue-readiness, cluster-queue-usage, local-queue-usage.
#include "schedd/base/quantity.h"
#include "schedd/core/quota/queue_status.h"
#include "schedd/model/requests.h"
#include "schedd/shapes/config/object_readers.h"
#include "tests/conformance/compare.h"

namespace muster::conformance {
namespace {

void ClusterQueueReadiness(const Case& test, Report* report) {
  World world = LoadWorld(test);
  if (const json::value& updated = test.Input("updatedClusterQueue"); !updated.is_null()) {
    shapes::Problems problems;
    ClusterQueue queue = shapes::ReadClusterQueue(shapes::Field(updated, &problems));
    std::string name = queue.name;
    world.config.cluster_queues[name] = std::move(queue);
  }
  const std::string name(std::string_view(test.Input("clusterQueue").as_string()));
  const auto tree = core::QuotaTree::Build(world.config);
  const bool terminating = test.Input("terminate").is_bool() && test.Input("terminate").get_bool();
  // A name that leads nowhere, as a LocalQueue may have one.
  const auto queue = world.config.cluster_queues.find(name);
  const core::Readiness readiness =
      queue == world.config.cluster_queues.end()
          ? core::Readiness{false, "NotFound", "ClusterQueue not found"}
          : core::ReadinessOf(world.config, world.settings, *tree, queue->second, terminating);
  Check(test, "active", readiness.active, report);
  Check(test, "status", readiness.active ? "True" : "False", report);
  Check(test, "terminating", terminating, report);
  Check(test, "reason", json::string(readiness.reason), report);
  Check(test, "message", json::string(readiness.message), report);
}

json::array UseJson(const std::vector<core::FlavorUse>& flavors, bool borrowed) {
  json::array list;
  for (const auto& flavor : flavors) {
    json::array resources;
    for (const auto& use : flavor.resources) {
      json::object item = {{"name", use.resource},
                           {"total", FormatQuantity(use.resource, use.total)}};
      if (borrowed) item["borrowed"] = FormatQuantity(use.resource, use.borrowed);
      resources.push_back(std::move(item));
    }
    list.push_back(json::object{{"name", flavor.flavor}, {"resources", std::move(resources)}});
  }
  return list;
}

std::vector<const JobRecord*> JobsWith(const World& world, const char* condition) {
  std::vector<const JobRecord*> jobs;
  for (const auto& job : world.jobs) {
    if (job.admission != nullptr && IsTrue(job, condition) && !IsTrue(job, "Finished"))
      jobs.push_back(&job);
  }
  return jobs;
}

// What `jobs` hold of the queue.
std::vector<core::FlavorUse> UseBy(const World& world, const ClusterQueue& queue,
                                   const std::vector<const JobRecord*>& jobs) {
  const auto tree = core::QuotaTree::Build(world.config);
  core::Usage usage(tree);
  for (const JobRecord* job : jobs) usage.Add(*ChargedAdmission(*job, world.settings));
  const core::NodeIndex node = tree->ClusterQueueIndex(queue.name);
  return core::UseOf(queue, [&](const std::string& flavor, const std::string& resource) {
    return usage.At(node, tree->PairIndex(flavor, resource));
  });
}

void ClusterQueueUsage(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const ClusterQueue& queue = world.config.cluster_queues.begin()->second;
  const auto reserving = JobsWith(world, "QuotaReserved");
  const auto admitted = JobsWith(world, "Admitted");
  Check(test, "reservedResources", UseJson(UseBy(world, queue, reserving), true), report);
  Check(test, "usedResources", UseJson(UseBy(world, queue, admitted), true), report);
  Check(test, "reservingWorkloads", reserving.size(), report);
  Check(test, "admittedWorkloads", admitted.size(), report);
}

void LocalQueueUsage(const Case& test, Report* report) {
  const World world = LoadWorld(test);
  const auto& [key, local] = *world.config.local_queues.begin();
  const auto queue = world.config.cluster_queues.find(local.cluster_queue);
  std::vector<const JobRecord*> reserving;
  for (const JobRecord* job : JobsWith(world, "QuotaReserved")) {
    if (job->ns == local.ns && job->local_queue == local.name) reserving.push_back(job);
  }
  json::array use;
  if (queue != world.config.cluster_queues.end())
    use = UseJson(UseBy(world, queue->second, reserving), false);
  Check(test, "reservedResources", use, report);
}

const Registration kReadiness("cluster-queue-readiness", ClusterQueueReadiness);
const Registration kClusterQueue("cluster-queue-usage", ClusterQueueUsage);
const Registration kLocalQueue("local-queue-usage", LocalQueueUsage);

}  // namespace
}  // namespace muster::conformance
