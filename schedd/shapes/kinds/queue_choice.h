// Where a job goes: its namespace, LocalQueue, ClusterQueue and priority class, resolved against a
// configuration. Pure.
#pragma once

#include <string>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::shapes {

/// Where a job goes, resolved against a configuration.
struct QueueChoice {
  std::string local_queue, cluster_queue, priority_class;
  std::int32_t priority = 0;
};

/// The namespace of a job. The path and the manifest must agree where both name one; where neither
/// does it is `default`.
/// Errors: they differ (metadata.namespace); the namespace does not exist (kNotFound).
Result<std::string> ResolveNamespace(const ConfigView& config, const std::string& of_path,
                                     const std::string& of_manifest);
/// The queue is the one of the job's label or annotation, else the LocalQueue `default`; of a batch
/// script also the partition that its namespace says is the default one, or the only LocalQueue
/// there is, and the first of several in which it could run (rule B29). A queue that takes no jobs
/// (muster.io/partition-state) is an error. The
/// priority class is that of the label, else the class `default` if there is one (rule A9). A
/// LocalQueue whose ClusterQueue does not exist is accepted: the job waits as Misconfigured, as in
/// Kueue.
Result<QueueChoice> ResolveQueue(const ConfigView& config, const std::string& ns,
                                 const ParsedJob& job);

}  // namespace muster::shapes
