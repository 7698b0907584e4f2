// $(NAME) expansion as in Kubernetes: an unknown name leaves the reference as it is, and "$$"
// escapes a dollar. Only variables that are set before are known, so references to later ones stay.
#include "backends/local/pods/variables.h"

namespace muster::local {

std::string ExpandVariables(
    std::string_view text,
    const std::function<std::optional<std::string>(const std::string&)>& lookup) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    if (text[at + 1] == '$') {
      out += '$';
      ++at;
      continue;
    }
    const std::size_t close = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += '$';
      continue;
    }
    const std::optional<std::string> value =
        lookup(std::string(text.substr(at + 2, close - at - 2)));
    out += value ? *value : std::string(text.substr(at, close - at + 1));
    at = close;
  }
  return out;
}

void Environment::Set(const std::string& name, std::string value) {
  const auto [found, added] = positions_.emplace(name, entries_.size());
  if (added) {
    entries_.emplace_back(name, std::move(value));
  } else {
    entries_[found->second].second = std::move(value);
  }
}

void Environment::SetExpanded(const std::string& name, std::string_view value) {
  Set(name, Expand(value));
}

std::string Environment::Expand(std::string_view text) const {
  return ExpandVariables(text, [this](const std::string& name) { return Get(name); });
}

std::optional<std::string> Environment::Get(const std::string& name) const {
  const auto found = positions_.find(name);
  if (found == positions_.end()) return std::nullopt;
  return entries_[found->second].second;
}

std::vector<std::string> Environment::Entries() const {
  std::vector<std::string> all;
  for (const auto& [name, value] : entries_) all.push_back(name + "=" + value);
  return all;
}

}  // namespace muster::local
