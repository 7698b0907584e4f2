// Pages as `kubectl describe` lays them out: "Key:  value" lines, values of neighbouring lines
// aligned, nested objects below a heading, keys in Title Case and alphabetical.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

class DescribePage {
 public:
  /// "Key:  value", indented by two blanks for each level.
  void Line(int level, const std::string& key, const std::string& value);
  /// "Key:" alone, or an element of a list. It ends the alignment of the lines before it.
  void Heading(int level, const std::string& text);
  /// The pairs below each other as "k=v", one a line; "<none>" if there are none. `separator`
  /// stands between key and value.
  void Pairs(const std::string& key, const json::object* pairs, const char* separator);
  /// The members of an object in alphabetical order, without the keys in `skip`.
  void Members(int level, const json::object& object, const std::vector<std::string>& skip = {});
  std::string Render() const;

 private:
  struct Row {
    std::string key;  // with its indentation
    std::optional<std::string> value;
  };
  std::vector<Row> rows_;
};

/// "creationTimestamp" as "Creation Timestamp"; keys with other characters stay as they are.
std::string TitleOf(std::string_view key);

/// `describe` of a ClusterResourcePlacement or ResourcePlacement as the server answers it, with the
/// events that follow from its conditions.
std::string PlacementPage(const json::value& object);

/// `describe` of a Secret: the keys of its data with their sizes, as kubectl prints it, and none of
/// the values. Annotations are left out where they may repeat the values
/// (kubectl.kubernetes.io/last-applied-configuration).
std::string SecretPage(const json::value& object);

}  // namespace muster::cli
