#include "schedd/shapes/parts/requeue_wait.h"

#include "schedd/base/limits.h"
#include "schedd/text/duration.h"
#include "schedd/text/json.h"

namespace muster::shapes {

std::int64_t ReadRequeueWaitMs(const Field& annotations) {
  const Field annotation = annotations.Named("muster.io/requeue-wait");
  const auto text = annotation.String();
  if (!text) return limits::kRequeueWaitMs;
  const auto wait_ms = ParseDurationMs(*text);
  if (!wait_ms || *wait_ms < 0 || *wait_ms > limits::kRequeueWaitMaxMs) {
    annotation.Fail("must be a duration of at most 24h, such as 2m; 0s: requeued jobs do not wait");
    return limits::kRequeueWaitMs;
  }
  return *wait_ms;
}

std::int64_t RequeueWaitMs(const StoredObject* cluster_queue) {
  if (cluster_queue == nullptr) return limits::kRequeueWaitMs;
  const Result<json::value> manifest = ParseJson(cluster_queue->manifest);
  if (!manifest.ok()) return limits::kRequeueWaitMs;
  Problems problems;  // dropped: the annotation was checked when the object was applied
  return ReadRequeueWaitMs(Field(*manifest, &problems)["metadata"]["annotations"]);
}

}  // namespace muster::shapes
