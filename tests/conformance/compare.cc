#include "tests/conformance/compare.h"

#include <algorithm>
#include <cmath>

#include "schedd/base/quantity.h"

namespace muster::conformance {
namespace {

using Path = std::vector<std::string>;  // member names; "[]" is any entry

Path SplitPath(std::string_view text) {
  Path path;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' || text[i] == '[') {
      if (!name.empty()) path.push_back(std::move(name));
      name.clear();
      if (text[i] == '[') {
        path.emplace_back("[]");
        ++i;  // its closing bracket
      }
    } else {
      name += text[i];
    }
  }
  if (!name.empty()) path.push_back(std::move(name));
  return path;
}

bool SaysNothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty());
}

bool IsAmountMap(const json::array& list) {
  return !list.empty() && std::all_of(list.begin(), list.end(), [](const json::value& item) {
    return At(item, "flavor").is_string() && At(item, "resource").is_string();
  });
}

bool SameNumber(const json::value& want, const json::value& got) {
  if (want.is_int64() && got.is_int64()) return want.get_int64() == got.get_int64();
  const double a = want.to_number<double>();
  const double b = got.to_number<double>();
  return std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

class Comparer {
 public:
  explicit Comparer(const CompareRules& rules) : rules_(rules) {
    for (const auto& path : rules.ignore) ignore_.push_back(SplitPath(path));
    if (rules.ignore_message) ignore_.push_back({"message"});
  }

  std::vector<std::string> Run(const json::value& want, const json::value& got) {
    if (want.is_array() && got.is_array()) {
      // Ignored paths start at an entry of the top list.
      CompareLists(want.get_array(), got.get_array(), ignore_, rules_.ignore_order, "");
    } else {
      Compare(want, got, ignore_, "");
    }
    return std::move(differences_);
  }

 private:
  using Paths = std::vector<Path>;

  // What of `paths` is left below a member; *ignored if one ends there.
  static Paths Below(const Paths& paths, std::string_view name, bool* ignored) {
    Paths below;
    for (const auto& path : paths) {
      if (path[0] != name && path[0] != "[]") continue;
      if (path.size() == 1) {
        *ignored = true;
      } else {
        below.emplace_back(path.begin() + 1, path.end());
      }
    }
    return below;
  }

  void Differ(const std::string& where, const json::value& want, const json::value& got) {
    differences_.push_back(where + ": want " + WriteJson(want) + ", got " + WriteJson(got));
  }

  void Compare(const json::value& want, const json::value& got, const Paths& ignore,
               const std::string& where) {
    if (SaysNothing(want) && SaysNothing(got)) return;
    if (want.is_object() && got.is_object()) {
      CompareObjects(want.get_object(), got.get_object(), ignore, where);
    } else if (want.is_array() && got.is_array()) {
      bool ignored = false;
      const Paths below = Below(ignore, "[]", &ignored);
      if (!ignored) CompareLists(want.get_array(), got.get_array(), below, false, where);
    } else if (want.is_number() && got.is_number()) {
      if (!SameNumber(want, got)) Differ(where, want, got);
    } else if (want != got) {
      Differ(where, want, got);
    }
  }

  void CompareObjects(const json::object& want, const json::object& got, const Paths& ignore,
                      const std::string& where) {
    static const json::value none;
    const auto member = [&](std::string_view key, const json::value& a, const json::value& b) {
      bool ignored = false;
      const Paths below = Below(ignore, key, &ignored);
      if (!ignored) Compare(a, b, below, where + "." + std::string(key));
    };
    for (const auto& item : want) {
      const auto* other = got.if_contains(item.key());
      member(item.key(), item.value(), other == nullptr ? none : *other);
    }
    for (const auto& item : got) {
      if (!want.contains(item.key())) member(item.key(), none, item.value());
    }
  }

  void CompareLists(const json::array& want, const json::array& got, const Paths& ignore,
                    bool any_order, const std::string& where) {
    if (any_order || IsAmountMap(want) || IsAmountMap(got)) {
      CompareBags(want, got, ignore, where);
      return;
    }
    if (want.size() != got.size()) {
      differences_.push_back(where + ": want " + std::to_string(want.size()) + " entries, got " +
                             std::to_string(got.size()) + ": want " + WriteJson(want) + ", got " +
                             WriteJson(got));
      return;
    }
    for (std::size_t i = 0; i < want.size(); ++i)
      Compare(want[i], got[i], ignore, where + "[" + std::to_string(i) + "]");
  }

  bool Equal(const json::value& want, const json::value& got, const Paths& ignore) const {
    Comparer inner{CompareRules{}};
    inner.Compare(want, got, ignore, "");
    return inner.differences_.empty();
  }

  void CompareBags(const json::array& want, const json::array& got, const Paths& ignore,
                   const std::string& where) {
    std::vector<const json::value*> left;
    for (const auto& item : got) left.push_back(&item);
    for (const auto& item : want) {
      const auto found = std::find_if(left.begin(), left.end(), [&](const json::value* other) {
        return Equal(item, *other, ignore);
      });
      if (found == left.end()) {
        differences_.push_back(where + ": missing " + WriteJson(item));
      } else {
        left.erase(found);
      }
    }
    for (const auto* item : left)
      differences_.push_back(where + ": not wanted " + WriteJson(*item));
  }

  const CompareRules rules_;
  Paths ignore_;
  std::vector<std::string> differences_;
};

}  // namespace

CompareRules RulesOf(const Case& test, std::string_view key) {
  CompareRules rules;
  const json::value& given = At(test.compare, key);
  rules.ignore_order = BoolAt(given, "ignoreOrder");
  rules.ignore_message = BoolAt(given, "ignoreMessage");
  for (const auto& path : ListAt(given, "ignore"))
    rules.ignore.emplace_back(std::string_view(path.as_string()));
  return rules;
}

std::vector<std::string> Differences(const json::value& want, const json::value& got,
                                     const CompareRules& rules) {
  return Comparer(rules).Run(want, got);
}

void Check(const Case& test, std::string_view key, const json::value& got, Report* report) {
  Check(test, key, got, {}, report);
}

void Check(const Case& test, std::string_view key, const json::value& got, CompareRules rules,
           Report* report) {
  if (!test.Wants(key)) return;
  CompareRules all = RulesOf(test, key);
  all.ignore_order = all.ignore_order || rules.ignore_order;
  all.ignore_message = all.ignore_message || rules.ignore_message;
  for (auto& path : rules.ignore) all.ignore.push_back(std::move(path));
  for (const auto& difference : Differences(test.Want(key), got, all))
    report->Fail(std::string(key) + difference);
}

json::value AmountJson(std::int64_t amount) {
  if (amount == kUnlimited) return "unlimited";
  return amount;
}

json::array ToJson(const std::vector<FlavorAmount>& amounts) {
  json::array list;
  for (const auto& [flavor, resource, amount] : amounts) {
    list.push_back(
        json::object{{"flavor", flavor}, {"resource", resource}, {"amount", AmountJson(amount)}});
  }
  return list;
}

std::vector<FlavorAmount> FlavorAmounts(const json::value& list) {
  std::vector<FlavorAmount> amounts;
  if (!list.is_array()) return amounts;
  for (const auto& item : list.get_array()) {
    const std::int64_t amount = At(item, "amount").is_string() ? kUnlimited : IntAt(item, "amount");
    amounts.push_back({TextAt(item, "flavor"), TextAt(item, "resource"), amount});
  }
  return amounts;
}

}  // namespace muster::conformance
