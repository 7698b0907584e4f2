#include "api/service/partition_defaults.h"

#include <utility>

#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

bool Has(const json::object& spec, const char* field) {
  const json::value* value = spec.if_contains(field);
  return value != nullptr && !value->is_null();
}

}  // namespace

Status ApplyPartitionDefaults(const PartitionProperties& partition, shapes::ParsedJob* job) {
  if (job->shape != ShapeKind::kBatchScript || !job->manifest.is_object()) return Done{};
  json::value manifest = job->manifest;
  json::object& spec = MakeObjectAt(manifest.get_object(), "spec");
  bool changed = false;
  const std::int64_t time_s =
      partition.default_time_s > 0 ? partition.default_time_s : partition.max_time_s;
  if (time_s > 0 && job->time_limit_s == 0 && !Has(spec, "timeLimit")) {
    spec["timeLimit"] = (time_s + 59) / 60;  // in minutes
    changed = true;
  }
  const bool asks_memory = Has(spec, "memoryPerNode") || Has(spec, "memoryPerCpu") ||
                           Has(spec, "memoryPerGpu") || Has(spec, "resources");
  if (partition.default_mem_per_cpu_mb > 0 && !asks_memory) {
    spec["memoryPerCpu"] = std::to_string(partition.default_mem_per_cpu_mb) + "M";
    changed = true;
  }
  if (!changed) return Done{};
  Result<shapes::ParsedJob> again = shapes::ParseJob(std::move(manifest));
  if (!again.ok()) return again.error();
  *job = std::move(*again);
  return Done{};
}

}  // namespace muster::api
