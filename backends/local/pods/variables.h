// Kubernetes' $(NAME) expansion, and the environment of a container. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::local {

/// Replaces $(NAME) if `lookup` knows the name; "$$" becomes "$"; everything else stays.
std::string ExpandVariables(
    std::string_view text,
    const std::function<std::optional<std::string>(const std::string&)>& lookup);

/// Variables in order of first definition; a later definition of a name replaces the value.
class Environment {
 public:
  void Set(const std::string& name, std::string value);
  /// The same, with $(NAME) of earlier variables expanded.
  void SetExpanded(const std::string& name, std::string_view value);
  std::string Expand(std::string_view text) const;
  std::optional<std::string> Get(const std::string& name) const;
  /// "NAME=value", in order.
  std::vector<std::string> Entries() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
  std::map<std::string, std::size_t> positions_;
};

}  // namespace muster::local
