// How many tasks on how many nodes, by Slurm's rules: -n, else SLURM_NTASKS, else one task a node.
#include "clients/steps/srun/step_plan.h"

#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

std::int32_t Count(const OptionValues& options, const char* name, std::int32_t otherwise) {
  const auto number = WholeNumber(options.Get(name));
  return number ? static_cast<std::int32_t>(std::min<std::int64_t>(*number, 1'000'000)) : otherwise;
}

// The count behind the last colon of "a100:2" or "gpu:a100:2"; 1 for a name alone.
std::int32_t GpuCount(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto number = WholeNumber(colon == std::string_view::npos ? text : text.substr(colon + 1));
  return number && *number < 100'000 ? static_cast<std::int32_t>(*number) : 1;
}

std::optional<OptionRefusal> PlanGpus(const OptionValues& options, PartRequest* out) {
  if (options.Has("gpus")) out->gpus = GpuCount(options.Get("gpus"));
  if (options.Has("gpus-per-node")) out->gpus_per_node = GpuCount(options.Get("gpus-per-node"));
  if (options.Has("gpus-per-task")) out->gpus_per_task = GpuCount(options.Get("gpus-per-task"));
  if (!options.Has("gres")) return std::nullopt;
  if (::strcasecmp(options.Get("gres").c_str(), "none") == 0) {
    out->gpus_per_node = 0;
    return std::nullopt;
  }
  std::int32_t sum = 0;
  for (const std::string& one : SplitCommas(options.Get("gres"))) {
    std::string_view name = one;
    if (name.starts_with("gres/") || name.starts_with("gres:")) name.remove_prefix(5);
    if (name != "gpu" && !name.starts_with("gpu:"))
      return OptionRefusal{"Unable to create step: Invalid generic resource (gres) specification"};
    sum += GpuCount(name);
  }
  out->gpus_per_node = sum;
  return std::nullopt;
}

std::optional<OptionRefusal> PlanDistribution(const OptionValues& options,
                                              const VariableLookup& variable, PartRequest* out) {
  std::string text = options.Get("distribution");
  text = text.substr(0, text.find_first_of(":,"));
  std::string plane = variable("SLURM_DIST_PLANESIZE");
  if (const auto sign = text.find('='); sign != std::string::npos) {
    plane = text.substr(sign + 1);
    text.resize(sign);
  }
  if (text.empty() || text == "*" || text == "block") return std::nullopt;
  if (text == "cyclic") {
    out->distribution = Distribution::kCyclic;
  } else if (text == "plane") {
    const auto size = WholeNumber(plane);
    if (!size || *size < 1 || *size > 1'000'000)
      return OptionRefusal{"Invalid --distribution specification", 255};
    out->distribution = Distribution::kPlane;
    out->plane = static_cast<std::int32_t>(*size);
  } else if (text == "arbitrary") {
    out->distribution = Distribution::kArbitrary;
  } else {
    return OptionRefusal{"Invalid --distribution specification", 255};
  }
  return std::nullopt;
}

// Hosts of a file, one or several on a line. False if it cannot be read.
bool HostsOfFile(const std::string& path, std::vector<std::string>* out) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  std::string text;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) {
    text.append(buffer, got);
    if (text.size() > (4u << 20)) break;
  }
  std::fclose(file);
  for (const std::string& word : SplitWords(text)) {
    const auto hosts = ExpandHosts(word);
    if (!hosts) return false;
    out->insert(out->end(), hosts->begin(), hosts->end());
  }
  return true;
}

std::optional<OptionRefusal> PlanHosts(const OptionValues& options, const VariableLookup& variable,
                                       PartRequest* out) {
  std::string file = options.Get("nodefile");
  const std::string list = options.Get("nodelist");
  if (list.find('/') != std::string::npos) file = list;
  if (out->distribution == Distribution::kArbitrary && list.empty() && file.empty())
    file = variable("SLURM_HOSTFILE");
  if (!file.empty()) {
    if (!HostsOfFile(file, &out->with_hosts))
      return OptionRefusal{"Invalid node list specified: " + file};
  } else if (!list.empty()) {
    const auto hosts = ExpandHosts(list);
    if (!hosts) return OptionRefusal{"Invalid node list specified: " + list};
    out->with_hosts = *hosts;
  }
  if (const auto hosts = ExpandHosts(options.Get("exclude"))) out->without_hosts = *hosts;
  return std::nullopt;
}

// Tasks and nodes, and the warnings about them.
std::optional<OptionRefusal> PlanCounts(const OptionValues& options, std::int32_t job_nodes,
                                        PartPlan* out) {
  PartRequest& request = out->request;
  request.tasks_per_node = Count(options, "ntasks-per-node", 0);
  const std::string nodes = options.Get("nodes");
  const auto dash = nodes.find('-');
  const auto least = WholeNumber(std::string_view(nodes).substr(0, dash));
  std::int32_t wanted = least ? static_cast<std::int32_t>(*least) : 1;
  const bool nodes_given = options.given.contains("nodes") && options.given.at("nodes");
  if (wanted > job_nodes) {
    return OptionRefusal{"Only allocated " + std::to_string(job_nodes) + " nodes asked for " +
                         std::to_string(wanted)};
  }
  const bool tasks_given = options.given.contains("ntasks") && options.given.at("ntasks");
  const bool per_node_given =
      options.given.contains("ntasks-per-node") && options.given.at("ntasks-per-node");
  // A number of nodes with one of tasks per node stands for both, over the job's number of tasks.
  const bool by_node = !tasks_given && nodes_given && per_node_given;
  if (options.Has("ntasks") && !by_node) {
    request.tasks = Count(options, "ntasks", 1);
  } else {
    request.tasks = wanted * std::max(request.tasks_per_node, 1);
  }
  const auto named = static_cast<std::int32_t>(request.with_hosts.size());
  if (!nodes_given && named > 0 && request.distribution != Distribution::kArbitrary)
    wanted = std::min(wanted, named);
  if (request.tasks < wanted) {
    out->warnings.push_back("Warning: can't run " + std::to_string(request.tasks) +
                            " processes on " + std::to_string(wanted) +
                            " nodes, setting nnodes to " + std::to_string(request.tasks));
    wanted = request.tasks;
  }
  // Without -N the step may have fewer nodes than the job only if it has fewer tasks.
  request.nodes = wanted;
  if (request.tasks_per_node > 0 && tasks_given && !per_node_given) {
    const std::int64_t room = std::int64_t{request.tasks_per_node} * wanted;
    if (room < request.tasks) request.tasks_per_node = 0;
  }
  return std::nullopt;
}

}  // namespace

std::optional<OptionRefusal> PlanPart(const OptionValues& options, const VariableLookup& variable,
                                      std::int32_t het_group, PartPlan* out) {
  PartRequest& request = out->request;
  request.het_group = het_group;
  request.cpus_per_task = Count(options, "cpus-per-task", 1);
  request.overlap = options.Has("overlap");
  request.overcommit = options.Has("overcommit");
  // -c and --exclusive ask for what they say and no more, as --exact does; --whole takes that back.
  const bool sized =
      options.Has("exact") || options.Has("exclusive") || (options.given.contains("cpus-per-task"));
  request.exact = sized && !options.Has("whole");
  request.relative = Count(options, "relative", -1);
  if (auto refusal = PlanDistribution(options, variable, &request)) return refusal;
  if (auto refusal = PlanHosts(options, variable, &request)) return refusal;
  if (auto refusal = PlanGpus(options, &request)) return refusal;
  request.memory_mb = MemoryMegabytes(options.Get("mem")).value_or(0);
  request.memory_per_cpu_mb = MemoryMegabytes(options.Get("mem-per-cpu")).value_or(0);
  const std::string suffix =
      variable("SLURM_HET_SIZE").empty() ? "" : "_HET_GROUP_" + std::to_string(het_group);
  std::string count = variable(("SLURM_JOB_NUM_NODES" + suffix).c_str());
  if (count.empty()) count = variable(("SLURM_NNODES" + suffix).c_str());
  auto job_nodes = WholeNumber(count);
  if (!job_nodes) {
    const auto hosts = ExpandHosts(variable(("SLURM_JOB_NODELIST" + suffix).c_str()));
    job_nodes = hosts && !hosts->empty() ? static_cast<std::int64_t>(hosts->size()) : 1;
  }
  return PlanCounts(options, static_cast<std::int32_t>(std::min<std::int64_t>(*job_nodes, 100'000)),
                    out);
}

bool PlanBinding(const std::string& value, TaskWorld* out, std::string* error) {
  std::vector<std::string> list;
  for (const std::string& word : SplitCommas(value)) {
    const std::string_view text = word;
    const auto is = [&](const char* name) { return ::strcasecmp(name, word.c_str()) == 0; };
    if (is("verbose") || is("v")) {
      out->bind_verbose = true;
    } else if (is("quiet") || is("q")) {
      out->bind_verbose = false;
    } else if (is("none") || is("no")) {
      out->bind = CpuBind::kNone;
    } else if (is("cores") || is("threads") || is("rank") || is("sockets") || is("ldoms") ||
               is("yes") || is("autobind") || is("rank_ldom")) {
      out->bind = CpuBind::kTasks;
    } else if (text.starts_with("map_cpu:") || text.starts_with("mask_cpu:")) {
      out->bind = text[1] == 'a' && text[2] == 'p' ? CpuBind::kMap : CpuBind::kMask;
      out->bind_list = {word.substr(word.find(':') + 1)};
    } else if (!out->bind_list.empty()) {
      out->bind_list.push_back(word);  // the list goes on
    } else {
      *error = "Unrecognized --cpu-bind argument \"" + word + "\"";
      return false;
    }
  }
  // "0x3*2" stands for two.
  for (const std::string& one : out->bind_list) {
    const auto star = one.find('*');
    const auto times =
        star == std::string::npos ? std::int64_t{1} : WholeNumber(one.substr(star + 1)).value_or(0);
    if (times < 1 || times > 100'000) {
      *error = "Invalid --cpu-bind list \"" + one + "\"";
      return false;
    }
    for (std::int64_t i = 0; i < times; ++i) list.push_back(one.substr(0, star));
  }
  out->bind_list = std::move(list);
  return true;
}

std::vector<std::string> ExportedVariables(const std::string& list, const char* const* all) {
  std::vector<std::string> out;
  std::vector<std::string> named;
  bool everything = list.empty();
  for (const std::string& one : SplitCommas(list)) {
    if (::strcasecmp(one.c_str(), "ALL") == 0) {
      everything = true;
    } else if (::strcasecmp(one.c_str(), "NONE") != 0 && ::strcasecmp(one.c_str(), "NIL") != 0) {
      named.push_back(one);
    }
  }
  for (const char* const* at = all; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    const std::string_view name = variable.substr(0, variable.find('='));
    bool taken = everything || name.starts_with("SLURM_") || name.starts_with("MUSTER_STEP");
    bool replaced = false;
    for (const std::string& one : named) {
      taken = taken || one == name;
      replaced = replaced ||
                 (one.size() > name.size() && one[name.size()] == '=' && one.starts_with(name));
    }
    if (taken && !replaced) out.emplace_back(variable);
  }
  for (const std::string& one : named) {
    if (one.find('=') != std::string::npos) out.push_back(one);
  }
  return out;
}

}  // namespace muster::steps
