// Expands and folds hostlists. "n[01-03,7]x" expands to n01x, n02x, n03x and n7x; several brackets
// give every combination. Numbers keep the leading zeros of their range's first number. Folding is
// simpler: it folds only a number at the end of neighbouring names, which is what schedulers print.
#include "clients/slurm/hostlist.h"

#include <algorithm>
#include <cstdint>

#include "clients/slurm/command.h"

namespace muster::slurm {
namespace {

// A bound on expansion: "n[1-99999999]" must not exhaust the memory.
constexpr std::size_t kMostHosts = 100'000;

// The number with zeros in front, at least `width` characters wide.
std::string Padded(std::int64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// Expands "0001-0003,7" to texts of numbers with their leading zeros.
std::optional<std::vector<std::string>> ExpandRanges(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : SplitList(text)) {
    const std::size_t dash = part.find('-');
    const std::string first = part.substr(0, dash);
    const auto from = ParseCount(first);
    const auto to =
        dash == std::string::npos ? from : ParseCount(std::string_view(part).substr(dash + 1));
    if (!from || !to || *to < *from || *to - *from >= static_cast<std::int64_t>(kMostHosts))
      return std::nullopt;
    for (std::int64_t i = *from; i <= *to; ++i) out.push_back(Padded(i, first.size()));
  }
  if (out.empty()) return std::nullopt;
  return out;
}

// A host name split before the number at its end; `digits` is empty if it ends with none.
struct NumberedHost {
  std::string prefix, digits;
};

// Takes at most nine digits, which always fit an integer.
NumberedHost Split(const std::string& host) {
  std::size_t at = host.size();
  while (at > 0 && host[at - 1] >= '0' && host[at - 1] <= '9' && host.size() - at < 9) --at;
  return {host.substr(0, at), host.substr(at)};
}

}  // namespace

// Each part between commas begins with one empty name, which grows by literal text and multiplies
// at each bracket.
std::optional<std::vector<std::string>> ExpandHostlist(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : SplitList(text)) {
    std::vector<std::string> names{""};
    std::string_view rest = part;
    while (!rest.empty()) {
      const std::size_t open = rest.find('[');
      const std::string_view literal = rest.substr(0, open);
      for (std::string& name : names) name += literal;
      if (open == std::string_view::npos) break;
      const std::size_t close = rest.find(']', open);
      if (close == std::string_view::npos) return std::nullopt;
      const auto numbers = ExpandRanges(rest.substr(open + 1, close - open - 1));
      if (!numbers || numbers->size() * names.size() > kMostHosts) return std::nullopt;
      std::vector<std::string> longer;
      for (const std::string& name : names) {
        for (const std::string& number : *numbers) longer.push_back(name + number);
      }
      names = std::move(longer);
      rest.remove_prefix(close + 1);
    }
    out.insert(out.end(), names.begin(), names.end());
    if (out.size() > kMostHosts) return std::nullopt;
  }
  return out;
}

// The outer loop finds runs of names with the same prefix and width, the inner one ranges of
// consecutive numbers in the run.
std::string FoldHostlist(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const NumberedHost first = Split(hosts[i]);
    std::size_t end = i + 1;
    while (end < hosts.size() && !first.digits.empty()) {
      const NumberedHost next = Split(hosts[end]);
      if (next.prefix != first.prefix || next.digits.size() != first.digits.size()) break;
      ++end;
    }
    if (!out.empty()) out += ',';
    if (end == i + 1) {
      out += hosts[i++];
      continue;
    }
    out += first.prefix + "[";
    for (std::size_t at = i; at < end;) {
      std::size_t last = at;
      const auto number = [&](std::size_t k) { return *ParseCount(Split(hosts[k]).digits); };
      while (last + 1 < end && number(last + 1) == number(last) + 1) ++last;
      if (at != i) out += ',';
      out += Split(hosts[at]).digits;
      if (last > at) out += "-" + Split(hosts[last]).digits;
      at = last + 1;
    }
    out += "]";
    i = end;
  }
  return out;
}

// Only the first part and the first number of each bracket are looked at.
std::string FirstHost(std::string_view text) {
  const std::vector<std::string> parts = SplitList(text);
  if (parts.empty()) return std::string(text);
  std::string out;
  std::string_view rest = parts.front();
  for (std::size_t open; (open = rest.find('[')) != std::string_view::npos;) {
    out += rest.substr(0, open);
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return std::string(text);
    const std::string_view ranges = rest.substr(open + 1, close - open - 1);
    out += ranges.substr(0, ranges.find_first_of(",-"));
    rest.remove_prefix(close + 1);
  }
  return out.append(rest);
}

std::vector<std::string> SortedHosts(std::vector<std::string> hosts) {
  const auto before = [](const std::string& a, const std::string& b) {
    const NumberedHost one = Split(a), two = Split(b);
    if (one.prefix != two.prefix) return one.prefix < two.prefix;
    const auto first = ParseCount(one.digits), second = ParseCount(two.digits);
    if (first.value_or(-1) != second.value_or(-1)) return first.value_or(-1) < second.value_or(-1);
    return one.digits.size() < two.digits.size();
  };
  std::sort(hosts.begin(), hosts.end(), before);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

std::string AddHosts(const char* option, std::string_view text, std::vector<std::string>* hosts) {
  const auto named = ExpandHostlist(text);
  if (!named || named->empty()) return "'" + std::string(text) + "' invalid entry for " + option;
  hosts->insert(hosts->end(), named->begin(), named->end());
  return "";
}

}  // namespace muster::slurm
