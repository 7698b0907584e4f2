// getopt_long's rules: --name=value, --name value, prefixes of exactly one name, -x value, -xvalue,
// several flags in one word (-HQ); "--" ends the options. An optional argument is attached
// (--exclusive=user, -koff).
#include "schedd/shapes/batch/sbatch_words.h"

#include <algorithm>

#include "schedd/shapes/batch/sbatch_values.h"

namespace muster::shapes {
namespace {

SbatchProblem OfGetopt(std::string message) {
  return {std::move(message), kSbatchUsage, true};
}

// An exact name, or a prefix of exactly one option; names of one option count once.
std::optional<SbatchProblem> FindByPrefix(std::string_view text, const SbatchOption** found) {
  const std::string_view name = text.substr(0, text.find('='));
  *found = FindSbatchOption(name);
  if (*found != nullptr) return std::nullopt;
  std::string possible;
  bool ambiguous = false;
  for (const SbatchOption& option : SbatchOptions()) {
    if (!option.name.starts_with(name)) continue;
    possible += " '--" + std::string(option.name) + "'";
    if (*found == nullptr) *found = &option;
    ambiguous = ambiguous || (*found)->field != option.field;
  }
  const std::string shown = "'--" + std::string(text.substr(0, 128)) + "'";
  if (*found == nullptr) return OfGetopt("unrecognized option " + shown);
  if (ambiguous) return OfGetopt("option " + shown + " is ambiguous; possibilities:" + possible);
  return std::nullopt;
}

// A word that began with "--".
std::optional<SbatchProblem> ReadLong(const std::vector<std::string>& words, std::size_t* at,
                                      SbatchRequest* out) {
  const std::string_view text = std::string_view(words[*at]).substr(2);
  const SbatchOption* option = nullptr;
  if (auto problem = FindByPrefix(text, &option)) return problem;
  const std::size_t equals = text.find('=');
  const std::string name = "'--" + std::string(option->name) + "'";
  if (equals != std::string_view::npos) {
    if (option->argument == SbatchArgument::kNone)
      return OfGetopt("option " + name + " doesn't allow an argument");
    return ApplySbatchOption(*option, text.substr(equals + 1), out);
  }
  if (option->argument != SbatchArgument::kRequired) return ApplySbatchOption(*option, "", out);
  if (*at + 1 >= words.size()) return OfGetopt("option " + name + " requires an argument");
  return ApplySbatchOption(*option, words[++*at], out);
}

// A word that began with "-": flags, of which the last letter may be an option with its value.
std::optional<SbatchProblem> ReadShort(const std::vector<std::string>& words, std::size_t* at,
                                       SbatchRequest* out) {
  std::string_view letters = std::string_view(words[*at]).substr(1);
  while (!letters.empty()) {
    const char letter = letters.front();
    letters.remove_prefix(1);
    const SbatchOption* option = FindSbatchLetter(letter);
    if (option == nullptr) return OfGetopt("invalid option -- '" + std::string(1, letter) + "'");
    if (option->argument == SbatchArgument::kNone) {
      if (auto problem = ApplySbatchOption(*option, "", out)) return problem;
      continue;
    }
    if (!letters.empty() || option->argument == SbatchArgument::kOptional)
      return ApplySbatchOption(*option, letters, out);
    if (*at + 1 >= words.size())
      return OfGetopt("option requires an argument -- '" + std::string(1, letter) + "'");
    return ApplySbatchOption(*option, words[++*at], out);
  }
  return std::nullopt;
}

// Fields that contradict each other.
constexpr std::string_view kMemoryFields[] = {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"};
constexpr std::string_view kGpuFields[] = {"gres", "gpus", "gpusPerNode", "gpusPerTask",
                                           "gpusPerSocket"};
constexpr std::string_view kCpuFields[] = {"tasks", "tasksPerNode", "cpusPerTask", "cpusPerGpu",
                                           "tresPerTask"};

template <std::size_t N>
bool HasOneOf(const json::object& object, const std::string_view (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return object.contains(name); });
}
template <std::size_t N>
void EraseEach(json::object* object, const std::string_view (&names)[N]) {
  for (const auto name : names) object->erase(name);
}

constexpr std::string_view kComponentFields[] = {
    "name",        "nodes",       "tasks",       "tasksPerNode",  "tasksPerCore",  "tasksPerSocket",
    "tasksPerGpu", "cpusPerTask", "cpusPerGpu",  "memoryPerNode", "memoryPerCpu",  "memoryPerGpu",
    "gres",        "gpus",        "gpusPerNode", "gpusPerTask",   "gpusPerSocket", "tresPerTask",
    "exclusive",   "how",         "resources"};

}  // namespace

std::optional<SbatchProblem> ReadSbatchWords(const std::vector<std::string>& words, std::size_t* at,
                                             SbatchRequest* out) {
  for (; *at < words.size(); ++*at) {
    const std::string& word = words[*at];
    if (word == "--") {
      ++*at;
      return std::nullopt;
    }
    std::optional<SbatchProblem> problem;
    if (word.size() > 2 && word.starts_with("--"))
      problem = ReadLong(words, at, out);
    else if (word.size() > 1 && word[0] == '-')
      problem = ReadShort(words, at, out);
    else
      return std::nullopt;
    if (problem) return problem;
  }
  return std::nullopt;
}

void OverlaySbatchFields(json::object lower, json::object* higher) {
  const auto* own = higher->if_contains("resources");
  const bool amounts = own != nullptr && own->is_object();
  const auto in_resources = [&](std::string_view name) {
    return amounts && own->get_object().contains(name);
  };
  if (HasOneOf(*higher, kMemoryFields) || in_resources("memory")) EraseEach(&lower, kMemoryFields);
  if (HasOneOf(*higher, kGpuFields) || in_resources("nvidia.com/gpu")) EraseEach(&lower, kGpuFields);
  if (in_resources("cpu")) EraseEach(&lower, kCpuFields);
  for (auto& field : lower) {
    auto* known = higher->if_contains(field.key());
    if (known == nullptr) {
      higher->emplace(field.key(), std::move(field.value()));
      continue;
    }
    // What is kept by name is merged by name.
    if (field.key() != "how" || !known->is_object() || !field.value().is_object()) continue;
    for (auto& [name, text] : field.value().get_object())
      known->get_object().emplace(name, std::move(text));
  }
}

bool IsComponentField(std::string_view field) {
  return std::find(std::begin(kComponentFields), std::end(kComponentFields), field) !=
         std::end(kComponentFields);
}

std::optional<SbatchProblem> AddSbatchComponent(json::object fields, json::object* leader) {
  json::object component;
  for (auto& field : fields) {
    if (IsComponentField(field.key())) {
      component.emplace(field.key(), std::move(field.value()));
      continue;
    }
    const auto* said = leader->if_contains(field.key());
    if (said == nullptr || *said != field.value()) {
      return SbatchProblem{
          "components of a heterogeneous job share all but name and amounts: say " +
              std::string(field.key()) + " in the first one",
          kSbatchRefusal};
    }
  }
  auto& components = (*leader)["components"];
  if (!components.is_array()) components.emplace_array();
  components.get_array().push_back(std::move(component));
  return std::nullopt;
}

}  // namespace muster::shapes
