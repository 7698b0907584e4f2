// How each meaning of the table checks its value and which field it sets. The sentences are those
// of Slurm's command: "Invalid --mem specification" (255), "Invalid numeric value "x" for
// --ntasks." (1).
#include "schedd/shapes/batch/sbatch_values.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "schedd/shapes/batch/batch_amounts.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/shapes/batch/sbatch_words.h"

namespace muster::shapes {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::int64_t kNiceMax = 2'147'483'645;  // sbatch(1), --nice

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

SbatchProblem InvalidValue(const SbatchOption& option) {
  return {"Invalid --" + std::string(option.name) + " specification"};
}
SbatchProblem InvalidNumber(const SbatchOption& option, std::string_view value) {
  std::string name(option.name);
  if (name == "tasks") name = "ntasks";
  if (name == "tasks-per-node") name = "ntasks-per-node";
  return {"Invalid numeric value \"" + std::string(value) + "\" for --" + name + ".",
          kSbatchRefusal};
}
SbatchProblem InvalidGres() {
  return {"Invalid generic resource (gres) specification", kSbatchRefusal};
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// "2", "a100:2", or "a100", which means one.
bool IsGpuRequest(std::string_view text) {
  const auto parts = SplitAt(text, ':');
  if (parts.size() > 2 || parts[0].empty()) return false;
  return parts.size() == 1 || WholeNumber(parts[1]).has_value();
}

// A list of "name[:type][:count]"; a count may have the suffix k, m or g.
bool IsGresList(std::string_view text) {
  for (const std::string_view item : SplitAt(text, ',')) {
    const auto parts = SplitAt(item, ':');
    if (parts.size() > 3 || parts[0].empty()) return false;
    if (parts.size() < 2) continue;
    std::string_view count = parts.back();
    if (!count.empty() && IsOneOf(Lower(count.substr(count.size() - 1)), {"k", "m", "g"}))
      count.remove_suffix(1);
    // Behind a name alone a word is a type only if gres of that name can have types.
    const bool typed = parts.size() == 2 && (parts[0] == "gpu" || parts[0] == "gres/gpu");
    const bool word = !parts.back().empty() && (parts.back()[0] < '0' || parts.back()[0] > '9');
    if (!WholeNumber(count) && !(typed && word && parts.back().size() > 1)) return false;
  }
  return true;
}

constexpr std::string_view kDistributions[] = {"*",     "block",  "cyclic", "arbitrary", "plane",
                                               "fcyclic", "pack", "nopack", "nolllp"};

// "block:cyclic,Pack", "plane=4", "*".
bool IsDistribution(std::string_view text) {
  for (const std::string_view part : SplitAt(text, ',')) {
    for (const std::string_view word : SplitAt(part, ':')) {
      const std::string name = Lower(word.substr(0, word.find('=')));
      if (std::find(std::begin(kDistributions), std::end(kDistributions), name) ==
          std::end(kDistributions))
        return false;
    }
  }
  return true;
}

// "low", "highm1", "2400000"; the second part may name a governor.
bool IsFrequency(std::string_view text) {
  return WholeNumber(text) || IsOneOf(Lower(text), {"low", "medium", "high", "highm1"});
}
bool IsGovernor(std::string_view text) {
  return IsOneOf(Lower(text), {"conservative", "ondemand", "performance", "powersave", "schedutil",
                               "userspace"});
}

// --cpu-freq: p1[-p2[:p3]]; Slurm says which part is wrong, and then that the option is.
std::optional<SbatchProblem> CheckFrequency(std::string_view value) {
  const std::string last = "\nInvalid --cpu-freq argument";
  const std::size_t colon = value.find(':');
  const std::string_view range = value.substr(0, colon);
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const bool alone = dash == std::string_view::npos && colon == std::string_view::npos;
  if (!IsFrequency(first) && !(alone && IsGovernor(first)))
    return SbatchProblem{"unrecognized --cpu-freq argument \"" + std::string(value) + "\"" + last};
  if (dash != std::string_view::npos && !IsFrequency(range.substr(dash + 1)))
    return SbatchProblem{"unrecognized --cpu-freq argument \"" + std::string(value) + "\"" + last};
  if (colon != std::string_view::npos && !IsGovernor(value.substr(colon + 1))) {
    return SbatchProblem{"illegal governor: " + std::string(value.substr(colon + 1)) +
                         " on --cpu-freq" + last};
  }
  return std::nullopt;
}

// --gpu-bind and --mem-bind: words, some with a list behind a colon.
std::optional<SbatchProblem> CheckBinding(const SbatchOption& option, std::string_view value) {
  const bool gpu = option.name == "gpu-bind";
  for (const std::string_view part : SplitAt(value, ',')) {
    const std::string word = Lower(part.substr(0, part.find(':')));
    const bool known =
        gpu ? IsOneOf(word, {"verbose", "v", "none", "closest", "map", "mask", "map_gpu",
                             "mask_gpu", "per_task", "single"})
            : IsOneOf(word, {"quiet", "q", "verbose", "v", "none", "no", "local", "prefer", "p",
                             "rank", "sort", "nosort", "map_mem", "mask_mem", "help"});
    // The values of a list follow commas too.
    const bool number = word.starts_with("0x") || WholeNumber(word.substr(0, word.find('*')));
    if (known || number) continue;
    return SbatchProblem{gpu ? "Invalid --gpu-bind argument: gpu:" + std::string(value)
                             : "unrecognized --mem-bind argument \"" + std::string(value) + "\""};
  }
  return std::nullopt;
}

// Sets a field of what is kept by name.
void Keep(const SbatchOption& option, std::string_view value, SbatchRequest* out) {
  auto& how = out->fields["how"];
  if (!how.is_object()) how.emplace_object();
  how.get_object()[option.field] = value;
}

// The meanings that check a value and keep it by name; nothing if the meaning is another.
std::optional<SbatchProblem> ApplyKept(const SbatchOption& option, std::string_view value,
                                       SbatchRequest* out) {
  using M = SbatchMeaning;
  switch (option.meaning) {
    case M::kHowFlag:
      value = "yes";
      break;
    case M::kHow:
      if (value.empty()) value = "yes";
      if (option.name == "cpu-freq") {
        if (auto problem = CheckFrequency(value)) return problem;
      }
      if (option.name == "gpu-bind" || option.name == "mem-bind") {
        if (auto problem = CheckBinding(option, value)) return problem;
      }
      if (option.name == "acctg-freq" && value.find('=') == std::string_view::npos &&
          !WholeNumber(value))
        return SbatchProblem{"Invalid --acctg-freq specification: " + std::string(value)};
      break;
    case M::kHowCount: {
      const auto number = WholeNumber(value);
      if (!number || *number < 1 || *number > kCountMax) return InvalidNumber(option, value);
      break;
    }
    case M::kHowMemory:
      if (!ParseSlurmMemory(value)) return InvalidValue(option);
      break;
    case M::kHowNumber:
      if (!WholeNumber(value)) return InvalidNumber(option, value);
      break;
    case M::kHowHint:
      if (!IsOneOf(value, {"compute_bound", "memory_bound", "multithread", "nomultithread"}))
        return SbatchProblem{"unrecognized --hint argument \"" + std::string(value) +
                                 "\", see --hint=help",
                             kSbatchRefusal};
      break;
    case M::kHowDistribution:
      if (!IsDistribution(value)) return InvalidValue(option);
      break;
    case M::kHowProfile:
      for (const std::string_view word : SplitAt(value, ',')) {
        if (!IsOneOf(Lower(word), {"all", "none", "energy", "task", "lustre", "network"}))
          return SbatchProblem{"invalid --profile=" + std::string(value) + " option"};
      }
      break;
    case M::kHowNoKill:
      if (value == "set") value = "";  // the value of the variable SBATCH_NO_KILL
      if (!value.empty() && Lower(value) != "off") return InvalidValue(option);
      value = value.empty() ? "yes" : "off";
      break;
    case M::kHowGresFlags:
      for (const std::string_view word : SplitAt(value, ',')) {
        if (!IsOneOf(Lower(word),
                     {"disable-binding", "enforce-binding", "one-task-per-sharing",
                      "multiple-tasks-per-sharing", "allow-task-sharing"}))
          return InvalidValue(option);
      }
      break;
    case M::kHowTime:
      if (!ParseSlurmTime(value)) return InvalidValue(option);
      break;
    case M::kHowNodeInfo: {
      const auto parts = SplitAt(value, ':');
      constexpr std::string_view kArgument[] = {"first", "second", "third"};
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto number = WholeNumber(parts[i]);
        if (i > 2 || (parts[i] != "*" && (!number || *number < 1)))
          return SbatchProblem{"Invalid numeric value \"" + std::string(parts[i]) + "\" for " +
                                   std::string(kArgument[std::min<std::size_t>(i, 2)]) +
                                   " arg of -B.",
                               kSbatchRefusal};
      }
      break;
    }
    case M::kHowSwitches: {
      const std::size_t at = value.find('@');
      if (!WholeNumber(value.substr(0, at))) return InvalidNumber(option, value);
      if (at != std::string_view::npos && !ParseSlurmTime(value.substr(at + 1)))
        return InvalidValue(option);
      break;
    }
    default:
      return std::nullopt;
  }
  Keep(option, value, out);
  return std::nullopt;
}

std::optional<SbatchProblem> ApplyNodes(const SbatchOption& option, std::string_view value,
                                        SbatchRequest* out) {
  const auto range = ParseNodeRange(value);
  if (!range) {
    const std::size_t dash = value.find('-');
    const bool first = WholeNumber(value.substr(0, dash)).has_value();
    return SbatchProblem{
        "\"" +
        std::string(first && dash != std::string_view::npos ? value.substr(dash + 1) : value) +
        "\" is not a valid node count"};
  }
  if (range->most < range->least) {
    return SbatchProblem{"Maximum node count " + std::to_string(range->most) +
                         " is less than minimum node count " + std::to_string(range->least)};
  }
  if (range->least == 0)
    return SbatchProblem{"Batch job submission failed: Node count specification invalid",
                         kSbatchRefusal};
  out->fields[option.field] = value;
  return std::nullopt;
}

// The number or nothing; a sign is allowed.
std::optional<std::int64_t> SignedNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto number = WholeNumber(text);
  if (!number) return std::nullopt;
  return negative ? -*number : *number;
}

std::optional<SbatchProblem> ApplyNumber(const SbatchOption& option, std::string_view value,
                                         SbatchRequest* out) {
  using M = SbatchMeaning;
  if (option.meaning == M::kCount) {
    const auto number = WholeNumber(value);
    if (!number || *number < 1 || *number > kCountMax) return InvalidNumber(option, value);
    out->fields[option.field] = *number;
    return std::nullopt;
  }
  if (option.meaning == M::kNice) {
    const auto number = value.empty() ? std::optional<std::int64_t>(100) : SignedNumber(value);
    if (!number) return InvalidValue(option);
    if (*number > kNiceMax || *number < -kNiceMax) {
      return SbatchProblem{"Invalid --nice value, out of range (+/- " + std::to_string(kNiceMax) +
                           ")"};
    }
    out->fields[option.field] = *number;
    return std::nullopt;
  }
  // --priority
  const auto number = Lower(value) == "top" ? std::optional<std::int64_t>(4'294'967'294)
                                            : WholeNumber(value);
  if (!number || *number > 4'294'967'294) return InvalidValue(option);
  out->fields[option.field] = *number;
  return std::nullopt;
}

// Values of refused options that ask for nothing are kept; those that are malformed are told so.
// Nothing if the value asks for something.
std::optional<std::optional<SbatchProblem>> ApplyNothing(const SbatchOption& option,
                                                         std::string_view value,
                                                         SbatchRequest* out) {
  using Answer = std::optional<SbatchProblem>;
  const bool cores = option.name == "core-spec", threads = option.name == "thread-spec";
  const auto number = WholeNumber(value);
  if ((cores || threads) && (!number || (threads && *number == 0)))
    return Answer(InvalidNumber(option, value));
  const bool nothing = (cores && *number == 0) || (option.name == "network" && value == "none");
  if (!nothing) return std::nullopt;
  auto& how = out->fields["how"];
  if (!how.is_object()) how.emplace_object();
  how.get_object()[option.name] = value;
  return Answer();
}

}  // namespace

std::optional<NodeRange> ParseNodeRange(std::string_view text) {
  const auto one = [](std::string_view part) -> std::optional<std::int64_t> {
    std::int64_t factor = 1;
    if (!part.empty() && (part.back() == 'k' || part.back() == 'K')) factor = 1024;
    if (!part.empty() && (part.back() == 'm' || part.back() == 'M')) factor = 1024 * 1024;
    if (factor > 1) part.remove_suffix(1);
    const auto number = WholeNumber(part);
    if (!number || *number > kCountMax) return std::nullopt;
    return *number * factor;
  };
  std::optional<NodeRange> all;
  for (const std::string_view item : SplitAt(text, ',')) {
    const std::string_view range = item.substr(0, item.find(':'));
    if (range.size() != item.size() && !WholeNumber(item.substr(range.size() + 1)))
      return std::nullopt;
    const std::size_t dash = range.find('-');
    const auto least = one(range.substr(0, dash));
    const auto most = dash == std::string_view::npos ? least : one(range.substr(dash + 1));
    if (!least || !most) return std::nullopt;
    if (!all) {
      all = NodeRange{*least, *most};
    } else {
      all->least = std::min(all->least, *least);
      all->most = std::max(all->most, *most);
    }
  }
  return all;
}

std::optional<std::uint32_t> ParseMailEvents(std::string_view text) {
  using E = MailEvent;
  static constexpr std::pair<std::string_view, E> kEvents[] = {
      {"begin", E::kBegin},
      {"end", E::kEnd},
      {"fail", E::kFail},
      {"requeue", E::kRequeue},
      {"invalid_depend", E::kInvalidDependency},
      {"time_limit", E::kTimeLimit},
      {"time_limit_90", E::kTimeLimit90},
      {"time_limit_80", E::kTimeLimit80},
      {"time_limit_50", E::kTimeLimit50},
      {"stage_out", E::kStageOut},
      {"array_tasks", E::kArrayTasks}};
  std::uint32_t events = 0;
  for (const std::string_view part : SplitAt(text, ',')) {
    const std::string word = Lower(part);
    if (word == "none") {
      events = 0;
      continue;
    }
    if (word == "all") {
      for (const E event :
           {E::kBegin, E::kEnd, E::kFail, E::kRequeue, E::kInvalidDependency, E::kStageOut})
        events |= static_cast<std::uint32_t>(event);
      continue;
    }
    bool known = false;
    for (const auto& [name, event] : kEvents) {
      if (name != word) continue;
      events |= static_cast<std::uint32_t>(event);
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return events;
}

std::optional<SbatchProblem> ApplySbatchOption(const SbatchOption& option, std::string_view value,
                                               SbatchRequest* out) {
  using M = SbatchMeaning;
  const auto set = [&](json::value text) -> std::optional<SbatchProblem> {
    out->fields[option.field] = std::move(text);
    return std::nullopt;
  };
  switch (option.meaning) {
    case M::kText:
      return set(json::string(value));
    case M::kTrue:
      return set(true);
    case M::kFalse:
      return set(false);
    case M::kTime:
      if (!ParseSlurmTime(value)) return InvalidValue(option);
      return set(json::string(value));
    case M::kMemory:
      if (!ParseSlurmMemory(value)) return InvalidValue(option);
      return set(json::string(value));
    case M::kNodes:
      return ApplyNodes(option, value, out);
    case M::kCount:
    case M::kNice:
    case M::kPriority:
      return ApplyNumber(option, value, out);
    case M::kGpus:
      if (!IsGpuRequest(value)) return InvalidGres();
      return set(json::string(value));
    case M::kGres:
      if (value == "help") {
        out->client["gres-help"] = "";
        return std::nullopt;
      }
      if (!IsGresList(value)) return InvalidGres();
      return set(json::string(value));
    case M::kExclusive:
      if (!IsOneOf(Lower(value), {"", "user", "mcs", "topo", "exclusive", "oversubscribe"}))
        return InvalidValue(option);
      return set(json::string(value.empty() ? "yes" : Lower(value)));
    case M::kSignal:
      if (!ParseWarningSignal(value)) return InvalidValue(option);
      return set(json::string(value));
    case M::kMailType:
      if (!ParseMailEvents(value)) return InvalidValue(option);
      return set(json::string(value));
    case M::kYesNo:
      if (!IsOneOf(Lower(value), {"yes", "no"})) return InvalidValue(option);
      return set(Lower(value) == "yes");
    case M::kOpenMode:
      if (!IsOneOf(value, {"append", "truncate", "a", "t"})) return InvalidValue(option);
      return set(value[0] == 'a' ? "append" : "truncate");
    case M::kArray:
      if (!ParseArraySpec(value).ok())
        return SbatchProblem{"Batch job submission failed: Invalid job array specification",
                             kSbatchRefusal};
      return set(json::string(value));
    case M::kRequeue:
      if (!value.empty() && Lower(value) != "expedite") return InvalidValue(option);
      if (!value.empty()) {
        auto& how = out->fields["how"];
        if (!how.is_object()) how.emplace_object();
        how.get_object()["requeue"] = "expedite";
      }
      return set(true);
    case M::kPropagate:
      Keep(option, value.empty() ? "ALL" : value, out);
      return std::nullopt;
    case M::kClient:
    case M::kClientFlag:
      out->client[std::string(option.field)] = value;
      return std::nullopt;
    case M::kRefused:
      if (auto answer = ApplyNothing(option, value, out)) return *answer;
      return SbatchProblem{"--" + std::string(option.name) + ": " + std::string(option.field),
                           kSbatchRefusal};
    default:
      return ApplyKept(option, value, out);
  }
}

}  // namespace muster::shapes
