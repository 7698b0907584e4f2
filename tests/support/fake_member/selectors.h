// Label and field selectors of lists and watches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/fake_member/json_tools.h"
#include "tests/support/fake_member/resources.h"

namespace muster::fake {

using Labels = std::vector<std::pair<std::string, std::string>>;

class LabelSelector {
 public:
  /// nullopt and `why` if the text is no selector.
  static std::optional<LabelSelector> Parse(std::string_view text, std::string* why);
  bool Matches(const Labels& labels) const;
  bool empty() const { return requirements_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kMissing };
  struct Requirement {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
  };
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  /// nullopt and `why` if the text is no field selector, or names a field that the resource does
  /// not offer for selection.
  static std::optional<FieldSelector> Parse(std::string_view text, const Resource& resource,
                                            std::string* why);
  /// `object` is parsed only if the selector names a field inside it.
  bool Matches(std::string_view ns, std::string_view name, const std::string& object) const;
  bool empty() const { return requirements_.empty(); }

 private:
  struct Requirement {
    std::string field, value;
    bool equal = true;
  };
  std::vector<Requirement> requirements_;
};

}  // namespace muster::fake
