// Which step uses what of each node of the job: CPUs, GPUs, memory. Places steps, says which have
// to wait, and which can never run. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/steps/messages.h"

namespace muster::steps {

/// A node of the job, as the manager sees it.
struct JobNode {
  std::string host;
  std::int32_t het_group = 0;
  std::int32_t cpu_count = 1;
  std::int64_t memory_mb = 0;  // 0: not told, not counted
  /// What its agent has told. CPUs are numbered only if there are as many as the job was given.
  bool known = false;
  std::vector<std::int32_t> cpus;
  std::vector<std::string> gpus;
};

/// What a step has of one node.
struct NodeGrant {
  std::size_t node = 0;
  NodeShare share;
  std::vector<std::int32_t> cpus;  // numbers; empty: all, or not numbered
  std::int32_t cpu_count = 0;
  std::vector<std::string> gpus;
  bool own_gpus = false;
};

enum class Placing : std::uint8_t { kPlaced, kBusy, kUnknownNodes, kRefused };

struct PlacedStep {
  Placing result = Placing::kRefused;
  std::string why;                   // of a refusal, in Slurm's words
  std::vector<std::size_t> unknown;  // nodes whose agents have to be asked first
  std::vector<NodeGrant> grants;
};

class StepBook {
 public:
  explicit StepBook(std::vector<JobNode> nodes);
  std::vector<JobNode>& nodes() { return nodes_; }
  /// Notes what the agent of a node has told.
  void Learn(std::size_t node, const NodeHello& hello);

  /// Tries to place the step; what it gets is held under its number until Release.
  PlacedStep Place(const CreateStep& request, std::int32_t step);
  void Release(std::int32_t step);
  /// What a step holds is held under another number from now on.
  void Rename(std::int32_t step, std::int32_t number);

 private:
  struct Use {
    std::vector<std::int32_t> cpu_holder;  // the step that has the CPU, or -1
    std::vector<std::int32_t> gpu_holder;
    std::vector<std::pair<std::int32_t, std::int64_t>> memory;  // step, megabytes
  };
  struct Choice {
    std::vector<std::size_t> nodes;
    std::vector<std::int32_t> room;          // tasks that fit, for each of them
    std::vector<std::int32_t> node_of_task;  // index into `nodes`
  };
  bool FindCandidates(const PartRequest& part, std::vector<std::size_t>* out, PlacedStep* placed);
  std::int32_t FreeCpus(std::size_t node, const PartRequest& part) const;
  bool ChooseNodes(const PartRequest& part, Choice* choice, PlacedStep* placed);
  bool Arbitrary(const PartRequest& part, const std::vector<std::size_t>& candidates,
                 Choice* choice, PlacedStep* placed);
  bool GrantNode(const PartRequest& part, std::int32_t step, NodeGrant* grant, PlacedStep* placed);
  bool GrantGpus(const PartRequest& part, std::int32_t step, NodeGrant* grant, PlacedStep* placed);
  void GrantCpus(const PartRequest& part, std::int32_t step, NodeGrant* grant);
  bool GrantMemory(const PartRequest& part, std::int32_t step, const NodeGrant& grant,
                   PlacedStep* placed);

  std::vector<JobNode> nodes_;
  std::vector<Use> uses_;
};

}  // namespace muster::steps
