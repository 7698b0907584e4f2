// A dependency is TYPE[:ID[+MINUTES][:ID...]], or an id alone. An id is a job's number, that of an
// array with "_TASK", or of all its tasks with "_*". The list is kept as one item for each id, in
// the order in which they were given; the same id of the same type counts once.
#include "schedd/shapes/batch/batch_dependency.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster::shapes {
namespace {

// A job with more parents than this is refused: each is looked up at every end of a job.
constexpr std::size_t kDependenciesMax = 1000;
constexpr std::int64_t kJobIdMax = 4'000'000'000;
constexpr std::int32_t kDependencyTaskMax = 4'000'000;   // Slurm's hard cap of array indexes
constexpr std::int32_t kDependencyMinutesMax = 5'256'000;  // ten years

struct DependencyWord {
  DependencyType type;
  std::string_view name;
};
constexpr DependencyWord kDependencyWords[] = {
    {DependencyType::kAfter, "after"},
    {DependencyType::kAfterAny, "afterany"},
    {DependencyType::kAfterOk, "afterok"},
    {DependencyType::kAfterNotOk, "afternotok"},
    {DependencyType::kAfterCorr, "aftercorr"},
    {DependencyType::kSingleton, "singleton"},
    {DependencyType::kAfterBurstBuffer, "afterburstbuffer"},
};

Error DependencyProblem() { return InvalidField("dependency", "Job dependency problem"); }

// A decimal number without sign, at most `most`.
std::optional<std::int64_t> DependencyNumber(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

// Slurm compares the names of types without regard to case.
std::optional<DependencyType> DependencyTypeOf(std::string_view text) {
  std::string lower(text.substr(0, 32));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const auto& [type, name] : kDependencyWords) {
    if (name == lower) return type;
  }
  return std::nullopt;
}

// "7", "8_3", "8_*", and for `after` "7+5".
std::optional<Dependency> DependencyOn(DependencyType type, std::string_view text) {
  Dependency item;
  item.type = type;
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto minutes = DependencyNumber(text.substr(plus + 1), kDependencyMinutesMax);
    if (type != DependencyType::kAfter || !minutes) return std::nullopt;
    item.minutes = static_cast<std::int32_t>(*minutes);
    text = text.substr(0, plus);
  }
  const std::size_t line = text.find('_');
  if (line != std::string_view::npos && text.substr(line + 1) != "*") {
    const auto task = DependencyNumber(text.substr(line + 1), kDependencyTaskMax);
    if (!task) return std::nullopt;
    item.task = static_cast<std::int32_t>(*task);
  }
  const auto id = DependencyNumber(text.substr(0, line), kJobIdMax);
  if (!id || *id == 0) return std::nullopt;
  item.job = JobId{*id};
  return item;
}

// Adds the items of one part; false if it is malformed.
bool AddDependencies(std::string_view part, std::vector<Dependency>* items) {
  const std::size_t colon = part.find(':');
  const std::string_view word = part.substr(0, colon);
  auto type = DependencyTypeOf(word);
  if (type == DependencyType::kSingleton) {
    if (colon != std::string_view::npos) return false;
    items->push_back({.type = *type, .job = JobId{}});
    return true;
  }
  std::string_view ids = colon == std::string_view::npos ? "" : part.substr(colon + 1);
  if (!type && colon == std::string_view::npos) {
    type = DependencyType::kAfterAny;
    ids = part;
  }
  if (!type || ids.empty()) return false;
  while (true) {
    const std::size_t next = ids.find(':');
    const auto item = DependencyOn(*type, ids.substr(0, next));
    if (!item || items->size() >= kDependenciesMax) return false;
    if (std::find(items->begin(), items->end(), *item) == items->end()) items->push_back(*item);
    if (next == std::string_view::npos) return true;
    ids.remove_prefix(next + 1);
  }
}

}  // namespace

Result<DependencyList> ParseDependencies(std::string_view text) {
  DependencyList list;
  if (text.empty() || text == "0" || text == "none" || text == "NONE") return list;
  list.any = text.find('?') != std::string_view::npos;
  if (list.any && text.find(',') != std::string_view::npos) return DependencyProblem();
  while (true) {
    const std::size_t end = text.find(list.any ? '?' : ',');
    if (!AddDependencies(text.substr(0, end), &list.items)) return DependencyProblem();
    if (end == std::string_view::npos) return list;
    text.remove_prefix(end + 1);
  }
}

std::string DependencyText(const BatchState& state, const std::function<bool(JobId)>& is_array) {
  std::string text;
  for (const Dependency& item : state.dependencies) {
    if (!text.empty()) text.push_back(state.any_dependency ? '?' : ',');
    text += DependencyTypeName(item.type);
    if (item.type != DependencyType::kSingleton) {
      text += ":" + std::to_string(item.job.value);
      if (item.task >= 0)
        text += "_" + std::to_string(item.task);
      else if (is_array && is_array(item.job))
        text += "_*";
      if (item.minutes > 0) text += "+" + std::to_string(item.minutes);
    }
    text += item.failed ? "(failed)" : "(unfulfilled)";
  }
  return text;
}

std::string_view DependencyTypeName(DependencyType type) {
  for (const auto& [value, name] : kDependencyWords) {
    if (value == type) return name;
  }
  return "";
}

}  // namespace muster::shapes
