// The fields are read as they were given (GivenAmounts) and then put together in the order in which
// they depend on each other: nodes and tasks, GPUs of a node, its CPUs, its memory. Two options
// that name different amounts of the same thing are refused. Error sentences are sbatch's where
// sbatch has one.
#include "schedd/shapes/batch/batch_amounts.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/batch/sbatch_values.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::int32_t kTasksMax = 1'000'000;
constexpr std::int32_t kNodesMax = 10'000;  // of one job: each is a pod

std::optional<std::int64_t> ReadNumber(std::string_view text) { return WholeNumber(text); }

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// A number of at least 1; 0 if the field is absent or wrong.
std::int32_t ReadCount(const Field& field) {
  if (!field.present()) return 0;
  return static_cast<std::int32_t>(field.Int(1, kTasksMax).value_or(0));
}

std::int64_t CeilOf(std::int64_t amount, std::int64_t parts) {
  return (amount + parts - 1) / parts;
}

// A count that `how` keeps; 0 if it is not there.
std::int64_t HowCount(const Field& spec, std::string_view name) {
  return ReadNumber(spec["how"][name].StringOr("")).value_or(0);
}

// "1", "1-4" or the number 1; nothing if the field is absent or wrong.
std::optional<NodeRange> ReadNodeRange(const Field& field) {
  if (!field.present()) return std::nullopt;
  std::optional<NodeRange> range;
  if (field.value()->is_int64()) {
    range = NodeRange{field.value()->get_int64(), field.value()->get_int64()};
  } else {
    range = ParseNodeRange(field.StringOr(""));
  }
  if (!range || range->least < 1 || range->most < range->least || range->most > kNodesMax) {
    field.Fail("Invalid --nodes specification");
    return std::nullopt;
  }
  return range;
}

// A plain number is in megabytes, Slurm's default unit.
std::optional<std::int64_t> ReadMemoryField(const Field& field, const char* option) {
  if (!field.present()) return std::nullopt;
  std::optional<std::int64_t> bytes;
  if (field.value()->is_int64()) {
    const std::int64_t megabytes = field.value()->get_int64();
    if (megabytes >= 0) bytes = SaturatingMul(megabytes, 1 << 20);
    if (bytes == kUnlimited) bytes.reset();
  } else {
    bytes = ParseSlurmMemory(field.StringOr(""));
  }
  if (!bytes) field.Fail(std::string("Invalid --") + option + " specification");
  return bytes;
}

constexpr char kBadGres[] = "Invalid generic resource (gres) specification";

// "2", "a100:2" or "a100" (one) of --gpus, --gpus-per-node, --gpus-per-task, --gpus-per-socket.
std::optional<std::int64_t> ReadGpuCount(const Field& field, std::string* type) {
  if (!field.present()) return std::nullopt;
  if (field.value()->is_int64()) return field.Int(0, kTasksMax);
  std::string_view text = field.StringOr("");
  std::string_view named;
  std::optional<std::int64_t> number = ReadNumber(text);
  if (!number) {
    const std::size_t colon = text.find(':');
    named = text.substr(0, colon);
    number = colon == std::string_view::npos ? 1 : ReadNumber(text.substr(colon + 1));
  }
  if (!number || *number > kTasksMax || (!named.empty() && !IsLabelValue(named))) {
    field.Fail(kBadGres);
    return std::nullopt;
  }
  if (!named.empty() && !type->empty() && *type != named)
    field.Fail("one node cannot be asked for two types of GPUs");
  if (!named.empty()) *type = named;
  return number;
}

// False, with a problem at the field, if one node is asked for more GPUs than any has.
bool CheckGpus(const Field& field, std::int64_t gpus) {
  if (gpus <= limits::kGpusPerNode) return true;
  field.Fail("asks for more than " + std::to_string(limits::kGpusPerNode) + " GPUs on a node");
  return false;
}

// --gres: a comma-separated list of "gpu", "gpu:2", "gpu:a100:2", "example.com/fpga:1"; or "none".
// Amounts are of one node.
void ReadGres(const Field& field, ResourceList* amounts, std::string* gpu_type) {
  const auto text = field.String();
  if (!text || *text == "none" || text->empty()) return;
  for (std::string_view item : Split(*text, ',')) {
    if (item.starts_with("gres/")) item.remove_prefix(5);
    const auto parts = Split(item, ':');
    const std::string_view name = parts[0];
    std::optional<std::int64_t> count = 1;
    std::string_view type;
    std::int64_t factor = 1;
    if (parts.size() > 1) {
      std::string_view digits = parts.back();
      constexpr std::string_view kSuffixes = "kKmMgG";
      if (digits.size() > 1 && kSuffixes.find(digits.back()) != std::string_view::npos &&
          ReadNumber(digits.substr(0, digits.size() - 1))) {
        for (std::size_t i = 0; i <= kSuffixes.find(digits.back()) / 2; ++i) factor *= 1024;
        digits.remove_suffix(1);
      }
      count = ReadNumber(digits);
    }
    if (parts.size() == 3) type = parts[1];
    if (parts.size() == 2 && !count && name == "gpu") {
      type = parts[1];
      count = 1;
    }
    const std::string resource = name == "gpu" ? std::string(kGpu) : std::string(name);
    const bool known =
        name == "gpu" || (name.find('/') != std::string_view::npos && IsQualifiedName(name));
    const bool typed = !type.empty();
    if (!known || parts.size() > 3 || !count || (parts.size() == 3 && !typed) ||
        (typed && (name != "gpu" || !IsLabelValue(type)))) {
      field.Fail(kBadGres);
      return;
    }
    if (typed && !gpu_type->empty() && *gpu_type != type) {
      field.Fail("one node cannot be asked for two types of GPUs");
      return;
    }
    if (typed) *gpu_type = type;
    const std::int64_t amount = SaturatingMul(*count, factor);
    SetAmount(amounts, resource, SaturatingAdd(AmountOf(*amounts, resource), amount));
    if (!CheckGpus(field, AmountOf(*amounts, kGpu))) return SetAmount(amounts, kGpu, 0);
  }
}

// --licenses: "matlab:2,ansys". An amount is of the whole job, so the nodes must share it equally.
void ReadLicenses(const Field& field, BatchAmounts* out) {
  const auto text = field.String();
  if (!text || text->empty()) return;
  for (const std::string_view item : Split(*text, ',')) {
    const std::size_t colon = item.find(':');
    std::string name(kLicensePrefix);
    name += item.substr(0, std::min(colon, item.find('@')));
    const auto count =
        colon == std::string_view::npos ? std::optional<std::int64_t>(1)
                                        : ReadNumber(item.substr(colon + 1));
    if (!IsQualifiedName(name) || !count || *count > kTasksMax) {
      field.Fail("Invalid license specification");
      return;
    }
    if (*count % out->nodes != 0) {
      field.Fail("the licences of a job on " + std::to_string(out->nodes) +
                 " nodes must be a multiple of them");
      return;
    }
    SetAmount(&out->licenses, name, AmountOf(out->licenses, name) + *count / out->nodes);
  }
}

// The parts of a request as they were given, before they are put together.
struct GivenAmounts {
  std::optional<NodeRange> nodes;
  std::int32_t tasks = 0, cpus_per_task = 0, tasks_per_gpu = 0;
  std::optional<std::int64_t> gpus, gpus_per_node, gpus_per_task, gpus_per_socket;
  ResourceList gres;
};

// --tres-per-task: "cpu:2,gres/gpu:1", also with "=".
void ReadTresPerTask(const Field& field, GivenAmounts* given, BatchAmounts* out) {
  const auto text = field.String();
  if (!text || text->empty()) return;
  for (const std::string_view item : Split(*text, ',')) {
    const std::size_t at = item.find_first_of(":=");
    const std::string_view name = item.substr(0, at);
    std::string_view rest = at == std::string_view::npos ? "" : item.substr(at + 1);
    if (name == "gres/gpu") {
      const std::size_t colon = rest.find_first_of(":=");
      if (colon != std::string_view::npos) {
        out->gpu_type = rest.substr(0, colon);
        rest = rest.substr(colon + 1);
      }
    }
    const auto count = at == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                    : ReadNumber(rest);
    if (!count || *count > kTasksMax || (name != "cpu" && name != "gres/gpu")) {
      field.Fail("Invalid --tres-per-task specification");
      return;
    }
    if (name == "cpu")
      given->cpus_per_task = static_cast<std::int32_t>(std::max<std::int64_t>(1, *count));
    else
      given->gpus_per_task = *count;
  }
}

GivenAmounts ReadGiven(const Field& spec, BatchAmounts* out) {
  GivenAmounts given;
  given.nodes = ReadNodeRange(spec["nodes"]);
  given.tasks = ReadCount(spec["tasks"]);
  out->tasks_per_node = ReadCount(spec["tasksPerNode"]);
  given.cpus_per_task = ReadCount(spec["cpusPerTask"]);
  given.tasks_per_gpu = ReadCount(spec["tasksPerGpu"]);
  (void)ReadCount(spec["tasksPerCore"]);
  (void)ReadCount(spec["tasksPerSocket"]);
  ReadGres(spec["gres"], &given.gres, &out->gpu_type);
  given.gpus = ReadGpuCount(spec["gpus"], &out->gpu_type);
  given.gpus_per_node = ReadGpuCount(spec["gpusPerNode"], &out->gpu_type);
  given.gpus_per_task = ReadGpuCount(spec["gpusPerTask"], &out->gpu_type);
  given.gpus_per_socket = ReadGpuCount(spec["gpusPerSocket"], &out->gpu_type);
  ReadTresPerTask(spec["tresPerTask"], &given, out);
  if (given.gpus_per_node == 0) given.gpus_per_node.reset();
  if (given.gpus_per_task == 0) given.gpus_per_task.reset();
  if (given.gpus == 0) given.gpus.reset();
  if (AmountOf(given.gres, kGpu) > 0 && !given.gpus_per_node)
    given.gpus_per_node = AmountOf(given.gres, kGpu);
  return given;
}

// Nodes and tasks. Without --ntasks the other options say how many: per node, per GPU, else one for
// each node. Without --nodes there are as many as the tasks need.
void SetNodesAndTasks(const Field& spec, const GivenAmounts& given, BatchAmounts* out) {
  const std::int32_t per_node = out->tasks_per_node;
  const std::int32_t least =
      given.nodes ? static_cast<std::int32_t>(given.nodes->least) : 1;
  std::int64_t nodes = least;
  if (!given.nodes && given.gpus && given.gpus_per_node)
    nodes = CeilOf(*given.gpus, *given.gpus_per_node);
  std::int64_t tasks = given.tasks;
  if (tasks == 0 && per_node > 0) tasks = nodes * per_node;
  if (tasks == 0 && given.gpus && given.gpus_per_task)
    tasks = CeilOf(*given.gpus, *given.gpus_per_task);
  if (tasks == 0 && given.tasks_per_gpu > 0) {
    const std::int64_t gpus =
        given.gpus ? *given.gpus : nodes * given.gpus_per_node.value_or(0);
    tasks = gpus * given.tasks_per_gpu;
  }
  if (tasks == 0) tasks = nodes;
  // sbatch takes fewer nodes when there are fewer tasks.
  if (given.tasks > 0 && tasks < nodes) nodes = tasks;
  if (per_node > 0 && tasks > nodes * per_node) {
    const std::int64_t wanted = CeilOf(tasks, per_node);
    if (given.nodes && wanted > given.nodes->most) {
      spec["tasks"].Fail("Requested node configuration is not available: " +
                         std::to_string(tasks) + " tasks need more than " +
                         std::to_string(given.nodes->most) + " nodes with " +
                         std::to_string(per_node) + " on each");
      return;
    }
    nodes = wanted;
  }
  if (nodes > kNodesMax || tasks > kTasksMax) {
    spec[tasks > kTasksMax ? "tasks" : "nodes"].Fail("asks for too many");
    return;
  }
  out->nodes = static_cast<std::int32_t>(nodes);
  out->max_nodes = given.nodes ? static_cast<std::int32_t>(given.nodes->most) : out->nodes;
  out->max_nodes = std::max(out->max_nodes, out->nodes);
  out->tasks = static_cast<std::int32_t>(tasks);
  out->tasks_on_node = static_cast<std::int32_t>(CeilOf(tasks, nodes));
}

// Several options may name GPUs; those that are given must agree on the number of a node.
void SetGpus(const Field& spec, const GivenAmounts& given, BatchAmounts* out) {
  std::optional<std::int64_t> gpus;
  const auto agree = [&](const char* field, std::int64_t count) {
    if (!CheckGpus(spec[field], count)) return;
    if (gpus && *gpus != count) {
      spec[field].Fail("asks for " + std::to_string(count) + " GPUs, another option for " +
                       std::to_string(*gpus));
    }
    gpus = count;
  };
  if (given.gpus_per_node) agree("gpusPerNode", *given.gpus_per_node);
  if (AmountOf(given.gres, kGpu) > 0) agree("gres", AmountOf(given.gres, kGpu));
  if (given.gpus) {
    if (*given.gpus < out->nodes)
      spec["gpus"].Fail("asks for less than one GPU on each of " + std::to_string(out->nodes) +
                        " nodes");
    agree("gpus", CeilOf(*given.gpus, out->nodes));
  }
  if (given.gpus_per_task) {
    const bool counted = spec["tasks"].present() || spec["tasksPerNode"].present() || given.gpus ||
                         spec["tresPerTask"].present();
    if (!counted)
      spec["gpusPerTask"].Fail(
          "--gpus-per-task used without either --gpus or -n/--ntasks is not allowed.");
    agree("gpusPerTask", *given.gpus_per_task * out->tasks_on_node);
  }
  if (given.gpus_per_socket) {
    const std::int64_t sockets = HowCount(spec, "sockets-per-node");
    if (sockets == 0)
      spec["gpusPerSocket"].Fail(
          "--gpus-per-socket option requires --sockets-per-node specification");
    else
      agree("gpusPerSocket", *given.gpus_per_socket * sockets);
  }
  if (given.tasks_per_gpu > 0 && !gpus)
    agree("tasksPerGpu", CeilOf(out->tasks_on_node, given.tasks_per_gpu));
  for (const auto& amount : given.gres) {
    if (amount.amount > 0) SetAmount(&out->requests, amount.resource, amount.amount);
  }
  out->gpus = gpus.value_or(0);
  if (out->gpus > 0) SetAmount(&out->requests, kGpu, out->gpus);
}

// CPUs of a node: its tasks times the CPUs of each.
void SetCpus(const Field& spec, const GivenAmounts& given, BatchAmounts* out) {
  out->cpus_per_task = std::max(1, given.cpus_per_task);
  out->cpus = static_cast<std::int64_t>(out->tasks_on_node) * out->cpus_per_task;
  // As if one task of each node were asked for.
  if (spec["how"]["overcommit"].present()) out->cpus = out->cpus_per_task;
  if (const std::int32_t per_gpu = ReadCount(spec["cpusPerGpu"])) {
    if (given.cpus_per_task > 0)
      spec["cpusPerGpu"].Fail("--cpus-per-gpu is mutually exclusive with --cpus-per-task");
    if (out->gpus == 0) spec["cpusPerGpu"].Fail("--cpus-per-gpu needs GPUs to be asked for");
    out->cpus = std::max<std::int64_t>(out->tasks_on_node, per_gpu * out->gpus);
  }
  out->cpus = std::max(out->cpus, HowCount(spec, "mincpus"));
}

// --mem is for the node, --mem-per-cpu for each CPU, --mem-per-gpu for each GPU.
void SetMemory(const Field& spec, BatchAmounts* out) {
  const Field per_node = spec["memoryPerNode"], per_cpu = spec["memoryPerCpu"],
              per_gpu = spec["memoryPerGpu"];
  for (const Field& second : {per_cpu, per_gpu}) {
    if (second.present() && (per_node.present() || (per_cpu.present() && per_gpu.present()))) {
      second.Fail("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
      return;
    }
  }
  const auto whole = ReadMemoryField(per_node, "mem");
  const auto of_cpu = ReadMemoryField(per_cpu, "mem-per-cpu");
  const auto of_gpu = ReadMemoryField(per_gpu, "mem-per-gpu");
  // 0 means all memory of the node in each of the three.
  out->whole_memory = whole == 0 || of_cpu == 0 || of_gpu == 0;
  if (whole) out->memory_bytes = *whole;
  if (of_cpu) {
    out->memory_per_cpu_bytes = *of_cpu;
    out->memory_bytes = SaturatingMul(*of_cpu, out->cpus);
  }
  if (of_gpu) {
    if (out->gpus == 0) per_gpu.Fail("--mem-per-gpu needs GPUs to be asked for");
    out->memory_bytes = SaturatingMul(*of_gpu, out->gpus);
  }
  if (out->memory_bytes == kUnlimited)
    (per_gpu.present() ? per_gpu : per_cpu).Fail("asks for more memory than 64 bits can count");
}

// The field `wholeNode`, which the service fills in: amounts of the machine that is taken whole.
void SetWholeNode(const Field& spec, BatchAmounts* out) {
  const Field whole = spec["wholeNode"];
  if (!whole.present()) return;
  whole.OnlyMembers({"cpus", "gpus", "memoryBytes"});
  const std::int64_t cpus = whole["cpus"].Int(0, kTasksMax).value_or(0);
  const std::int64_t gpus = whole["gpus"].Int(0, kTasksMax).value_or(0);
  const std::int64_t memory = whole["memoryBytes"].Int(0).value_or(0);
  if (out->whole_cpus) {
    out->cpus = std::max(out->cpus, cpus);
    out->gpus = std::max(out->gpus, gpus);
    if (out->gpus > 0) SetAmount(&out->requests, kGpu, out->gpus);
    if (out->memory_per_cpu_bytes > 0)
      out->memory_bytes = SaturatingMul(out->memory_per_cpu_bytes, out->cpus);
  }
  if (out->whole_memory) out->memory_bytes = memory;
}

// The field `resources` of the REST form: amounts by resource name, for one pod. A resource may be
// named here or by an sbatch option, but not by both.
void ReadResources(const Field& spec, BatchAmounts* out) {
  for (const auto& [resource, field] : spec["resources"].Members()) {
    if (!IsQualifiedName(resource))
      field.Fail(std::string("a resource's name ") + kQualifiedNameRule);
    if (resource == "pods") field.Fail("the name is reserved: pods are counted by themselves");
    const auto amount = field.Quantity(resource);
    if (!amount) continue;
    if (*amount == 0)
      field.Fail("must be greater than zero; leave the resource out to ask for none");
    if (!IsWholeAmount(resource, *QuantityText(*field.value()))) field.Fail(kWholeAmountRule);
    const bool said_twice =
        (resource == "cpu" && (spec["tasks"].present() || spec["cpusPerTask"].present() ||
                               spec["tasksPerNode"].present())) ||
        (resource == "memory" &&
         (spec["memoryPerNode"].present() || spec["memoryPerCpu"].present() ||
          spec["memoryPerGpu"].present())) ||
        AmountOf(out->requests, resource) > 0;
    if (said_twice) field.Fail("is given in two ways");
    SetAmount(&out->requests, resource, *amount);
    if (resource == "cpu") out->cpus = std::max<std::int64_t>(1, *amount / 1000);
    if (resource == "memory") out->memory_bytes = *amount;
    if (resource == kGpu && CheckGpus(field, *amount)) out->gpus = *amount;
  }
}

}  // namespace

// `resources` is read last, because it may not repeat what an option has said.
BatchAmounts ReadBatchAmounts(const Field& spec) {
  BatchAmounts amounts;
  const GivenAmounts given = ReadGiven(spec, &amounts);
  SetNodesAndTasks(spec, given, &amounts);
  SetGpus(spec, given, &amounts);
  SetCpus(spec, given, &amounts);
  SetMemory(spec, &amounts);
  const std::string_view exclusive = spec["exclusive"].StringOr("");
  amounts.whole_cpus = !exclusive.empty() && exclusive != "oversubscribe";
  ReadLicenses(spec["licenses"], &amounts);
  SetWholeNode(spec, &amounts);
  if (amounts.memory_bytes > 0) SetAmount(&amounts.requests, "memory", amounts.memory_bytes);
  ReadResources(spec, &amounts);
  // Slurm allocates a CPU for each task even if no option asks for it.
  if (AmountOf(amounts.requests, "cpu") == 0)
    SetAmount(&amounts.requests, "cpu", SaturatingMul(amounts.cpus, 1000));
  return amounts;
}

std::vector<std::int32_t> TasksOfNodes(const BatchAmounts& amounts) {
  std::vector<std::int32_t> tasks;
  const std::int32_t base = amounts.tasks / amounts.nodes, more = amounts.tasks % amounts.nodes;
  for (std::int32_t i = 0; i < amounts.nodes; ++i) tasks.push_back(base + (i < more ? 1 : 0));
  return tasks;
}

}  // namespace muster::shapes
