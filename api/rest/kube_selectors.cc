// A label selector is cut into tokens (Tokens) and parsed by one function per rule of the grammar;
// a field selector is simpler and is split at commas. Both become lists of requirements that an
// object must all satisfy. Keys and values are checked against the rules for labels, so that a
// mistyped selector is an error and not an empty list.
#include "api/rest/kube_selectors.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "schedd/base/names.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

using Requirement = KubeSelector::Requirement;
using Op = Requirement::Op;

// Characters that end a word of a selector.
constexpr std::string_view kMarks = "=!(),<>";

// The words and marks of a selector, one after another: "in", "(", "==", ...; "" at the end.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { Next(); }
  std::string_view now() const { return now_; }
  bool at_word() const { return !now_.empty() && kMarks.find(now_.front()) == kMarks.npos; }
  bool at_end() const { return now_.empty(); }
  // Returns the present token and goes to the next.
  std::string_view Take() {
    const std::string_view taken = now_;
    Next();
    return taken;
  }
  bool TakeIf(std::string_view wanted) {
    if (now_ != wanted) return false;
    Next();
    return true;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  // A mark is one character, or two for "==" and "!=".
  void Next() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
    const std::size_t begin = at_;
    if (at_ < text_.size() && kMarks.find(text_[at_]) != kMarks.npos) {
      ++at_;
      const bool two =
          at_ < text_.size() && text_[at_] == '=' && (text_[begin] == '=' || text_[begin] == '!');
      if (two) ++at_;
    } else {
      while (at_ < text_.size() && !IsBlank(text_[at_]) && kMarks.find(text_[at_]) == kMarks.npos)
        ++at_;
    }
    now_ = text_.substr(begin, at_ - begin);
  }

  std::string_view text_, now_;
  std::size_t at_ = 0;
};

// An error in the words of Kubernetes' parser.
Error Wrong(const std::string& what) {
  return InvalidField("labelSelector", "unable to parse requirement: " + what);
}

// The error for a token that does not fit.
Error Found(const Tokens& tokens, const std::string& expected) {
  return Wrong("found " + (tokens.at_end() ? "its end" : Quoted(tokens.now())) +
               ", expected: " + expected);
}

// nullopt if `text` is not a whole decimal number.
std::optional<std::int64_t> Integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The values of `in` and `notin`. An empty value counts.
Status ReadValues(Tokens* tokens, std::vector<std::string>* values) {
  if (!tokens->TakeIf("(")) return Found(*tokens, "'('");
  while (true) {
    values->emplace_back(tokens->at_word() ? tokens->Take() : std::string_view());
    if (tokens->TakeIf(")")) return Done{};
    if (!tokens->TakeIf(",")) return Found(*tokens, "',' or ')'");
  }
}

// The operator after a key and its values. Without an operator the requirement is that the key
// exists.
Status ReadOperator(Tokens* tokens, Requirement* requirement) {
  if (tokens->at_end() || tokens->now() == ",") return Done{};
  const std::string_view op = tokens->Take();
  requirement->op = op == ">" ? Op::kGreater : op == "<" ? Op::kLess : Op::kEqual;
  requirement->negated = op == "!=" || op == "notin";
  if (op == "in" || op == "notin") return ReadValues(tokens, &requirement->values);
  if (op != "=" && op != "==" && op != "!=" && op != ">" && op != "<") {
    return Wrong("found " + Quoted(op) + ", expected: in, notin, =, ==, !=, >, < or ','");
  }
  requirement->values.emplace_back(tokens->at_word() ? tokens->Take() : std::string_view());
  return Done{};
}

Status CheckRequirement(const Requirement& requirement) {
  if (!IsQualifiedName(requirement.key))
    return Wrong("the key " + Quoted(requirement.key) + " " + kQualifiedNameRule);
  for (const std::string& value : requirement.values) {
    if (requirement.op != Op::kEqual && !Integer(value))
      return Wrong(Quoted(value) + " must be an integer");
    if (requirement.op == Op::kEqual && !IsLabelValue(value))
      return Wrong("the value " + Quoted(value) + " " + kLabelValueRule);
  }
  return Done{};
}

Result<std::vector<Requirement>> ParseLabels(std::string_view text) {
  std::vector<Requirement> all;
  Tokens tokens(text);
  if (tokens.at_end()) return all;
  while (true) {
    Requirement requirement;
    requirement.negated = tokens.TakeIf("!");
    // "!key" has no operator after the key.
    const bool absent = requirement.negated;
    if (!tokens.at_word()) return Found(tokens, "the key of a label");
    requirement.key = tokens.Take();
    if (!absent) {
      const Status read = ReadOperator(&tokens, &requirement);
      if (!read.ok()) return read.error();
    }
    const Status checked = CheckRequirement(requirement);
    if (!checked.ok()) return checked.error();
    all.push_back(std::move(requirement));
    if (tokens.at_end()) return all;
    if (!tokens.TakeIf(",")) return Found(tokens, "',' or the end");
  }
}

// One FIELD=VALUE, FIELD==VALUE or FIELD!=VALUE.
Result<Requirement> ParseField(std::string_view term) {
  Requirement requirement;
  requirement.op = Op::kEqual;
  const std::size_t equals = term.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return InvalidField("fieldSelector",
                        "cannot understand " + Quoted(term) + ": it must be FIELD=VALUE, == or !=");
  requirement.negated = term[equals - 1] == '!';
  const std::string_view key = term.substr(0, requirement.negated ? equals - 1 : equals);
  const bool twice = equals + 1 < term.size() && term[equals + 1] == '=';
  requirement.values.emplace_back(term.substr(equals + (twice ? 2 : 1)));
  if (key != "metadata.name" && key != "metadata.namespace") {
    return InvalidField("fieldSelector", "field label not supported: " + Quoted(key) +
                                             "; metadata.name and metadata.namespace are");
  }
  requirement.key = key.substr(std::string_view("metadata.").size());
  return requirement;
}

Result<std::vector<Requirement>> ParseFields(std::string_view text) {
  std::vector<Requirement> all;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view term = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (term.empty()) continue;
    Result<Requirement> requirement = ParseField(term);
    if (!requirement.ok()) return requirement.error();
    all.push_back(std::move(*requirement));
  }
  return all;
}

// Whether an object's `value` for the key satisfies the requirement. `absent` is what a missing
// value compares as: null for a label, which is then no value, "" for a field. A negated
// requirement holds for a missing label.
bool Holds(const Requirement& requirement, const json::value* value, const char* absent) {
  std::optional<std::string_view> text;
  if (absent != nullptr) text = absent;
  if (value != nullptr && value->is_string()) text = std::string_view(value->get_string());
  bool holds = text.has_value();
  if (holds && requirement.op == Op::kEqual) {
    holds = std::find(requirement.values.begin(), requirement.values.end(), *text) !=
            requirement.values.end();
  } else if (holds && requirement.op != Op::kExists) {
    const auto number = Integer(*text);
    const auto bound = Integer(requirement.values.front());
    holds = number && (requirement.op == Op::kGreater ? *number > *bound : *number < *bound);
  }
  return holds != requirement.negated;
}

}  // namespace

Result<KubeSelector> KubeSelector::Parse(const std::string& labels, const std::string& fields) {
  KubeSelector selector;
  Result<std::vector<Requirement>> of_labels = ParseLabels(labels);
  if (!of_labels.ok()) return of_labels.error();
  Result<std::vector<Requirement>> of_fields = ParseFields(fields);
  if (!of_fields.ok()) return of_fields.error();
  selector.labels_ = std::move(*of_labels);
  selector.fields_ = std::move(*of_fields);
  return selector;
}

bool KubeSelector::Matches(const json::value& object) const {
  if (any()) return true;
  const json::object& metadata = ObjectOrEmpty(object, "metadata");
  const json::object& labels = ObjectOrEmpty(object, {"metadata", "labels"});
  const auto all_hold =
      [](const std::vector<Requirement>& requirements, const json::object& in, const char* absent) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&](const Requirement& requirement) {
      return Holds(requirement, in.if_contains(requirement.key), absent);
    });
  };
  return all_hold(labels_, labels, nullptr) && all_hold(fields_, metadata, "");
}

}  // namespace muster::rest
