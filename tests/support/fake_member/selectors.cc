#include "tests/support/fake_member/selectors.h"

#include <algorithm>

namespace muster::fake {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

// Splits at commas outside parentheses.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string_view part = Trimmed(text.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

const std::string* ValueOf(const Labels& labels, const std::string& key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return &value;
  }
  return nullptr;
}

// "key OP value" for = == !=; false if the part holds no such operator.
bool SplitComparison(std::string_view part, std::string* key, std::string* value, bool* equal) {
  const std::size_t at = part.find('=');
  if (at == std::string_view::npos || at == 0) return false;
  *equal = part[at - 1] != '!';
  *key = Trimmed(part.substr(0, *equal ? at : at - 1));
  std::string_view rest = part.substr(at + 1);
  if (*equal && rest.starts_with("=")) rest.remove_prefix(1);
  *value = Trimmed(rest);
  return true;
}

}  // namespace

std::optional<LabelSelector> LabelSelector::Parse(std::string_view text, std::string* why) {
  LabelSelector selector;
  for (const std::string_view part : Parts(text)) {
    Requirement one;
    std::string value;
    bool equal = true;
    const std::size_t open = part.find('(');
    if (open != std::string_view::npos) {
      const std::string_view head = Trimmed(part.substr(0, open));
      const std::size_t space = head.find(' ');
      const std::string_view op =
          space == std::string_view::npos ? "" : Trimmed(head.substr(space));
      if ((op != "in" && op != "notin") || part.back() != ')') {
        *why = "unable to parse requirement: found '" + std::string(head) +
               "', expected: in, notin, =, ==, !=";
        return std::nullopt;
      }
      one.key = head.substr(0, space);
      one.op = op == "in" ? Operator::kIn : Operator::kNotIn;
      for (const std::string_view each : Parts(part.substr(open + 1, part.size() - open - 2)))
        one.values.emplace_back(each);
    } else if (SplitComparison(part, &one.key, &value, &equal)) {
      one.op = equal ? Operator::kIn : Operator::kNotIn;
      one.values = {value};
    } else if (part.starts_with('!')) {
      one.key = Trimmed(part.substr(1));
      one.op = Operator::kMissing;
    } else {
      one.key = part;
      one.op = Operator::kExists;
    }
    const bool words = IsWord(one.key) && std::all_of(one.values.begin(), one.values.end(), IsWord);
    if (one.key.empty() || !words) {
      *why = "unable to parse requirement: found '" + std::string(part) + "', expected: identifier";
      return std::nullopt;
    }
    selector.requirements_.push_back(std::move(one));
  }
  return selector;
}

bool LabelSelector::Matches(const Labels& labels) const {
  for (const Requirement& one : requirements_) {
    const std::string* value = ValueOf(labels, one.key);
    const bool listed = value != nullptr &&
                        std::find(one.values.begin(), one.values.end(), *value) != one.values.end();
    const bool met = one.op == Operator::kIn       ? listed
                     : one.op == Operator::kNotIn  ? !listed
                     : one.op == Operator::kExists ? value != nullptr
                                                   : value == nullptr;
    if (!met) return false;
  }
  return true;
}

std::optional<FieldSelector> FieldSelector::Parse(std::string_view text, const Resource& resource,
                                                  std::string* why) {
  FieldSelector selector;
  for (const std::string_view part : Parts(text)) {
    Requirement one;
    if (!SplitComparison(part, &one.field, &one.value, &one.equal)) {
      *why = "invalid selector: '" + std::string(part) + "'; can't understand '" +
             std::string(part) + "'";
      return std::nullopt;
    }
    const bool known = one.field == "metadata.name" || one.field == "metadata.namespace" ||
                       std::find(resource.selectable.begin(), resource.selectable.end(),
                                 one.field) != resource.selectable.end();
    if (!known) {
      *why = "field label \"" + one.field + "\" not supported for " + resource.kind;
      return std::nullopt;
    }
    selector.requirements_.push_back(std::move(one));
  }
  return selector;
}

bool FieldSelector::Matches(std::string_view ns, std::string_view name,
                            const std::string& object) const {
  std::optional<json::object> parsed;
  for (const Requirement& one : requirements_) {
    std::string value;
    if (one.field == "metadata.name") {
      value = name;
    } else if (one.field == "metadata.namespace") {
      value = ns;
    } else {
      if (!parsed) parsed = OwnObject(object);
      const std::size_t dot = one.field.find('.');
      value = dot == std::string::npos
                  ? Text(*parsed, {one.field})
                  : Text(*parsed, {one.field.substr(0, dot), one.field.substr(dot + 1)});
    }
    if ((value == one.value) != one.equal) return false;
  }
  return true;
}

}  // namespace muster::fake
