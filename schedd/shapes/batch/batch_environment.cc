// The environment and the output names of a batch script (rules B9, B10). A script has one node,
// which is named after its member cluster, because sinfo and squeue show member clusters as nodes.
//
// Variables that Slurm sets only for a given option are set only if the manifest has that field
// (SetAsked). A variable of the script's own environment is replaced by a SLURM_* variable of the
// same name, as under Slurm.
#include "schedd/shapes/batch/batch_environment.h"

#include <algorithm>
#include <array>

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
    case 'N':
      return job.cluster.substr(0, job.cluster.find('.'));
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
  if (job.attempt > 1) env->Set("SLURM_RESTART_COUNT", job.attempt - 1);
}

// The one node and the one task that runs the script.
void SetNode(const JobRecord& job, const BatchSpec& spec, Environment* env) {
  for (const auto* name :
       {"SLURMD_NODENAME", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_TOPOLOGY_ADDR"}) {
    env->Set(name, job.cluster);
  }
  env->Set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  env->Set("SLURM_NODE_ALIASES", "(null)");
  for (const auto* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) env->Set(name, 1);
  for (const auto* name :
       {"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_PRIO_PROCESS"}) {
    env->Set(name, std::int64_t{0});
  }
  env->Set("SLURM_CPUS_ON_NODE", spec.amounts.cpus);
  env->Set("SLURM_JOB_CPUS_PER_NODE", spec.amounts.cpus);
  env->Set("SLURM_TASKS_PER_NODE", spec.amounts.tasks);
}

// Variables that are set only if the option was given.
void SetAsked(const json::object& asked, const BatchSpec& spec, Environment* env) {
  if (asked.contains("tasks") || asked.contains("tasksPerNode")) {
    env->Set("SLURM_NTASKS", spec.amounts.tasks);
    env->Set("SLURM_NPROCS", spec.amounts.tasks);
  }
  if (const auto per_node = IntegerAt(asked, "tasksPerNode"))
    env->Set("SLURM_NTASKS_PER_NODE", *per_node);
  if (asked.contains("cpusPerTask")) env->Set("SLURM_CPUS_PER_TASK", spec.amounts.cpus_per_task);
  constexpr std::int64_t kMegabyte = 1 << 20;
  if (asked.contains("memoryPerCpu")) {
    env->Set("SLURM_MEM_PER_CPU",
             spec.amounts.memory_bytes / std::max<std::int64_t>(1, spec.amounts.cpus) / kMegabyte);
  } else if (spec.amounts.memory_bytes > 0) {
    env->Set("SLURM_MEM_PER_NODE", spec.amounts.memory_bytes / kMegabyte);
  }
  if (spec.amounts.gpus == 0) return;
  env->Set("SLURM_GPUS_ON_NODE", spec.amounts.gpus);
  if (asked.contains("gpus")) env->Set("SLURM_GPUS", spec.amounts.gpus);
  if (asked.contains("gpusPerNode") || asked.contains("gres"))
    env->Set("SLURM_GPUS_PER_NODE", spec.amounts.gpus);
  if (asked.contains("gpusPerTask"))
    env->Set("SLURM_GPUS_PER_TASK", spec.amounts.gpus / spec.amounts.tasks);
}

// The GPUs numbered from 0, as a job sees them under a Slurm that confines devices.
void SetDevices(const BatchSpec& spec, Environment* env) {
  if (spec.amounts.gpus == 0) return;
  std::string devices;
  for (std::int64_t i = 0; i < spec.amounts.gpus; ++i) {
    if (i > 0) devices.push_back(',');
    devices += std::to_string(i);
  }
  for (const auto* name : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS"}) env->Set(name, devices);
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
    constexpr std::string_view kKnown = "jJAabxuNntsr";
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

// The script's own variables come first, so that SLURM_* replaces an equal name.
json::array BatchEnvironment(const JobRecord& job, const json::object& spec,
                             const BatchSpec& read) {
  Environment env;
  for (const auto& variable : ObjectOrEmpty(spec, "environment"))
    env.Set(std::string_view(variable.key()), std::string_view(variable.value().as_string()));
  SetIdentity(job, read, spec, &env);
  SetNode(job, read, &env);
  SetAsked(spec, read, &env);
  SetDevices(read, &env);
  SetArray(job, &env);
  return env.Take();
}

}  // namespace muster::shapes
