// Annotations muster.io/partition-* of a LocalQueue: its properties as a partition of Slurm
// (rule B29), in Slurm's notations.
#include <charconv>

#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/slurm_amounts.h"

namespace muster::shapes {
namespace {

constexpr std::int64_t kPartitionMegabyte = 1 << 20;
constexpr std::int32_t kPartitionNumberMost = 1'000'000;

// Slurm's notation; 0 if the annotation is absent, unlimited or wrong.
std::int64_t PartitionTime(const Field& annotation) {
  const auto text = annotation.String();
  if (!text) return 0;
  const auto seconds = ParseSlurmTime(*text);
  if (!seconds) annotation.Fail("must be a time limit of Slurm, such as 30, 1:00:00 or 2-0");
  return seconds.value_or(0);
}

std::int32_t PartitionNumber(const Field& annotation, std::int32_t otherwise, std::int32_t least) {
  const auto text = annotation.String();
  if (!text) return otherwise;
  std::int32_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc() || end != text->data() + text->size() || number < least ||
      number > kPartitionNumberMost) {
    annotation.Fail("must be a number from " + std::to_string(least) + " to " +
                    std::to_string(kPartitionNumberMost));
    return otherwise;
  }
  return number;
}

// In megabytes, a part of one rounded up.
std::int64_t PartitionMemory(const Field& annotation) {
  const auto text = annotation.String();
  if (!text) return 0;
  const auto bytes = ParseSlurmMemory(*text);
  if (!bytes) {
    annotation.Fail("must be an amount of memory, in megabytes or with a unit, such as 2000 or 4G");
    return 0;
  }
  return *bytes / kPartitionMegabyte + (*bytes % kPartitionMegabyte != 0 ? 1 : 0);
}

}  // namespace

PartitionProperties ReadPartition(const Field& annotations) {
  using State = PartitionProperties::State;
  PartitionProperties read;
  read.is_default =
      annotations.Named("muster.io/partition-default").OneOf({"true", "false"}) == "true";
  const auto state =
      annotations.Named("muster.io/partition-state").OneOf({"up", "down", "drain", "inactive"});
  if (state == "down") read.state = State::kDown;
  if (state == "drain") read.state = State::kDrain;
  if (state == "inactive") read.state = State::kInactive;
  const Field default_time = annotations.Named("muster.io/partition-default-time");
  read.default_time_s = PartitionTime(default_time);
  read.max_time_s = PartitionTime(annotations.Named("muster.io/partition-max-time"));
  if (read.max_time_s > 0 && read.default_time_s > read.max_time_s)
    default_time.Fail("is longer than muster.io/partition-max-time");
  const Field min_nodes = annotations.Named("muster.io/partition-min-nodes");
  read.min_nodes = PartitionNumber(min_nodes, 0, 0);
  read.max_nodes = PartitionNumber(annotations.Named("muster.io/partition-max-nodes"), 0, 1);
  if (read.max_nodes > 0 && read.min_nodes > read.max_nodes)
    min_nodes.Fail("is more than muster.io/partition-max-nodes");
  const Field default_memory = annotations.Named("muster.io/partition-default-memory-per-cpu");
  read.default_mem_per_cpu_mb = PartitionMemory(default_memory);
  read.max_mem_per_cpu_mb =
      PartitionMemory(annotations.Named("muster.io/partition-max-memory-per-cpu"));
  if (read.max_mem_per_cpu_mb > 0 && read.default_mem_per_cpu_mb > read.max_mem_per_cpu_mb)
    default_memory.Fail("is more than muster.io/partition-max-memory-per-cpu");
  read.tier = PartitionNumber(annotations.Named("muster.io/partition-tier"), 1, 0);
  return read;
}

}  // namespace muster::shapes
