// Slurm's texts about tasks, and numbers as users write them.
#include "clients/steps/words.h"

#include <strings.h>
#include <sys/wait.h>

#include <cstring>
#include <ctime>

namespace muster::steps {

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::int64_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return out;
}

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      part += c;
      continue;
    }
    if (!part.empty()) out.push_back(std::move(part));
    part.clear();
  }
  if (!part.empty()) out.push_back(std::move(part));
  return out;
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (c != quote && quote != 0) word += c;
      continue;
    }
    if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) out.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) out.push_back(std::move(word));
  return out;
}

std::string FoldNumbers(const std::vector<std::int32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (last > i) out += '-' + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::optional<std::vector<std::int32_t>> ExpandNumbers(std::string_view text, std::int32_t most) {
  std::vector<std::int32_t> out;
  for (const std::string& part : SplitCommas(text)) {
    std::string_view range = part;
    std::int64_t step = 1;
    if (const auto colon = range.find(':'); colon != std::string_view::npos) {
      const auto given = WholeNumber(range.substr(colon + 1));
      if (!given || *given < 1) return std::nullopt;
      step = *given;
      range = range.substr(0, colon);
    }
    const auto dash = range.find('-');
    const auto from = WholeNumber(range.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : WholeNumber(range.substr(dash + 1));
    if (!from || !to || *to < *from || *to > most) return std::nullopt;
    for (std::int64_t i = *from; i <= *to; i += step) out.push_back(static_cast<std::int32_t>(i));
    if (out.size() > 1'000'000) return std::nullopt;
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string FoldCounts(const std::vector<std::int32_t>& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(counts[i]);
    if (end - i > 1) out += "(x" + std::to_string(end - i) + ")";
    i = end;
  }
  return out;
}

std::optional<std::vector<std::int32_t>> ExpandCounts(std::string_view text) {
  std::vector<std::int32_t> out;
  for (const std::string& part : SplitCommas(text)) {
    std::string_view rest = part;
    std::int64_t times = 1;
    if (const auto open = rest.find("(x"); open != std::string_view::npos && rest.back() == ')') {
      const auto given = WholeNumber(rest.substr(open + 2, rest.size() - open - 3));
      if (!given || *given < 1 || *given > 100'000) return std::nullopt;
      times = *given;
      rest = rest.substr(0, open);
    }
    const auto count = WholeNumber(rest);
    if (!count || *count > 1'000'000) return std::nullopt;
    out.insert(out.end(), static_cast<std::size_t>(times), static_cast<std::int32_t>(*count));
    if (out.size() > 100'000) return std::nullopt;
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string TaskList(const std::vector<std::int32_t>& tasks) {
  return (tasks.size() == 1 ? "task " : "tasks ") + FoldNumbers(tasks);
}

std::string EndOf(std::int32_t wait_status) {
  if (WIFEXITED(wait_status)) {
    const int code = WEXITSTATUS(wait_status);
    return code == 0 ? "" : "Exited with exit code " + std::to_string(code);
  }
  std::string out = ::strsignal(WTERMSIG(wait_status));
  if (WCOREDUMP(wait_status)) out += " (core dumped)";
  return out;
}

int ExitOf(std::int32_t wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

namespace {

// "H:M:S" and its shorter forms, behind days or not.
std::optional<std::int64_t> ClockSeconds(std::string_view text, bool days) {
  std::int64_t parts[3] = {0, 0, 0};
  int count = 0;
  while (true) {
    const auto colon = text.find(':');
    const auto number = WholeNumber(text.substr(0, colon));
    if (!number || *number > 100'000'000 || count == 3) return std::nullopt;
    parts[count++] = *number;
    if (colon == std::string_view::npos) break;
    text = text.substr(colon + 1);
  }
  if (days || count == 3) return parts[0] * 3600 + parts[1] * 60 + parts[2];
  return parts[0] * 60 + parts[1];
}

}  // namespace

std::optional<std::int64_t> TimeLimitSeconds(std::string_view text) {
  const std::string word(text);
  for (const char* none : {"INFINITE", "UNLIMITED", "-1"}) {
    if (::strcasecmp(word.c_str(), none) == 0) return 0;
  }
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return ClockSeconds(text, false);
  const auto days = WholeNumber(text.substr(0, dash));
  const auto rest = ClockSeconds(text.substr(dash + 1), true);
  if (!days || *days > 1'000'000 || !rest) return std::nullopt;
  return *days * 86'400 + *rest;
}

std::optional<std::int64_t> MemoryMegabytes(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = WholeNumber(text.substr(0, digits));
  if (!number || *number > 1'000'000'000'000) return std::nullopt;
  std::string unit(text.substr(digits));
  if (unit.size() == 2 && (unit[1] == 'B' || unit[1] == 'b')) unit.pop_back();
  if (unit.empty() || ::strcasecmp(unit.c_str(), "M") == 0) return *number;
  if (::strcasecmp(unit.c_str(), "K") == 0) return (*number + 1023) / 1024;
  if (::strcasecmp(unit.c_str(), "G") == 0) return *number * 1024;
  if (::strcasecmp(unit.c_str(), "T") == 0 && *number < 1'000'000'000) return *number << 20;
  return std::nullopt;
}

std::optional<int> SignalNumber(std::string_view text) {
  if (const auto number = WholeNumber(text)) {
    if (*number < 1 || *number > 64) return std::nullopt;
    return static_cast<int>(*number);
  }
  std::string name(text);
  if (name.size() > 3 && ::strncasecmp(name.c_str(), "SIG", 3) == 0) name.erase(0, 3);
  for (int i = 1; i < 32; ++i) {
    const char* known = ::sigabbrev_np(i);
    if (known != nullptr && ::strcasecmp(known, name.c_str()) == 0) return i;
  }
  return std::nullopt;
}

namespace {

// The length of the UTF-8 character at the beginning; 0 if there is none.
std::size_t CharacterAt(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

}  // namespace

std::string JsonText(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t size = CharacterAt(text);
    if (size != 1) {
      out += size == 0 ? "?" : text.substr(0, size);
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    } else {
      out += c;
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out + "\"";
}

std::string LocalStamp(std::int64_t epoch_s) {
  const std::time_t when = static_cast<std::time_t>(epoch_s);
  std::tm parts{};
  ::localtime_r(&when, &parts);
  char out[32];
  return {out, std::strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%S", &parts)};
}

}  // namespace muster::steps
