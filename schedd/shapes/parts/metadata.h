// The metadata that all kinds of jobs share: names, labels, the queue and the priority class, and
// the refusal of Kueue annotations whose features this version does not have (rules A9, A34, A55).
//
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/parsed_job.h"

namespace muster::shapes {

inline constexpr std::string_view kQueueKey = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityKey = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kMaxExecTimeKey = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kPriorityBoostKey = "kueue.x-k8s.io/priority-boost";
inline constexpr std::string_view kAdmissionGatedByKey = "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view kElasticJobKey = "kueue.x-k8s.io/elastic-job";
inline constexpr std::string_view kClusterKey = "muster.io/cluster";
inline constexpr std::string_view kMinParallelismKey = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view kSyncCompletionsKey =
    "kueue.x-k8s.io/job-completions-equal-parallelism";

/// How long the names of a kind may be: names and labels of its pods are made from them.
struct NameRule {
  std::size_t max_bytes = 253;
  bool dns1035 = false;        // the name is used for a Service too
  bool may_be_absent = false;  // the service gives a batch script its name
};

/// Fills the fields of `job` that metadata has: name, generate_name, ns, queue, priority_class,
/// priority_boost, admission_gated_by, placement and, from max-exec-time-seconds, max_execution_s
/// and time_limit_s.
void ReadJobMetadata(const Field& root, const NameRule& rule, ParsedJob* job);

/// Check the labels and annotations of any object: keys, values, and that values are strings.
void CheckLabels(const Field& labels);
void CheckAnnotations(const Field& annotations);

/// The names of an annotation that separates them by commas, sorted and each once; spaces around a
/// name are ignored. None, and the problem `rule`, if one of them is not `good`.
std::vector<std::string> ReadNameList(const Field& annotation, bool (*good)(std::string_view),
                                      const char* rule);

/// metadata.name of a configuration object: a segment of a path, or a DNS subdomain; "" and a
/// problem if it is missing or malformed.
std::string ReadObjectName(const Field& metadata, bool path_segment);

/// Refuses unknown members of metadata. Members that an API server writes are known and ignored.
void CheckMetadataMembers(const Field& metadata);

/// `manifest` without status and without the members of metadata that only an API server writes
/// (managedFields, uid, ...).
json::value WithoutServerFields(json::value manifest);

}  // namespace muster::shapes
