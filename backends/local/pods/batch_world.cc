// Reads the annotations of pods of batch scripts. The daemon's own renderer writes them, but a user
// may write them into a manifest as well, so nothing is taken unchecked.
#include "backends/local/pods/batch_world.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>

#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/quantity.h"

namespace muster::local {
namespace {

constexpr std::array<std::string_view, 10> kLimitNames = {
    "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"};
constexpr int kHighestSignal = 64;

const json::object& AnnotationsOf(const json::object& pod_template) {
  return ObjectOrEmpty(pod_template, {"metadata", "annotations"});
}

Error BadAnnotation(std::string_view name, const std::string& text) {
  return InvalidArgument("annotation muster.io/" + std::string(name) + " cannot be \"" + text +
                         "\"");
}

// The whole text as a number in [least, most].
bool ReadNumber(std::string_view text, int base, std::int64_t least, std::int64_t most,
                std::int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size() && *out >= least && *out <= most;
}

// Names come into /etc/hosts, line by line.
bool IsHostName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

bool ReadHosts(std::string_view text, std::vector<std::string>* hosts) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!IsHostName(text.substr(0, comma)) || hosts->size() >= limits::kBatchHosts) return false;
    hosts->emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

// "10@60" or "B:10@60".
bool ReadWarning(std::string_view text, BatchWorld* world) {
  world->warning_batch_only = text.starts_with("B:");
  if (world->warning_batch_only) text.remove_prefix(2);
  const std::size_t at = text.find('@');
  std::int64_t signal = 0;
  if (at == std::string_view::npos ||
      !ReadNumber(text.substr(0, at), 10, 1, kHighestSignal, &signal))
    return false;
  world->warning_signal = static_cast<int>(signal);
  return ReadNumber(text.substr(at + 1), 10, 0, INT_MAX, &world->warning_before_s);
}

bool ReadLimits(const std::string& text, BatchWorld* world) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return false;
  for (const auto& member : value.get_object()) {
    const bool known = std::find(kLimitNames.begin(), kLimitNames.end(),
                                 std::string_view(member.key())) != kLimitNames.end();
    if (!known || !member.value().is_int64() || member.value().get_int64() < -1) return false;
    world->limits.emplace_back(member.key(), member.value().get_int64());
  }
  return true;
}

// The amount that a container may use, or asks for.
std::string AmountOf(const json::value& container, std::string_view resource) {
  const std::string limit =
      Text(ObjectOrEmpty(ObjectOrEmpty(container), {"resources", "limits"}), resource);
  if (!limit.empty()) return limit;
  return Text(ObjectOrEmpty(ObjectOrEmpty(container), {"resources", "requests"}), resource);
}

}  // namespace

bool IsBatchPod(const json::object& pod_template) {
  return Text(AnnotationsOf(pod_template), "muster.io/batch") == "true";
}

Result<BatchWorld> ReadBatchWorld(const json::object& pod_template) {
  const json::object& annotations = AnnotationsOf(pod_template);
  BatchWorld world;
  const std::string hosts = Text(annotations, "muster.io/hosts");
  if (!ReadHosts(hosts, &world.hosts)) return BadAnnotation("hosts", hosts);
  std::int64_t number = 0;
  if (const std::string text = Text(annotations, "muster.io/umask"); !text.empty()) {
    if (!ReadNumber(text, 8, 0, 0777, &number)) return BadAnnotation("umask", text);
    world.umask = static_cast<int>(number);
  }
  if (const std::string text = Text(annotations, "muster.io/limits"); !text.empty()) {
    if (!ReadLimits(text, &world)) return BadAnnotation("limits", text);
  }
  if (const std::string text = Text(annotations, "muster.io/time-limit-s"); !text.empty()) {
    if (!ReadNumber(text, 10, 0, INT_MAX, &world.time_limit_s))
      return BadAnnotation("time-limit-s", text);
  }
  if (const std::string text = Text(annotations, "muster.io/signal"); !text.empty()) {
    if (!ReadWarning(text, &world)) return BadAnnotation("signal", text);
  }
  return world;
}

std::string HostOf(const BatchWorld& world, std::int32_t index) {
  const auto at = static_cast<std::size_t>(std::max(index, 0));
  return at < world.hosts.size() ? world.hosts[at] : "";
}

// FNV-1a gives the first host's number. 127.0.0.0/16 is left out, because services of the machine
// listen there, and the end of the block, so that all numbers above the first one exist.
std::string LoopbackOf(std::string_view seed, std::size_t number) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  constexpr std::uint64_t kFirst = 1ULL << 16, kHosts = (1ULL << 24) - (1ULL << 18);
  const std::uint64_t at = kFirst + hash % (kHosts - kFirst) + number;
  return "127." + std::to_string((at >> 16) & 0xFF) + "." + std::to_string((at >> 8) & 0xFF) + "." +
         std::to_string(at & 0xFF);
}

int CpusAsked(const json::object& pod_template) {
  const json::array& containers = ArrayOrEmpty(pod_template, {"spec", "containers"});
  if (containers.empty()) return 0;
  const std::string text = AmountOf(containers.front(), "cpu");
  if (text.empty()) return 0;
  const Result<std::int64_t> milli = ParseQuantity("cpu", text);
  if (!milli.ok() || *milli <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((*milli + 999) / 1000, INT_MAX));
}

int DevicesAsked(const json::object& pod_template, std::string_view resource) {
  std::int64_t sum = 0;
  for (const json::value& container : ArrayOrEmpty(pod_template, {"spec", "containers"})) {
    const std::string text = AmountOf(container, resource);
    if (text.empty()) continue;
    const Result<std::int64_t> amount = ParseQuantity(std::string(resource), text);
    if (amount.ok() && *amount > 0) sum = std::min<std::int64_t>(INT_MAX, sum + *amount);
  }
  return static_cast<int>(sum);
}

}  // namespace muster::local
