// Bounds of the world of a batch script on a local member (backends/local), and of what the daemon
// reads from files that the job's user writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// Hosts of one job in its /etc/hosts: more than the pods of one local member.
inline constexpr std::size_t kBatchHosts = 16'384;
// GPUs that a batch script may ask for on one node, and that its environment lists by number: Linux
// takes a variable of at most 128 KiB.
inline constexpr std::int64_t kGpusPerNode = 10'000;
// A path that a script's submission names (PATH_MAX of Linux), and another text of one line.
inline constexpr std::size_t kBatchPathBytes = 4096, kBatchTextBytes = 1024;
// steps.jsonl, which the job's user writes: its whole size, one line, one read, and the highest
// number of a step (Slurm's MaxStepCount is 40,000).
inline constexpr std::int64_t kStepFileBytes = 256 << 20;
inline constexpr std::size_t kStepLineBytes = 64 << 10;
inline constexpr std::size_t kStepReadBytes = 1 << 20;
inline constexpr std::int64_t kStepNumberMax = 100'000;
// Texts of a step: the name of its program and its list of nodes.
inline constexpr std::size_t kStepNameBytes = 256;
inline constexpr std::size_t kStepNodesBytes = 16 << 10;
// Steps in one report, so that none is too large for a connection.
inline constexpr std::size_t kStepsPerReport = 256;
// How often steps.jsonl is read at most.
inline constexpr std::int64_t kStepReadEveryMs = 250;
// Directories that pods of a queue share on Kubernetes members, and the path of one.
inline constexpr std::size_t kSharedDirectories = 16;
inline constexpr std::size_t kSharedPathBytes = 1024;
// The line of scontrol notify.
inline constexpr std::size_t kNotifyBytes = 4096;
// Orders that may wait for one pod's supervisor.
inline constexpr std::size_t kPodOrdersWaiting = 64;
// How often the resident memory of a pod's processes is summed if no control group does it: at
// first, and at most.
inline constexpr std::int64_t kSampleFirstMs = 1000, kSampleLongestMs = 30'000;

}  // namespace muster::limits
