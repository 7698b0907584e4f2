// Places steps on the nodes of the job. A step has all CPUs of its nodes unless it says --exact;
// one that says --overlap neither holds CPUs nor waits for them.
#include "clients/steps/agent/step_book.h"

#include <algorithm>

#include "clients/steps/layout.h"

namespace muster::steps {
namespace {

constexpr char kNotAvailable[] = "Requested node configuration is not available";
constexpr char kTooManyCpus[] = "More processors requested than permitted";
constexpr char kTooMuchMemory[] = "Memory required by task is not available";
constexpr char kNoGres[] = "Invalid generic resource (gres) specification";

bool Refuse(const char* why, PlacedStep* placed) {
  placed->result = Placing::kRefused;
  placed->why = why;
  return false;
}

bool Busy(PlacedStep* placed) {
  placed->result = Placing::kBusy;
  return false;
}

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

StepBook::StepBook(std::vector<JobNode> nodes) : nodes_(std::move(nodes)), uses_(nodes_.size()) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    uses_[i].cpu_holder.assign(static_cast<std::size_t>(nodes_[i].cpu_count), -1);
  }
}

void StepBook::Learn(std::size_t node, const NodeHello& hello) {
  JobNode& known = nodes_[node];
  known.known = true;
  known.gpus = hello.gpus;
  uses_[node].gpu_holder.assign(hello.gpus.size(), -1);
  if (static_cast<std::int32_t>(hello.cpus.size()) == known.cpu_count) known.cpus = hello.cpus;
}

void StepBook::Release(std::int32_t step) {
  for (Use& use : uses_) {
    std::replace(use.cpu_holder.begin(), use.cpu_holder.end(), step, -1);
    std::replace(use.gpu_holder.begin(), use.gpu_holder.end(), step, -1);
    std::erase_if(use.memory, [&](const auto& one) { return one.first == step; });
  }
}

void StepBook::Rename(std::int32_t step, std::int32_t number) {
  for (Use& use : uses_) {
    std::replace(use.cpu_holder.begin(), use.cpu_holder.end(), step, number);
    std::replace(use.gpu_holder.begin(), use.gpu_holder.end(), step, number);
    for (auto& one : use.memory) {
      if (one.first == step) one.first = number;
    }
  }
}

// A part gets what it needs on all nodes or nothing; parts before it are given back as well.
PlacedStep StepBook::Place(const CreateStep& request, std::int32_t step) {
  PlacedStep placed;
  placed.result = Placing::kPlaced;
  std::int32_t first_task = 0;
  std::int32_t node_id = 0;
  for (std::size_t p = 0; p < request.parts.size(); ++p) {
    const PartRequest& part = request.parts[p];
    Choice choice;
    if (!ChooseNodes(part, &choice, &placed)) break;
    const auto tasks = TasksByNode(choice.node_of_task, choice.nodes.size(), first_task);
    first_task += part.tasks;
    for (std::size_t i = 0; i < choice.nodes.size(); ++i) {
      if (tasks[i].empty()) continue;
      NodeGrant grant;
      grant.node = choice.nodes[i];
      grant.share = {nodes_[grant.node].host, static_cast<std::int32_t>(p), node_id++, tasks[i]};
      if (!GrantNode(part, step, &grant, &placed)) break;
      placed.grants.push_back(std::move(grant));
    }
    if (placed.result != Placing::kPlaced) break;
  }
  if (placed.result == Placing::kPlaced) return placed;
  Release(step);
  placed.grants.clear();
  return placed;
}

// The nodes of the part's component that it may use, in the job's order.
bool StepBook::FindCandidates(const PartRequest& part, std::vector<std::size_t>* out,
                              PlacedStep* placed) {
  std::int32_t index = 0;
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].het_group != part.het_group) continue;
    const bool named = Contains(part.with_hosts, nodes_[i].host);
    if (index++ < part.relative && !named) continue;
    if (Contains(part.without_hosts, nodes_[i].host)) continue;
    wanted += named ? 1 : 0;
    out->push_back(i);
  }
  std::vector<std::string> named = part.with_hosts;
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  if (wanted < named.size() || out->empty()) return Refuse(kNotAvailable, placed);
  return true;
}

// CPUs of a node that the part could have now.
std::int32_t StepBook::FreeCpus(std::size_t node, const PartRequest& part) const {
  const std::vector<std::int32_t>& holders = uses_[node].cpu_holder;
  if (part.overlap) return nodes_[node].cpu_count;
  const auto idle = static_cast<std::int32_t>(std::count(holders.begin(), holders.end(), -1));
  if (part.exact) return idle;
  return idle == nodes_[node].cpu_count ? idle : 0;
}

// Each task runs on the host that the list names at its place.
bool StepBook::Arbitrary(const PartRequest& part, const std::vector<std::size_t>& candidates,
                         Choice* choice, PlacedStep* placed) {
  if (static_cast<std::int32_t>(part.with_hosts.size()) < part.tasks)
    return Refuse(kNotAvailable, placed);
  for (const std::size_t node : candidates) {
    if (!Contains(part.with_hosts, nodes_[node].host)) continue;
    if (FreeCpus(node, part) < 1) return Busy(placed);
    choice->nodes.push_back(node);
  }
  for (std::int32_t task = 0; task < part.tasks; ++task) {
    const std::string& host = part.with_hosts[static_cast<std::size_t>(task)];
    for (std::size_t i = 0; i < choice->nodes.size(); ++i) {
      if (nodes_[choice->nodes[i]].host == host)
        choice->node_of_task.push_back(static_cast<std::int32_t>(i));
    }
  }
  return true;
}

// First whether the part could ever run on `nodes` nodes of the idle job, then which of the nodes
// have room now: those that it names, then the others, the emptiest first if the first ones do not
// do.
bool StepBook::ChooseNodes(const PartRequest& part, Choice* choice, PlacedStep* placed) {
  std::vector<std::size_t> candidates;
  if (!FindCandidates(part, &candidates, placed)) return false;
  if (part.distribution == Distribution::kArbitrary)
    return Arbitrary(part, candidates, choice, placed);
  const auto most = static_cast<std::int32_t>(candidates.size());
  std::int32_t wanted = part.nodes > 0 ? part.nodes : std::min(part.tasks, most);
  wanted = std::max(wanted, static_cast<std::int32_t>(part.with_hosts.size()));
  if (wanted > most) return Refuse(kNotAvailable, placed);
  const auto tasks_in = [&](std::int32_t cpus) {
    std::int32_t fit = cpus / std::max(part.cpus_per_task, 1);
    if (part.overcommit && cpus > 0) fit = std::max(fit, part.tasks);
    return part.tasks_per_node > 0 ? std::min(fit, part.tasks_per_node) : fit;
  };
  const auto room_of = [&](const std::vector<std::int32_t>& room, std::size_t count) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += room[i];
    return sum;
  };
  const auto count = static_cast<std::size_t>(wanted);
  std::vector<std::int32_t> ever;
  for (const std::size_t node : candidates) ever.push_back(tasks_in(nodes_[node].cpu_count));
  std::sort(ever.rbegin(), ever.rend());
  if (ever[count - 1] < 1 || room_of(ever, count) < part.tasks) return Refuse(kTooManyCpus, placed);

  const auto named = [&](std::size_t node) { return Contains(part.with_hosts, nodes_[node].host); };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::size_t a, std::size_t b) { return named(a) > named(b); });
  for (const bool emptiest : {false, true}) {
    if (emptiest) {
      std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
        if (named(a) != named(b)) return named(a) > named(b);
        return FreeCpus(a, part) > FreeCpus(b, part);
      });
    }
    *choice = {};
    for (const std::size_t node : candidates) {
      const std::int32_t fit = tasks_in(FreeCpus(node, part));
      if (fit > 0 && choice->nodes.size() < count) choice->nodes.push_back(node);
      if (fit == 0 && named(node)) return Busy(placed);
    }
    std::sort(choice->nodes.begin(), choice->nodes.end());
    for (const std::size_t node : choice->nodes)
      choice->room.push_back(tasks_in(FreeCpus(node, part)));
    if (choice->nodes.size() == count && room_of(choice->room, count) >= part.tasks) {
      choice->node_of_task = LayOut(part.tasks, choice->room, part.distribution, part.plane);
      return true;
    }
  }
  return Busy(placed);
}

bool StepBook::GrantNode(const PartRequest& part, std::int32_t step, NodeGrant* grant,
                         PlacedStep* placed) {
  if (!nodes_[grant->node].known) {
    placed->result = Placing::kUnknownNodes;
    placed->unknown.push_back(grant->node);
    return false;
  }
  GrantCpus(part, step, grant);
  return GrantGpus(part, step, grant, placed) && GrantMemory(part, step, *grant, placed);
}

void StepBook::GrantCpus(const PartRequest& part, std::int32_t step, NodeGrant* grant) {
  const JobNode& node = nodes_[grant->node];
  std::vector<std::int32_t>& holders = uses_[grant->node].cpu_holder;
  std::int32_t need = node.cpu_count;
  if (part.exact) {
    const auto tasks = static_cast<std::int64_t>(grant->share.tasks.size());
    const std::int64_t asked = tasks * std::max(part.cpus_per_task, 1);
    need = static_cast<std::int32_t>(std::min<std::int64_t>(asked, node.cpu_count));
  }
  for (std::size_t i = 0; i < holders.size() && grant->cpu_count < need; ++i) {
    if (holders[i] != -1 && !part.overlap) continue;
    if (!part.overlap) holders[i] = step;
    ++grant->cpu_count;
    if (!node.cpus.empty()) grant->cpus.push_back(node.cpus[i]);
  }
}

// GPUs that a step asks for are its own while it runs; one that asks for none sees all of the job.
bool StepBook::GrantGpus(const PartRequest& part, std::int32_t step, NodeGrant* grant,
                         PlacedStep* placed) {
  std::int64_t need = -1;
  const auto tasks = static_cast<std::int64_t>(grant->share.tasks.size());
  if (part.gpus_per_node >= 0) need = part.gpus_per_node;
  if (part.gpus_per_task >= 0) need = part.gpus_per_task * tasks;
  if (need < 0 && part.gpus >= 0) {
    need = (static_cast<std::int64_t>(part.gpus) * tasks + part.tasks - 1) / part.tasks;
  }
  if (need < 0) return true;
  const JobNode& node = nodes_[grant->node];
  if (need > static_cast<std::int64_t>(node.gpus.size())) return Refuse(kNoGres, placed);
  grant->own_gpus = true;
  std::vector<std::int32_t>& holders = uses_[grant->node].gpu_holder;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    if (static_cast<std::int64_t>(grant->gpus.size()) == need) break;
    if (holders[i] != -1 && !part.overlap) continue;
    if (!part.overlap) holders[i] = step;
    grant->gpus.push_back(node.gpus[i]);
  }
  return static_cast<std::int64_t>(grant->gpus.size()) == need || Busy(placed);
}

bool StepBook::GrantMemory(const PartRequest& part, std::int32_t step, const NodeGrant& grant,
                           PlacedStep* placed) {
  const JobNode& node = nodes_[grant.node];
  std::int64_t need = part.memory_mb;
  if (part.memory_per_cpu_mb > 0) need = part.memory_per_cpu_mb * grant.cpu_count;
  if (need == 0 || node.memory_mb == 0) return true;
  if (need > node.memory_mb) return Refuse(kTooMuchMemory, placed);
  if (part.overlap) return true;
  std::int64_t used = 0;
  for (const auto& one : uses_[grant.node].memory) used += one.second;
  if (used + need > node.memory_mb) return Busy(placed);
  uses_[grant.node].memory.emplace_back(step, need);
  return true;
}

}  // namespace muster::steps
