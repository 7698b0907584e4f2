// Each group of options (nodes, tasks and CPUs, memory, GPUs, the REST form's `resources`) is read
// into BatchAmounts by one function; ReadBatchAmounts at the end calls them in the order in which
// they depend on each other. A script runs in one pod on one node, so options that would need a
// second node are refused, as are two options that name different amounts of the same thing. Error
// sentences are sbatch's where sbatch has one.
#include "schedd/shapes/batch/batch_amounts.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::int32_t kTasksMax = 1'000'000;

// Up to 12 decimal digits.
std::optional<std::int64_t> ReadNumber(std::string_view text) {
  std::int64_t number = 0;
  if (text.empty() || text.size() > 12 ||
      text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::int32_t ReadCount(const Field& field) {
  return static_cast<std::int32_t>(field.Int(1, kTasksMax).value_or(1));
}

// "1", "1-4" or the number 1: the script runs on one node, so the least number must be 1.
void CheckNodes(const Field& field) {
  if (!field.present()) return;
  std::optional<std::int64_t> least, most;
  if (field.value()->is_int64()) {
    least = most = field.value()->get_int64();
  } else {
    const std::string_view text = field.StringOr("");
    const std::size_t dash = text.find('-');
    least = ReadNumber(text.substr(0, dash));
    most = dash == std::string_view::npos ? least : ReadNumber(text.substr(dash + 1));
  }
  if (!least || !most || *least < 1 || *most < *least) {
    field.Fail("Invalid --nodes specification");
  } else if (*least > 1) {
    field.Fail(
        "a batch script of this version runs on one node; submit work for several as a Job, JobSet "
        "or PyTorchJob");
  }
}

// CPUs are tasks times CPUs per task. Without --ntasks the tasks per node count, because there is
// one node.
void ReadTasks(const Field& spec, BatchAmounts* out) {
  const Field tasks = spec["tasks"];
  const Field per_node = spec["tasksPerNode"];
  const std::int32_t on_node = ReadCount(per_node);
  out->tasks = tasks.present() ? ReadCount(tasks) : on_node;
  if (tasks.present() && per_node.present() && out->tasks > on_node) {
    tasks.Fail("needs more than one node with " + std::to_string(on_node) +
               " tasks per node, and a batch script of this version runs on one");
  }
  out->cpus_per_task = ReadCount(spec["cpusPerTask"]);
  out->cpus = static_cast<std::int64_t>(out->tasks) * out->cpus_per_task;
}

// A plain number is in megabytes, Slurm's default unit.
std::int64_t ReadMemoryField(const Field& field, const char* option) {
  if (!field.present()) return 0;
  std::optional<std::int64_t> bytes;
  if (field.value()->is_int64()) {
    const std::int64_t megabytes = field.value()->get_int64();
    if (megabytes >= 0) bytes = SaturatingMul(megabytes, 1 << 20);
    if (bytes == kUnlimited) bytes.reset();
  } else {
    bytes = ParseSlurmMemory(field.StringOr(""));
  }
  if (!bytes) {
    field.Fail(std::string("Invalid --") + option + " specification");
    return 0;
  }
  if (*bytes == 0)
    field.Fail("0 (all memory of the node) is not supported by this version; say how much");
  return *bytes;
}

// --mem is for the node, --mem-per-cpu for each CPU.
void ReadMemory(const Field& spec, BatchAmounts* out) {
  const Field per_node = spec["memoryPerNode"];
  const Field per_cpu = spec["memoryPerCpu"];
  if (per_node.present() && per_cpu.present()) {
    per_cpu.Fail("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
  }
  const std::int64_t whole = ReadMemoryField(per_node, "mem");
  const std::int64_t each = ReadMemoryField(per_cpu, "mem-per-cpu");
  out->memory_bytes = whole > 0 ? whole : SaturatingMul(each, out->cpus);
  if (out->memory_bytes == kUnlimited) per_cpu.Fail("asks for more memory than 64 bits can count");
}

// "2" of --gpus, --gpus-per-node and --gpus-per-task; "type:2" is refused.
std::optional<std::int64_t> ReadGpuCount(const Field& field) {
  if (!field.present()) return std::nullopt;
  if (field.value()->is_int64()) return field.Int(0, kTasksMax);
  const std::string_view text = field.StringOr("");
  if (text.find(':') != std::string_view::npos) {
    field.Fail("GPU types are chosen by the queue's flavors; ask for a number only");
    return std::nullopt;
  }
  const auto number = ReadNumber(text);
  if (!number || *number > kTasksMax) field.Fail("Invalid generic resource (gres) specification");
  return number;
}

// --gres: a comma-separated list of "gpu", "gpu:2", "example.com/fpga:1"; or "none".
void ReadGres(const Field& field, ResourceList* amounts) {
  const auto text = field.String();
  if (!text || *text == "none" || text->empty()) return;
  for (std::string_view item : Split(*text, ',')) {
    if (item.starts_with("gres/")) item.remove_prefix(5);
    const auto parts = Split(item, ':');
    const std::string_view name = parts[0];
    std::optional<std::int64_t> count = 1;
    if (parts.size() > 1) count = ReadNumber(parts.back());
    const bool typed = parts.size() == 3 || (parts.size() == 2 && !count);
    if (typed) {
      field.Fail("types of " + Quoted(name) + " are chosen by the queue's flavors; ask for " +
                 std::string(name) + ":N");
      return;
    }
    const std::string resource = name == "gpu" ? std::string(kGpu) : std::string(name);
    const bool known =
        name == "gpu" || (name.find('/') != std::string_view::npos && IsQualifiedName(name));
    if (!known || parts.size() > 2 || !count || *count > kTasksMax) {
      field.Fail("Invalid generic resource (gres) specification");
      return;
    }
    SetAmount(amounts, resource, SaturatingAdd(AmountOf(*amounts, resource), *count));
  }
}

// Four options may name GPUs; those that are given must agree.
void ReadGpus(const Field& spec, BatchAmounts* out) {
  ResourceList generic;
  ReadGres(spec["gres"], &generic);
  std::optional<std::int64_t> gpus;
  if (AmountOf(generic, kGpu) > 0) gpus = AmountOf(generic, kGpu);
  const auto agree = [&](const Field& field, std::optional<std::int64_t> count) {
    if (!count) return;
    if (gpus && *gpus != *count)
      field.Fail("asks for " + std::to_string(*count) + " GPUs, another option for " +
                 std::to_string(*gpus));
    gpus = count;
  };
  agree(spec["gpus"], ReadGpuCount(spec["gpus"]));
  agree(spec["gpusPerNode"], ReadGpuCount(spec["gpusPerNode"]));
  if (auto each = ReadGpuCount(spec["gpusPerTask"])) {
    if (!spec["tasks"].present()) spec["gpusPerTask"].Fail("--gpus-per-task needs --ntasks");
    agree(spec["gpusPerTask"], *each * out->tasks);
  }
  for (const auto& amount : generic) {
    if (amount.amount > 0) SetAmount(&out->requests, amount.resource, amount.amount);
  }
  out->gpus = gpus.value_or(0);
  if (out->gpus > 0) SetAmount(&out->requests, kGpu, out->gpus);
}

// The field `resources` of the REST form: amounts by resource name, for the one pod. A resource may
// be named here or by an sbatch option, but not by both.
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
         (spec["memoryPerNode"].present() || spec["memoryPerCpu"].present())) ||
        AmountOf(out->requests, resource) > 0;
    if (said_twice) field.Fail("is given in two ways");
    SetAmount(&out->requests, resource, *amount);
    if (resource == "cpu") out->cpus = std::max<std::int64_t>(1, *amount / 1000);
    if (resource == "memory") out->memory_bytes = *amount;
    if (resource == kGpu) out->gpus = *amount;
  }
}

// "hours:minutes:seconds", "minutes:seconds" or "minutes"; after a number of days the first part is
// hours (sbatch(1), --time).
std::optional<std::int64_t> Clock(const std::vector<std::string_view>& parts, bool hours_first) {
  std::int64_t values[3] = {0, 0, 0};
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = ReadNumber(parts[i]);
    if (!number || *number > 100'000'000) return std::nullopt;
    values[i] = *number;
  }
  if (hours_first || parts.size() == 3) return values[0] * 3600 + values[1] * 60 + values[2];
  return values[0] * 60 + values[1];
}

}  // namespace

// The words for "no limit" are compared without regard to case.
std::optional<std::int64_t> ParseSlurmTime(std::string_view text) {
  std::string upper(text.substr(0, 16));
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (upper == "UNLIMITED" || upper == "INFINITE" || upper == "-1") return 0;
  std::int64_t seconds = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = ReadNumber(text.substr(0, dash));
    if (!days || *days > 1'000'000) return std::nullopt;
    seconds = *days * 86'400;
    text.remove_prefix(dash + 1);
  }
  const auto rest = Clock(Split(text, ':'), dash != std::string_view::npos);
  if (!rest) return std::nullopt;
  seconds += *rest;
  return (seconds + 59) / 60 * 60;
}

// The units are powers of 1024, with or without a trailing B or i.
std::optional<std::int64_t> ParseSlurmMemory(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = ReadNumber(text.substr(0, digits));
  if (!number) return std::nullopt;
  std::string suffix(text.substr(digits));
  for (char& c : suffix) c = c >= 'a' && c <= 'z' && c != 'i' ? static_cast<char>(c - 32) : c;
  if (suffix.size() == 2 && (suffix[1] == 'B' || suffix[1] == 'i')) suffix.pop_back();
  int power = 2;  // Slurm's default unit is the megabyte
  if (suffix == "K")
    power = 1;
  else if (suffix == "G")
    power = 3;
  else if (suffix == "T")
    power = 4;
  else if (suffix != "M" && !suffix.empty())
    return std::nullopt;
  std::int64_t bytes = *number;
  for (; power > 0; --power) bytes = SaturatingMul(bytes, 1024);
  if (bytes == kUnlimited) return std::nullopt;
  return bytes;
}

// `resources` is read last, because it may not repeat what an option has said.
BatchAmounts ReadBatchAmounts(const Field& spec) {
  BatchAmounts amounts;
  CheckNodes(spec["nodes"]);
  ReadTasks(spec, &amounts);
  ReadMemory(spec, &amounts);
  ReadGpus(spec, &amounts);
  if (amounts.memory_bytes > 0) SetAmount(&amounts.requests, "memory", amounts.memory_bytes);
  ReadResources(spec, &amounts);
  // Slurm allocates a CPU for each task even if no option asks for it.
  if (AmountOf(amounts.requests, "cpu") == 0)
    SetAmount(&amounts.requests, "cpu", amounts.cpus * 1000);
  return amounts;
}

}  // namespace muster::shapes
