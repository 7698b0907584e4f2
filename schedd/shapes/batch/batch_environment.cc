// The environment and the output names of a batch script (rules B9, B10). Numbers and lists are
// those of all nodes; what differs from node to node (SLURM_NODEID, SLURMD_NODENAME) is the first
// node's, and the agent of any other node sets its own.
//
// Variables that Slurm sets only for a given option are set only if the manifest has that field
// (SetAsked). A variable of the script's own environment is replaced by a SLURM_* variable of the
// same name, as under Slurm.
#include "schedd/shapes/batch/batch_environment.h"

#include <algorithm>
#include <array>

#include "schedd/base/limits_slurm_world.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr char kNoArrayTask[] = "4294967294";  // Slurm's NO_VAL, as sbatch prints it
constexpr std::size_t kPadMax = 10;            // sbatch pads a number to at most 10 digits

// The text for one letter after '%'; sbatch(1), "filename pattern".
std::string PatternValue(char letter, const JobRecord& job) {
  const bool in_array = job.batch != nullptr && job.batch->array_task_id >= 0;
  const std::string id = std::to_string(job.id.value);
  switch (letter) {
    case 'j':
      return id;
    case 'J':
      return id;
    case 'A':
      return in_array && job.batch->array_job_id.value > 0
                 ? std::to_string(job.batch->array_job_id.value)
                 : id;
    case 'a':
      return in_array ? std::to_string(job.batch->array_task_id) : kNoArrayTask;
    case 'b':
      return in_array ? std::to_string(job.batch->array_task_id % 10) : "4";
    case 'x':
      return job.display_name;
    case 'u':
      return job.user;
    case 'N': {
      const std::vector<std::string> hosts = HostsOf(job);
      return hosts.empty() ? "" : hosts[0].substr(0, hosts[0].find('.'));
    }
    case 'S':
      return job.uid.ToString();
    case 'n':
      return "0";
    case 't':
      return "0";
    case 's':
      return "batch";
    case 'r':
      return std::to_string(std::max(0, job.attempt - 1));
    default:
      return "";
  }
}

// Kubernetes expands $(NAME) in a value; a doubled dollar stays a dollar.
std::string Literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '$') out.push_back('$');
    out.push_back(c);
  }
  return out;
}

// A list of variables in the order in which they were first set.
class Environment {
 public:
  void Set(std::string_view name, std::string_view value) {
    Put(name, {{"name", name}, {"value", Literal(value)}});
  }
  void Set(std::string_view name, std::int64_t value) { Set(name, std::to_string(value)); }
  json::array Take() { return std::move(list_); }

 private:
  void Put(std::string_view name, json::object entry) {
    for (auto& item : list_) {
      if (item.as_object().at("name").as_string() == name) {
        item = std::move(entry);
        return;
      }
    }
    list_.push_back(std::move(entry));
  }
  json::array list_;
};

// Which job this is, in which queue and of which user.
void SetIdentity(const JobRecord& job, const BatchSpec& spec, const json::object& manifest_spec,
                 Environment* env) {
  env->Set("SLURM_JOB_ID", job.id.value);
  env->Set("SLURM_JOBID", job.id.value);
  env->Set("SLURM_JOB_NAME", job.display_name);
  env->Set("SLURM_JOB_PARTITION", job.local_queue);
  env->Set("SLURM_JOB_ACCOUNT", job.cluster_queue);
  env->Set("SLURM_JOB_QOS", job.priority_class.empty() ? "normal" : job.priority_class);
  env->Set("SLURM_JOB_USER", job.user);
  env->Set("SLURM_CLUSTER_NAME", job.cluster);
  env->Set("SLURM_WORKING_CLUSTER", job.cluster);
  if (!spec.work_dir.empty()) env->Set("SLURM_SUBMIT_DIR", spec.work_dir);
  if (const json::string* host = FindText(manifest_spec, "submitHost"))
    env->Set("SLURM_SUBMIT_HOST", std::string_view(*host));
  if (!spec.allocation_only) env->Set("ENVIRONMENT", "BATCH");
  if (job.attempt > 1) env->Set("SLURM_RESTART_COUNT", job.attempt - 1);
  if (job.account) env->Set("SLURM_JOB_UID", std::int64_t{*job.account});
  if (!spec.reservation.empty()) env->Set("SLURM_JOB_RESERVATION", spec.reservation);
  if (!spec.licenses.empty()) env->Set("SLURM_JOB_LICENSES", spec.licenses);
  if (!spec.features.empty()) env->Set("SLURM_JOB_CONSTRAINTS", spec.features);
  if (!spec.comment.empty()) env->Set("SLURM_JOB_COMMENT", spec.comment);
  if (const json::string* wish = FindText(manifest_spec, "dependency"); wish && !wish->empty())
    env->Set("SLURM_JOB_DEPENDENCY", std::string_view(*wish));
}

const BatchAmounts& AmountsOf(const BatchSpec& read, std::size_t component) {
  return component == 0 ? read.amounts : read.components[component - 1];
}

// "job-7-[0-1]" for hosts that differ in their last number only, else all names.
std::string HostListText(const std::vector<std::string>& hosts) {
  if (hosts.size() == 1) return hosts[0];
  if (hosts.empty()) return "";
  const std::string stem = hosts[0].substr(0, hosts[0].rfind('-') + 1);
  return stem + "[0-" + std::to_string(hosts.size() - 1) + "]";
}

std::string TasksText(const BatchAmounts& amounts) {
  const std::vector<std::int32_t> tasks = TasksOfNodes(amounts);
  return RunLengths({tasks.begin(), tasks.end()});
}
std::string CpusText(const BatchAmounts& amounts) {
  return RunLengths(
      std::vector<std::int64_t>(static_cast<std::size_t>(amounts.nodes), amounts.cpus));
}

// The nodes, and the first task, which runs the script.
void SetNodes(const BatchAmounts& amounts, const std::vector<std::string>& hosts,
              Environment* env) {
  const std::string first = hosts.empty() ? "" : hosts[0];
  for (const auto* name : {"SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR"}) env->Set(name, first);
  for (const auto* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    env->Set(name, HostListText(hosts));
  env->Set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  env->Set("SLURM_NODE_ALIASES", "(null)");
  for (const auto* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) env->Set(name, amounts.nodes);
  for (const auto* name : {"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS"})
    env->Set(name, std::int64_t{0});
  env->Set("SLURM_PRIO_PROCESS", std::int64_t{0});
  env->Set("SLURM_CPUS_ON_NODE", amounts.cpus);
  env->Set("SLURM_JOB_CPUS_PER_NODE", CpusText(amounts));
  env->Set("SLURM_TASKS_PER_NODE", TasksText(amounts));
}

// Sets a variable to the field's number or text, if it has one.
void SetIfAsked(const json::object& asked, const char* field, const char* variable,
                Environment* env) {
  const json::value* value = asked.if_contains(field);
  if (value == nullptr || value->is_null()) return;
  if (value->is_int64()) env->Set(variable, value->get_int64());
  if (value->is_string() && !value->get_string().empty())
    env->Set(variable, std::string_view(value->get_string()));
}

// Variables that are set only if the option was given.
void SetAsked(const json::object& asked, const BatchAmounts& amounts, Environment* env) {
  for (const char* field : {"tasks", "tasksPerNode", "tasksPerGpu"}) {
    if (!asked.contains(field)) continue;
    env->Set("SLURM_NTASKS", amounts.tasks);
    env->Set("SLURM_NPROCS", amounts.tasks);
  }
  SetIfAsked(asked, "tasksPerNode", "SLURM_NTASKS_PER_NODE", env);
  SetIfAsked(asked, "tasksPerCore", "SLURM_NTASKS_PER_CORE", env);
  SetIfAsked(asked, "tasksPerSocket", "SLURM_NTASKS_PER_SOCKET", env);
  SetIfAsked(asked, "tasksPerGpu", "SLURM_NTASKS_PER_GPU", env);
  SetIfAsked(asked, "cpusPerGpu", "SLURM_CPUS_PER_GPU", env);
  SetIfAsked(asked, "tresPerTask", "SLURM_TRES_PER_TASK", env);
  if (asked.contains("cpusPerTask")) env->Set("SLURM_CPUS_PER_TASK", amounts.cpus_per_task);
  constexpr std::int64_t kMegabyte = 1 << 20;
  if (amounts.memory_per_cpu_bytes > 0) {
    env->Set("SLURM_MEM_PER_CPU", amounts.memory_per_cpu_bytes / kMegabyte);
  } else if (asked.contains("memoryPerGpu") && amounts.gpus > 0) {
    env->Set("SLURM_MEM_PER_GPU", amounts.memory_bytes / amounts.gpus / kMegabyte);
  } else if (amounts.memory_bytes > 0) {
    env->Set("SLURM_MEM_PER_NODE", amounts.memory_bytes / kMegabyte);
  }
  SetIfAsked(asked, "gpus", "SLURM_GPUS", env);
  SetIfAsked(asked, "gpusPerNode", "SLURM_GPUS_PER_NODE", env);
  SetIfAsked(asked, "gpusPerTask", "SLURM_GPUS_PER_TASK", env);
  SetIfAsked(asked, "gpusPerSocket", "SLURM_GPUS_PER_SOCKET", env);
  if (amounts.gpus == 0 || amounts.gpus > limits::kGpusPerNode) return;
  env->Set("SLURM_GPUS_ON_NODE", amounts.gpus);
}

// Options that are kept by name and have a variable.
void SetKept(const BatchSpec& read, Environment* env) {
  static constexpr std::pair<std::string_view, std::string_view> kVariables[] = {
      {"hint", "SLURM_HINT"},
      {"distribution", "SLURM_DISTRIBUTION"},
      {"gpu-bind", "SLURM_GPU_BIND"},
      {"gpu-freq", "SLURM_GPU_FREQ"},
      {"cpu-freq", "SLURM_CPU_FREQ_REQ"},
      {"mem-bind", "SLURM_MEM_BIND"},
      {"tres-bind", "SLURM_TRES_BIND"},
      {"profile", "SLURM_PROFILE"},
      {"threads-per-core", "SLURM_THREADS_PER_CORE"}};
  for (const auto& [name, value] : read.how) {
    for (const auto& [option, variable] : kVariables) {
      if (option == name) env->Set(variable, value);
    }
    if (name == "overcommit") env->Set("SLURM_OVERCOMMIT", 1);
    if (name == "no-kill" && value != "off") env->Set("SLURM_NO_KILL", 1);
    if (name == "distribution" && value.starts_with("plane=")) {
      env->Set("SLURM_DISTRIBUTION", "plane");
      env->Set("SLURM_DIST_PLANESIZE", value.substr(6));
    }
  }
}

// The components of a heterogeneous job, each under the number of its group.
void SetComponents(const JobRecord& job, const BatchSpec& read, Environment* env) {
  if (read.components.empty()) return;
  const std::vector<std::vector<std::string>> hosts = HostGroups(job, read);
  env->Set("SLURM_HET_SIZE", static_cast<std::int64_t>(hosts.size()));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const BatchAmounts& amounts = AmountsOf(read, i);
    const auto set = [&](const char* name, const auto& value) {
      env->Set(std::string(name) + "_HET_GROUP_" + std::to_string(i), value);
    };
    set("SLURM_JOB_ID", job.id.value + static_cast<std::int64_t>(i));
    const bool named = i > 0 && !read.component_names[i - 1].empty();
    set("SLURM_JOB_NAME", named ? read.component_names[i - 1] : job.display_name);
    set("SLURM_JOB_NODELIST", HostListText(hosts[i]));
    set("SLURM_JOB_NUM_NODES", std::int64_t{amounts.nodes});
    set("SLURM_NNODES", std::int64_t{amounts.nodes});
    set("SLURM_JOB_CPUS_PER_NODE", CpusText(amounts));
    set("SLURM_TASKS_PER_NODE", TasksText(amounts));
    set("SLURM_NTASKS", std::int64_t{amounts.tasks});
    set("SLURM_CPUS_PER_TASK", std::int64_t{amounts.cpus_per_task});
    set("SLURM_JOB_PARTITION", job.local_queue);
    if (amounts.memory_bytes > 0) set("SLURM_MEM_PER_NODE", amounts.memory_bytes >> 20);
  }
}

// The GPUs numbered from 0. A member that gives devices by index sets its own numbers. A member
// that declares no machines is taken whole as one, which may have more GPUs than can be listed.
void SetDevices(const BatchAmounts& amounts, Environment* env) {
  if (amounts.gpus == 0 || amounts.gpus > limits::kGpusPerNode) return;
  std::string devices;
  for (std::int64_t i = 0; i < amounts.gpus; ++i) {
    if (i > 0) devices.push_back(',');
    devices += std::to_string(i);
  }
  for (const auto* name :
       {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "SLURM_JOB_GPUS"})
    env->Set(name, devices);
}

// The task's place in its array. The step is the difference of the first two indexes.
void SetArray(const JobRecord& job, Environment* env) {
  if (job.batch == nullptr || job.batch->array_task_id < 0) return;
  const auto spec = ParseArraySpec(job.batch->array_spec);
  if (!spec.ok()) return;
  TaskRanges tasks = spec->tasks;
  const std::int64_t count = CountOf(tasks);
  const std::int32_t last = tasks.back().last, first = TakeFirst(&tasks);
  env->Set("SLURM_ARRAY_JOB_ID",
           job.batch->array_job_id.value > 0 ? job.batch->array_job_id.value : job.id.value);
  env->Set("SLURM_ARRAY_TASK_ID", job.batch->array_task_id);
  env->Set("SLURM_ARRAY_TASK_COUNT", count);
  env->Set("SLURM_ARRAY_TASK_MIN", first);
  env->Set("SLURM_ARRAY_TASK_MAX", last);
  env->Set("SLURM_ARRAY_TASK_STEP", tasks.empty() ? 1 : tasks.front().first - first);
}

// What says which step, array task, component, restart or pod the submitter itself was: it is not
// true of the job. Processes of steps are found by SLURM_STEP_ID, a job's script by its volume.
bool IsOfSubmitter(std::string_view name) {
  return name.starts_with("SLURM_STEP") || name.starts_with("SLURM_ARRAY_") ||
         name.starts_with("SLURM_HET_") || name.find("_HET_GROUP_") != std::string_view::npos ||
         name.starts_with("MUSTER_VOLUME_") || name == "MUSTER_STEPS_DIR" ||
         name == "MUSTER_STEP_AGENT" || name == "MUSTER_ALLOCATION_FD" ||
         name == "MUSTER_JOB_START" ||
         name == "JOB_COMPLETION_INDEX" || name == "SLURM_RESTART_COUNT";
}

}  // namespace

// A number between '%' and the letter pads numbers with zeros; '%%' is a percent sign; an unknown
// letter is kept as written.
std::string ExpandPattern(std::string_view pattern, const JobRecord& job) {
  // A backslash anywhere turns expansion off, and all backslashes are removed.
  if (pattern.find('\\') != std::string_view::npos) {
    std::string plain(pattern);
    plain.erase(std::remove(plain.begin(), plain.end(), '\\'), plain.end());
    return plain;
  }
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out.push_back(pattern[i]);
      continue;
    }
    std::size_t at = i + 1;
    std::size_t pad = 0;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9')
      pad =
          std::min<std::size_t>(pad * 10 + static_cast<std::size_t>(pattern[at++] - '0'), kPadMax);
    if (at < pattern.size() && pattern[at] == '%') {
      out.push_back('%');
      i = at;
      continue;
    }
    constexpr std::string_view kKnown = "jJAabxuNntsrS";
    if (at >= pattern.size() || kKnown.find(pattern[at]) == std::string_view::npos) {
      out.push_back('%');
      continue;
    }
    const std::string value = PatternValue(pattern[at], job);
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    if (number && value.size() < pad) out.append(pad - value.size(), '0');
    out += value;
    i = at;
  }
  return out;
}

std::string RunLengths(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end < numbers.size() && numbers[end] == numbers[i]) ++end;
    if (!text.empty()) text.push_back(',');
    text += std::to_string(numbers[i]);
    if (end - i > 1) text += "(x" + std::to_string(end - i) + ")";
    i = end;
  }
  return text;
}

// The first component's hosts are the job's. Those of the others have the names that the pods of a
// JobSet have.
std::vector<std::vector<std::string>> HostGroups(const JobRecord& job, const BatchSpec& read) {
  std::vector<std::vector<std::string>> groups = {HostsOf(job)};
  for (std::size_t i = 0; i < read.components.size(); ++i) {
    std::vector<std::string>& hosts = groups.emplace_back();
    const std::string stem = job.name + "-component-" + std::to_string(i + 1) + "-0-";
    for (std::int32_t k = 0; k < read.components[i].nodes; ++k)
      hosts.push_back(stem + std::to_string(k));
  }
  return groups;
}

// The script's own variables come first, so that SLURM_* replaces an equal name. Functions are not
// variables: the command that runs the script has them (batch_script.cc).
json::array BatchEnvironment(const JobRecord& job, const json::object& spec, const BatchSpec& read,
                             std::size_t component) {
  Environment env;
  for (const auto& variable : ObjectOrEmpty(spec, "environment")) {
    if (!IsShellFunction(variable.key()) && !IsOfSubmitter(variable.key()))
      env.Set(std::string_view(variable.key()), std::string_view(variable.value().as_string()));
  }
  const json::array& components = ArrayOrEmpty(spec, "components");
  static const json::object kNothing;
  const json::object& asked = component == 0 ? spec
                              : components[component - 1].is_object()
                                  ? components[component - 1].get_object()
                                  : kNothing;
  SetIdentity(job, read, spec, &env);
  SetNodes(AmountsOf(read, component), HostGroups(job, read)[component], &env);
  SetAsked(asked, AmountsOf(read, component), &env);
  SetKept(read, &env);
  SetDevices(AmountsOf(read, component), &env);
  SetComponents(job, read, &env);
  SetArray(job, &env);
  return env.Take();
}

}  // namespace muster::shapes
