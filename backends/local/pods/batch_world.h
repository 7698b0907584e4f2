// BatchWorld: what the annotations of a pod template say of the world that a batch script finds
// (rule B37). Pure.
//
//   muster.io/batch: "true"         the pod belongs to a batch script
//   muster.io/hosts: "a-0,a-1"      the hosts of the pods of this template, by completion index
//   muster.io/umask: "0022"         of the submitter, octal
//   muster.io/limits: {"NOFILE": 4096, "CORE": -1}   his soft limits; -1: unlimited
//   muster.io/signal: "10@60", "B:10@60"             a number, and the seconds before the limit
//   muster.io/time-limit-s: "3600"  the time limit that the signal is counted from
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/local/pods/json_read.h"
#include "schedd/base/result.h"

namespace muster::local {

struct BatchWorld {
  std::vector<std::string> hosts;
  int umask = -1;                                            // -1: the usual one
  std::vector<std::pair<std::string, std::int64_t>> limits;  // by the names of prlimit(1)
  int warning_signal = 0;                                    // 0: none
  std::int64_t warning_before_s = 0;
  bool warning_batch_only = false;  // to the batch shell alone; else to the steps alone
  std::int64_t time_limit_s = 0;    // 0: none
};

/// Whether pods of this template belong to a batch script.
bool IsBatchPod(const json::object& pod_template);

/// Errors (kInvalidArgument) name the annotation.
Result<BatchWorld> ReadBatchWorld(const json::object& pod_template);

/// The host of the pod with this completion index (-1: the only pod); "" if it has none.
std::string HostOf(const BatchWorld& world, std::int32_t index);

/// The loopback address (127.x.y.z) of a job's host. Hosts of one `seed` differ; those of different
/// seeds nearly always do.
std::string LoopbackOf(std::string_view seed, std::size_t number);

/// Whole cpus that the template's first container may use, rounded up; 0: no limit.
int CpusAsked(const json::object& pod_template);
/// The amount of `resource`, such as nvidia.com/gpu, that the template's containers ask for.
int DevicesAsked(const json::object& pod_template, std::string_view resource);

}  // namespace muster::local
