// Hostlists. "n[01-03,7]x" names n01x, n02x, n03x and n7x; several brackets give every
// combination; numbers keep the leading zeros of their range's first number.
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr std::size_t kMostHostNames = 100'000;

std::string WithZeros(std::int64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

std::optional<std::vector<std::string>> NumbersOf(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : SplitCommas(text)) {
    const auto dash = part.find('-');
    const std::string first = part.substr(0, dash);
    const auto from = WholeNumber(first);
    const auto to =
        dash == std::string::npos ? from : WholeNumber(std::string_view(part).substr(dash + 1));
    if (!from || !to || *to < *from || *to - *from >= static_cast<std::int64_t>(kMostHostNames))
      return std::nullopt;
    for (std::int64_t i = *from; i <= *to; ++i) out.push_back(WithZeros(i, first.size()));
  }
  if (out.empty()) return std::nullopt;
  return out;
}

// Expands one part between commas; `names` begins with one empty name.
bool ExpandPart(std::string_view rest, std::vector<std::string>* names) {
  while (!rest.empty()) {
    const auto open = rest.find('[');
    for (std::string& name : *names) name += rest.substr(0, open);
    if (open == std::string_view::npos) return true;
    const auto close = rest.find(']', open);
    if (close == std::string_view::npos) return false;
    const auto numbers = NumbersOf(rest.substr(open + 1, close - open - 1));
    if (!numbers || numbers->size() * names->size() > kMostHostNames) return false;
    std::vector<std::string> longer;
    for (const std::string& name : *names) {
      for (const std::string& number : *numbers) longer.push_back(name + number);
    }
    *names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return true;
}

// Where the number at a name's end begins; at most nine digits count.
std::size_t NumberAt(const std::string& host) {
  std::size_t at = host.size();
  while (at > 0 && host[at - 1] >= '0' && host[at - 1] <= '9' && host.size() - at < 9) --at;
  return at;
}

}  // namespace

std::optional<std::vector<std::string>> ExpandHosts(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : SplitCommas(text)) {
    std::vector<std::string> names{""};
    if (!ExpandPart(part, &names)) return std::nullopt;
    out.insert(out.end(), names.begin(), names.end());
    if (out.size() > kMostHostNames) return std::nullopt;
  }
  return out;
}

// Runs of names with the same prefix and width become one bracket.
std::string FoldHosts(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const std::size_t digits = NumberAt(hosts[i]);
    const std::string prefix = hosts[i].substr(0, digits);
    std::size_t end = i + 1;
    while (end < hosts.size() && digits < hosts[i].size() && NumberAt(hosts[end]) == digits &&
           hosts[end].size() == hosts[i].size() && hosts[end].starts_with(prefix)) {
      ++end;
    }
    if (!out.empty()) out += ',';
    if (end == i + 1) {
      out += hosts[i++];
      continue;
    }
    const auto number = [&](std::size_t k) { return *WholeNumber(hosts[k].substr(digits)); };
    out += prefix + '[';
    for (std::size_t at = i; at < end;) {
      std::size_t last = at;
      while (last + 1 < end && number(last + 1) == number(last) + 1) ++last;
      if (at != i) out += ',';
      out += hosts[at].substr(digits);
      if (last > at) out += '-' + hosts[last].substr(digits);
      at = last + 1;
    }
    out += ']';
    i = end;
  }
  return out;
}

}  // namespace muster::steps
