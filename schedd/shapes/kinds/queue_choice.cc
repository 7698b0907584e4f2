// Resolves the names that a job gives against the configuration, each with a default. A name that
// leads nowhere is an error of the field in which the user wrote it: a label of the manifest, or a
// field of the request with a batch script.
#include "schedd/shapes/kinds/queue_choice.h"

#include "schedd/base/name_list.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kQueueField = "metadata.labels[kueue.x-k8s.io/queue-name]";
constexpr std::string_view kPriorityField = "metadata.labels[kueue.x-k8s.io/priority-class]";
constexpr const char* kDefault = "default";

Error WithPathOf(std::string_view field, const std::string& message) {
  return InvalidField(std::string(field), message);
}

bool TakesJobs(const PartitionProperties& partition) {
  using State = PartitionProperties::State;
  return partition.state == State::kUp || partition.state == State::kDown;
}

// A partition in which the job could start by its account, its state and its limits of time and
// nodes.
bool CouldRunIn(const LocalQueue& queue, const ParsedJob& job) {
  const PartitionProperties& partition = queue.partition;
  if (job.expected_cluster_queue && *job.expected_cluster_queue != queue.cluster_queue)
    return false;
  const bool in_time = partition.max_time_s == 0 || job.time_limit_s == 0 ||
                       job.time_limit_s <= partition.max_time_s;
  const std::int32_t nodes = job.batch == nullptr ? 1 : job.batch->nodes;
  const bool fits = partition.max_nodes == 0 || nodes <= partition.max_nodes;
  return partition.state == PartitionProperties::State::kUp && in_time && fits;
}

// The LocalQueue of a script that names none (rule B29): the one of the namespace that says so, the
// one named `default`, or the only one. "" if it cannot be told.
std::string DefaultQueue(const ConfigView& config, const std::string& ns) {
  std::string only, said;
  std::size_t queues = 0;
  for (auto queue = config.local_queues.lower_bound({ns, ""});
       queue != config.local_queues.end() && queue->first.first == ns; ++queue) {
    only = queue->first.second;
    ++queues;
    if (queue->second.partition.is_default && said.empty()) said = only;
  }
  if (!said.empty()) return said;
  if (queues == 1 && !config.local_queues.contains({ns, kDefault})) return only;
  return kDefault;
}

// "a,b": the first in which the job could run now, else the first. A name that leads nowhere is
// returned as the answer, for its refusal.
std::string OneOfQueues(const ConfigView& config, const std::string& ns, const ParsedJob& job) {
  std::string first, chosen;
  for (const std::string_view one : NamesIn(job.queue)) {
    const std::string name(one);
    const auto queue = config.local_queues.find({ns, name});
    if (queue == config.local_queues.end()) return name;
    if (first.empty()) first = name;
    if (chosen.empty() && CouldRunIn(queue->second, job)) chosen = name;
  }
  return chosen.empty() ? first : chosen;
}

}  // namespace

Result<std::string> ResolveNamespace(const ConfigView& config, const std::string& of_path,
                                     const std::string& of_manifest) {
  if (!of_path.empty() && !of_manifest.empty() && of_path != of_manifest) {
    return InvalidField(
        "metadata.namespace",
        "is \"" + of_manifest + "\", but the request is for namespace \"" + of_path + "\"");
  }
  std::string ns = !of_manifest.empty() ? of_manifest : !of_path.empty() ? of_path : kDefault;
  if (!config.namespaces.contains(ns)) {
    return Error{Code::kNotFound,
                 "namespace \"" + ns + "\" does not exist",
                 {{"metadata.namespace", "namespace \"" + ns + "\" does not exist"}}};
  }
  return ns;
}

Result<QueueChoice> ResolveQueue(const ConfigView& config, const std::string& ns,
                                 const ParsedJob& job) {
  QueueChoice choice;
  // The problems of a batch script name the fields of its request: it has no labels.
  const bool script = job.shape == ShapeKind::kBatchScript;
  const std::string_view queue_field = script ? "queue" : kQueueField;
  choice.local_queue = job.queue.empty() ? kDefault : job.queue;
  if (script && job.queue.empty()) choice.local_queue = DefaultQueue(config, ns);
  if (script && job.queue.find(',') != std::string::npos)
    choice.local_queue = OneOfQueues(config, ns, job);
  const auto queue = config.local_queues.find({ns, choice.local_queue});
  if (queue == config.local_queues.end()) {
    if (job.queue.empty()) {
      return WithPathOf(queue_field, "the job names no queue, and namespace \"" + ns +
                                         "\" has no LocalQueue named \"default\"");
    }
    return WithPathOf(queue_field, "LocalQueue \"" + choice.local_queue +
                                       "\" does not exist in namespace \"" + ns + "\"");
  }
  if (!TakesJobs(queue->second.partition)) {
    return WithPathOf(queue_field, "LocalQueue \"" + choice.local_queue +
                                       "\" takes no jobs now: Required partition not available "
                                       "(inactive or drain)");
  }
  // Whether that ClusterQueue exists is not asked: the job may wait for it.
  choice.cluster_queue = queue->second.cluster_queue;
  if (job.expected_cluster_queue && *job.expected_cluster_queue != choice.cluster_queue) {
    return InvalidField(script ? "account" : "spec.admission.clusterQueue",
                        "is \"" + *job.expected_cluster_queue + "\", but LocalQueue \"" +
                            choice.local_queue + "\" feeds ClusterQueue \"" + choice.cluster_queue +
                            "\"");
  }
  choice.priority_class = job.priority_class;
  if (choice.priority_class.empty() && config.priority_classes.contains(kDefault)) {
    choice.priority_class = kDefault;
  }
  if (!choice.priority_class.empty()) {
    const auto priority = config.priority_classes.find(choice.priority_class);
    if (priority == config.priority_classes.end()) {
      return WithPathOf(script ? std::string_view("priorityClass") : kPriorityField,
                        "WorkloadPriorityClass \"" + choice.priority_class + "\" does not exist");
    }
    choice.priority = priority->second.value;
  }
  return choice;
}

}  // namespace muster::shapes
