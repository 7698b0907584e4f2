// Builders: the smallest valid jobs and queue objects, as manifests and as records.
#pragma once

#include <string>
#include <vector>

#include "schedd/world/command.h"

namespace muster::test {

/// A pod set: how many pods, and what each asks for.
struct Pods {
  std::int32_t count = 1;
  ResourceList each = {{"cpu", 1000}};
  std::string name = "main";
};

struct JobSpec {
  std::string name = "job";
  std::string ns = "default";
  std::string queue = "queue";
  std::string cluster_queue = "cq";
  std::vector<Pods> pods = {Pods{}};
  std::int32_t priority = 0;
  std::int64_t ttl_s = -1;
  bool held = false;
  std::string uid_seed = "";  // gives another uid to a name that was used before
  bool no_requeue = false;    // a batch script with --no-requeue
  std::string priority_class = "";
  std::int64_t max_execution_s = 0;
  std::int64_t time_limit_s = 0;
  std::string array = "";  // a batch script with --array
  std::string required_topology = "";  // node label of the level that holds all pods of a set
};

/// A submission as the service posts it. Its uid is computed from the namespace and the name.
Submission MakeSubmission(const JobSpec& spec);
Uid UidOf(const std::string& text);

/// Objects, each as the one change that applies it.
ObjectChange NamespaceObject(const std::string& name);
ObjectChange FlavorObject(const std::string& name);
ObjectChange LocalQueueObject(const std::string& name, const std::string& cluster_queue,
                              const std::string& stop_policy = "None");
ObjectChange MemberObject(const std::string& name, const ResourceList& allocatable);

struct QueueSpec {
  std::string name = "cq";
  std::string cohort = "";
  ResourceList nominal = {{"cpu", 4000}};
  std::string flavor = "default";
  std::string strategy = "BestEffortFIFO";
  std::string stop_policy = "None";
  std::string within = "Never";   // preemption.withinClusterQueue
  std::string reclaim = "Never";  // preemption.reclaimWithinCohort
  std::vector<std::string> checks = {};
};
ObjectChange ClusterQueueObject(const QueueSpec& spec);
ObjectChange CheckObject(const std::string& name);
/// A ClusterResourcePlacement or ResourcePlacement; `ns` is "" for the first.
ObjectChange PlacementObject(ObjectKind kind, const std::string& ns, const std::string& name,
                             const std::string& spec_json);
ObjectChange PriorityClassObject(const std::string& name, std::int32_t value);
/// The same change with another value of a field of its spec.
ObjectChange WithSpec(ObjectChange change, const std::string& field, const std::string& json_text);
/// The same change with an annotation.
ObjectChange WithAnnotation(ObjectChange change, const std::string& key, const std::string& value);
ObjectChange Removal(ObjectKind kind, const std::string& ns, const std::string& name);

}  // namespace muster::test
