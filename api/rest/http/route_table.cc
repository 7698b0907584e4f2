// Patterns are cut into parts once, grouped by their number of segments, and sorted so that literal
// segments come before parameters with a verb and those before plain parameters, from left to
// right. The first pattern in this order that matches is therefore the most literal one.
#include "api/rest/http/route_table.h"

#include <algorithm>
#include <utility>

#include "schedd/base/check.h"

namespace muster::rest {

RouteTable::RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    std::string_view rest = routes_[i].pattern;
    MUSTER_CHECK(!rest.empty() && rest[0] == '/');
    std::vector<Part> parts;
    for (rest.remove_prefix(1); !rest.empty();) {
      const std::size_t slash = rest.find('/');
      const std::string_view segment = rest.substr(0, slash);
      // "{name}" with an optional verb after it, or a literal.
      Part part;
      const std::size_t close = segment.find('}');
      if (segment[0] == '{' && close != std::string_view::npos) {
        part = {true, std::string(segment.substr(1, close - 1)),
                std::string(segment.substr(close + 1))};
      } else {
        part.text = segment;
      }
      parts.push_back(std::move(part));
      rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    }
    by_length_[parts.size()].push_back(static_cast<int>(i));
    parts_.push_back(std::move(parts));
  }
  // Compared as text: '0' for a literal segment, '1' for "{name}:verb", '2' for "{name}".
  const auto literal_rank = [this](int route) {
    std::string rank;
    for (const Part& part : parts_[static_cast<std::size_t>(route)]) {
      rank.push_back(!part.is_param ? '0' : part.suffix.empty() ? '2' : '1');
    }
    return rank;
  };
  for (auto& [length, indices] : by_length_) {
    std::stable_sort(indices.begin(), indices.end(),
                     [&](int a, int b) { return literal_rank(a) < literal_rank(b); });
  }
}

// A parameter matches any segment that is longer than its verb; its value is the segment without
// it.
bool RouteTable::Matches(const std::vector<Part>& parts, const std::vector<std::string>& segments,
                         std::vector<std::string>* params) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (!part.is_param) {
      if (part.text != segments[i]) return false;
      continue;
    }
    if (segments[i].size() <= part.suffix.size() || !segments[i].ends_with(part.suffix))
      return false;
  }
  params->clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].is_param) {
      params->push_back(segments[i].substr(0, segments[i].size() - parts[i].suffix.size()));
    }
  }
  return true;
}

RouteMatch RouteTable::Match(Method method, const std::vector<std::string>& segments) const {
  RouteMatch match;
  const auto found = by_length_.find(segments.size());
  if (found == by_length_.end()) return match;
  for (const int index : found->second) {
    const auto i = static_cast<std::size_t>(index);
    if (routes_[i].method != method || !Matches(parts_[i], segments, &match.params)) continue;
    match.index = index;
    return match;
  }
  match.params.clear();
  match.allow = Allowed(segments);
  return match;
}

// A GET route also answers HEAD.
std::string RouteTable::Allowed(const std::vector<std::string>& segments) const {
  std::string allow;
  const auto found = by_length_.find(segments.size());
  if (found == by_length_.end()) return allow;
  std::vector<std::string> unused;
  for (const int index : found->second) {
    const auto i = static_cast<std::size_t>(index);
    const std::string_view name = MethodName(routes_[i].method);
    if (allow.find(name) != std::string::npos || !Matches(parts_[i], segments, &unused)) continue;
    if (!allow.empty()) allow += ", ";
    allow += name;
    if (routes_[i].method == Method::kGet) allow += ", HEAD";
  }
  return allow;
}

}  // namespace muster::rest
