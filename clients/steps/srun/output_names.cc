// Patterns of file names.
#include "clients/steps/srun/output_names.h"

#include <algorithm>

namespace muster::steps {
namespace {

// What a letter stands for; false for a letter that means nothing.
bool ValueOf(char letter, const NameFacts& facts, std::string* out, bool* number) {
  *number = true;
  switch (letter) {
    case 'A':
      *out = facts.array_job.empty() ? facts.job : facts.array_job;
      return true;
    case 'a':
      *out = facts.array_task.empty() ? "4294967294" : facts.array_task;
      return true;
    case 'j':
      *out = facts.job;
      return true;
    case 's':
      *out = std::to_string(facts.step);
      return true;
    case 't':
      *out = std::to_string(facts.task);
      return true;
    case 'n':
      *out = std::to_string(facts.node);
      return true;
    case 'J':
      *out = facts.job + "." + std::to_string(facts.step);
      return true;
    default:
      break;
  }
  *number = false;
  if (letter == 'N') *out = facts.host.substr(0, facts.host.find('.'));
  if (letter == 'u') *out = facts.user;
  if (letter == 'x') *out = facts.job_name;
  return letter == 'N' || letter == 'u' || letter == 'x';
}

}  // namespace

bool NamesTasks(const std::string& pattern) {
  if (!pattern.empty() && pattern[0] == '\\') return false;
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string::npos; ++at) {
    ++at;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') ++at;
    if (at >= pattern.size()) return false;
    if (pattern[at] == 't' || pattern[at] == 'n' || pattern[at] == 'N') return true;
  }
  return false;
}

std::string ExpandName(const std::string& pattern, const NameFacts& facts) {
  if (!pattern.empty() && pattern[0] == '\\') return pattern.substr(1);
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 >= pattern.size()) {
      out += pattern[i];
      continue;
    }
    std::size_t at = i + 1;
    std::size_t width = 0;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9')
      width = std::min<std::size_t>(width * 10 + static_cast<std::size_t>(pattern[at++] - '0'), 10);
    if (at < pattern.size() && pattern[at] == '%') {
      out += '%';
      i = at;
      continue;
    }
    std::string value;
    bool number = false;
    if (at >= pattern.size() || !ValueOf(pattern[at], facts, &value, &number)) {
      out += '%';
      continue;
    }
    if (number && value.size() < width) value.insert(0, width - value.size(), '0');
    out += value;
    i = at;
  }
  return out;
}

}  // namespace muster::steps
