// Reads the job's environment.
#include "clients/steps/agent/job_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr std::int32_t kMostComponents = 128;

// Adds the nodes of one component; `suffix` is "" or "_HET_GROUP_1".
bool AddNodes(std::int32_t group, const std::string& suffix, std::vector<JobNode>* out) {
  std::string list = OwnVariable(("SLURM_JOB_NODELIST" + suffix).c_str());
  if (list.empty()) list = OwnVariable(("SLURM_NODELIST" + suffix).c_str());
  const auto hosts = ExpandHosts(list);
  if (!hosts) return false;
  const auto counts = ExpandCounts(OwnVariable(("SLURM_JOB_CPUS_PER_NODE" + suffix).c_str()));
  std::int64_t memory =
      MemoryMegabytes(OwnVariable(("SLURM_MEM_PER_NODE" + suffix).c_str())).value_or(0);
  const std::int64_t per_cpu =
      MemoryMegabytes(OwnVariable(("SLURM_MEM_PER_CPU" + suffix).c_str())).value_or(0);
  for (std::size_t i = 0; i < hosts->size(); ++i) {
    JobNode node;
    node.host = (*hosts)[i];
    node.het_group = group;
    if (counts) node.cpu_count = std::max((*counts)[std::min(i, counts->size() - 1)], 1);
    node.memory_mb = memory > 0 ? memory : per_cpu * node.cpu_count;
    out->push_back(std::move(node));
  }
  return true;
}

std::string OwnHostName() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

std::string OwnVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ReadJobFacts(JobFacts* out) {
  out->steps_directory = OwnVariable("MUSTER_STEPS_DIR");
  if (out->steps_directory.empty()) return "MUSTER_STEPS_DIR is not set";
  if (const std::string job = OwnVariable("SLURM_JOB_ID"); !job.empty()) out->job = job;
  const std::int64_t components = WholeNumber(OwnVariable("SLURM_HET_SIZE")).value_or(0);
  if (components > kMostComponents) return "SLURM_HET_SIZE is too large";
  for (std::int32_t i = 0; i < components; ++i) {
    if (!AddNodes(i, "_HET_GROUP_" + std::to_string(i), &out->nodes))
      return "the host list of component " + std::to_string(i) + " is malformed";
  }
  if (components == 0 && !AddNodes(0, "", &out->nodes)) return "SLURM_JOB_NODELIST is malformed";

  out->host = OwnVariable("SLURMD_NODENAME");
  const auto index = WholeNumber(OwnVariable("JOB_COMPLETION_INDEX"));
  if (out->host.empty() && index && components == 0 &&
      static_cast<std::size_t>(*index) < out->nodes.size()) {
    out->host = out->nodes[static_cast<std::size_t>(*index)].host;
  }
  if (out->host.empty()) out->host = OwnHostName();
  if (out->nodes.empty()) {
    JobNode node;
    node.host = out->host;
    node.cpu_count = static_cast<std::int32_t>(
        std::max<std::int64_t>(WholeNumber(OwnVariable("SLURM_CPUS_ON_NODE")).value_or(1), 1));
    out->nodes.push_back(std::move(node));
  }
  // One node is the manager's whatever it calls itself.
  if (out->nodes.size() == 1) out->host = out->nodes[0].host;
  out->first_node = out->nodes[0].host == out->host;
  return "";
}

std::vector<std::string> OwnGpus() {
  const std::string list = OwnVariable("CUDA_VISIBLE_DEVICES");
  return SplitCommas(list.empty() ? OwnVariable("SLURM_JOB_GPUS") : list);
}

}  // namespace muster::steps
