// podFailurePolicy and succeededIndexes of a Job, by the rules of Kubernetes' documentation.
#include "backends/local/controllers/job_failure.h"

#include <algorithm>
#include <charconv>

#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

bool ExitCodeMatches(const json::object& rule, std::int32_t code) {
  bool listed = false;
  for (const json::value& value : ArrayOrEmpty(rule, "values")) {
    listed = listed || (value.is_int64() && value.get_int64() == code);
  }
  return Text(rule, "operator") == "NotIn" ? !listed : listed;
}

// Whether one rule matches: by the exit code of a container, or by a pod condition.
bool RuleMatches(const json::object& rule, const PodRecord& pod) {
  if (Has(rule, "onExitCodes")) {
    const json::object& on = ObjectOrEmpty(rule, "onExitCodes");
    const std::string only = Text(on, "containerName");
    return std::any_of(pod.exit_codes.begin(), pod.exit_codes.end(), [&](const auto& ended) {
      return ended.second != 0 && (only.empty() || only == ended.first) &&
             ExitCodeMatches(on, ended.second);
    });
  }
  for (const json::value& entry : ArrayOrEmpty(rule, "onPodConditions")) {
    // The only condition that a local pod can have: its supervisor was killed.
    const std::string status = Text(ObjectOrEmpty(entry), "status");
    if (pod.lost && Text(ObjectOrEmpty(entry), "type") == "DisruptionTarget" &&
        (status.empty() || status == "True")) {
      return true;
    }
  }
  return false;
}

bool ReadNumber(std::string_view text, std::int32_t* out) {
  return std::from_chars(text.data(), text.data() + text.size(), *out).ec == std::errc();
}

}  // namespace

int MatchFailureRule(const json::object& spec, const PodRecord& pod) {
  const json::array& rules = ArrayOrEmpty(spec, {"podFailurePolicy", "rules"});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (RuleMatches(ObjectOrEmpty(rules[i]), pod)) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::int32_t> ParseIndexes(const std::string& text) {
  std::vector<std::int32_t> indexes;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    std::int32_t first = 0, last = 0;
    if (!ReadNumber(part, &first)) continue;
    last = first;
    const std::size_t dash = part.find('-');
    if (dash != std::string::npos && !ReadNumber(std::string_view(part).substr(dash + 1), &last))
      continue;
    for (std::int32_t i = first; i <= last; ++i) indexes.push_back(i);
  }
  return indexes;
}

}  // namespace muster::local
