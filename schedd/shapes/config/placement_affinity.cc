// policy.affinity of a placement: which members are fit, and which of them are preferred
// (rules P7, P8). The operators In, NotIn, Exists and DoesNotExist of properties are Muster's own.
//
// Within a term all expressions must hold. Those about one property are collected as bounds of its
// value, so that a term that no member can meet is refused when it is written.
#include <algorithm>
#include <array>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kCostPrefix = "muster.io/cost.";
constexpr std::size_t kPropertyBytes = 253 + 1 + 253;

constexpr std::array kOperators = {PropertyOperator::kGt,     PropertyOperator::kGe,
                                   PropertyOperator::kEq,     PropertyOperator::kNe,
                                   PropertyOperator::kLt,     PropertyOperator::kLe,
                                   PropertyOperator::kIn,     PropertyOperator::kNotIn,
                                   PropertyOperator::kExists, PropertyOperator::kDoesNotExist};

// True of the six operators that compare amounts.
bool IsCompared(PropertyOperator op) { return op <= PropertyOperator::kLe; }

// Of properties in Muster's own groups, what comes behind the prefix is checked too.
std::string ReadPropertyName(const Field& field) {
  std::string name;
  if (!field.Require()) return name;
  name = field.StringOr("");
  ResourceProperty resource;
  if (!IsPropertyName(name)) {
    field.Fail(kPropertyNameRule);
  } else if (name.starts_with(kResourcePropertyPrefix) && !ReadResourceProperty(name, &resource)) {
    field.Fail("must be " + std::string(kResourcePropertyPrefix) +
               " and then total-, allocatable- or available- with the name of a resource");
  } else if (name == kCostPrefix) {
    field.Fail("must be " + std::string(kCostPrefix) + " with the name of a resource");
  }
  return name;
}

std::optional<PropertyOperator> ReadOperator(const Field& field) {
  if (!field.Require()) return std::nullopt;
  const auto text =
      field.OneOf({"Gt", "Ge", "Eq", "Ne", "Lt", "Le", "In", "NotIn", "Exists", "DoesNotExist"});
  const auto found = std::find_if(kOperators.begin(), kOperators.end(), [&](PropertyOperator op) {
    return text == PropertyOperatorName(op);
  });
  return found == kOperators.end() ? std::nullopt : std::optional(*found);
}

// True of "v1.34" and "1.30.2-gke.1": numbers with dots between them, and what a vendor adds.
bool IsVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("+-"));
  bool digit = false;  // the character before this one is a digit
  for (const char c : text) {
    if (c == '.' ? !digit : c < '0' || c > '9') return false;
    digit = c != '.';
  }
  return digit;
}

// The value of one of the six comparing operators: a version for the version property, a quantity
// for all others.
void ReadAmount(const Field& item, PropertyExpression* expression) {
  const Field values = item["values"];
  const std::string op(PropertyOperatorName(expression->op));
  if (expression->values.size() != 1) {
    values.Fail("must be exactly one quantity for " + op);
    return;
  }
  if (expression->name == kVersionProperty) {
    if (!IsVersion(expression->values.front()))
      values.Elements().front().Fail("must be a version such as v1.34");
    return;
  }
  const auto amount = ParseBillionths(expression->values.front());
  if (!amount.ok()) {
    values.Elements().front().Fail(amount.error().detail);
    return;
  }
  expression->amount = *amount;
}

std::optional<PropertyExpression> ReadExpression(const Field& item) {
  item.OnlyMembers({"name", "operator", "values"});
  PropertyExpression expression;
  expression.name = ReadPropertyName(item["name"]);
  const auto op = ReadOperator(item["operator"]);
  const Field values = item["values"];
  for (const Field& value : values.Elements()) {
    if (!value.present()) value.Fail("must be a string, not null");
    expression.values.emplace_back(value.StringOr(""));
  }
  if (!op) return std::nullopt;
  expression.op = *op;
  if (IsCompared(*op)) {
    ReadAmount(item, &expression);
  } else if (*op == PropertyOperator::kIn || *op == PropertyOperator::kNotIn) {
    if (expression.values.empty()) values.Fail("must not be empty for In and NotIn");
  } else if (!expression.values.empty()) {
    values.Fail("must be empty for Exists and DoesNotExist");
  }
  return expression;
}

// The values of one property that the expressions of a term leave. Only amounts are bounded; In and
// NotIn count as "the property is there".
class Bounds {
 public:
  void Add(const PropertyExpression& expression) {
    const PropertyAmount amount = expression.amount;
    switch (expression.op) {
      case PropertyOperator::kGt:
        Raise(amount, true);
        break;
      case PropertyOperator::kGe:
        Raise(amount, false);
        break;
      case PropertyOperator::kLt:
        Lower(amount, true);
        break;
      case PropertyOperator::kLe:
        Lower(amount, false);
        break;
      case PropertyOperator::kEq:
        Raise(amount, false);
        Lower(amount, false);
        break;
      case PropertyOperator::kNe:
        excluded_.push_back(amount);
        break;
      case PropertyOperator::kDoesNotExist:
        absent_ = true;
        break;
      case PropertyOperator::kIn:
      case PropertyOperator::kNotIn:
      case PropertyOperator::kExists:
        break;
    }
    present_ = present_ || expression.op != PropertyOperator::kDoesNotExist;
  }
  // True if no value is left.
  bool Contradict() const {
    if (absent_ && present_) return true;
    if (!low_ || !high_ || *low_ < *high_) return false;
    if (*low_ > *high_ || low_open_ || high_open_) return true;
    return std::find(excluded_.begin(), excluded_.end(), *low_) != excluded_.end();
  }

 private:
  void Raise(PropertyAmount amount, bool open) {
    if (low_ && (*low_ > amount || (*low_ == amount && low_open_))) return;
    low_ = amount;
    low_open_ = open;
  }
  void Lower(PropertyAmount amount, bool open) {
    if (high_ && (*high_ < amount || (*high_ == amount && high_open_))) return;
    high_ = amount;
    high_open_ = open;
  }

  std::optional<PropertyAmount> low_, high_;
  bool low_open_ = false, high_open_ = false;
  bool absent_ = false, present_ = false;
  std::vector<PropertyAmount> excluded_;
};

// All expressions of a term's property selector. The expression that leaves a property without a
// value is the one that is reported.
std::vector<PropertyExpression> ReadPropertySelector(const Field& selector) {
  std::vector<PropertyExpression> read;
  if (selector.Object() == nullptr) return read;
  selector.OnlyMembers({"matchExpressions"});
  const Field expressions = selector["matchExpressions"];
  if (!expressions.Require()) return read;
  std::map<std::string, Bounds> bounds;
  for (const Field& item : expressions.Elements()) {
    auto expression = ReadExpression(item);
    if (!expression) continue;
    Bounds& of_name = bounds[expression->name];
    const bool contradicted = of_name.Contradict();
    if (expression->name != kVersionProperty) of_name.Add(*expression);
    if (!contradicted && of_name.Contradict())
      item.Fail("contradicts what the term says of " + Quoted(expression->name) + " before");
    read.push_back(std::move(*expression));
  }
  return read;
}

// Members are sorted by amounts; the version is a text and sorts nothing.
PropertySorter ReadSorter(const Field& field) {
  field.OnlyMembers({"name", "sortOrder"});
  PropertySorter sorter;
  sorter.name = ReadPropertyName(field["name"]);
  if (field["sortOrder"].Require())
    sorter.descending = field["sortOrder"].OneOf({"Descending", "Ascending"}) != "Ascending";
  if (sorter.name == kVersionProperty)
    field["name"].Fail("is a text: members are sorted by quantities");
  return sorter;
}

// The required terms: a member fits if it meets one of them.
void ReadRequired(const Field& required, PlacementPolicy* policy) {
  if (required.Object() == nullptr) return;
  required.OnlyMembers({"clusterSelectorTerms"});
  const Field terms = required["clusterSelectorTerms"];
  if (!terms.Require()) return;
  const std::vector<Field> items = terms.Elements();
  if (items.size() > limits::kClusterSelectorTerms)
    terms.Fail("must have at most " + std::to_string(limits::kClusterSelectorTerms) + " entries");
  for (const Field& item : items) {
    item["propertySorter"].Refuse("is not allowed in a required term");
    if (!item["propertySorter"].present()) item.OnlyMembers({"labelSelector", "propertySelector"});
    ClusterSelectorTerm term;
    if (item["labelSelector"].Object() != nullptr)
      term.labels = ReadLabelSelector(item["labelSelector"]);
    term.properties = ReadPropertySelector(item["propertySelector"]);
    policy->required.push_back(std::move(term));
  }
}

// The preferred terms of PickN, with their weights from -100 to 100.
void ReadPreferred(const Field& preferred, PlacementPolicy* policy) {
  const std::vector<Field> items = preferred.Elements();
  if (!items.empty() && policy->type != PlacementType::kPickN)
    preferred.Fail("is only for placementType PickN");
  if (items.size() > limits::kPreferredTerms)
    preferred.Fail("must have at most " + std::to_string(limits::kPreferredTerms) + " entries");
  for (const Field& item : items) {
    item.OnlyMembers({"weight", "preference"});
    PreferredClusterTerm term;
    const Field weight = item["weight"];
    if (weight.Require())
      term.weight = static_cast<std::int32_t>(weight.Int(-100, 100).value_or(0));
    const Field preference = item["preference"];
    if (!preference.Require()) continue;
    preference["propertySelector"].Refuse("is not allowed in a preferred term");
    if (!preference["propertySelector"].present())
      preference.OnlyMembers({"labelSelector", "propertySorter"});
    if (preference["labelSelector"].Object() != nullptr)
      term.labels = ReadLabelSelector(preference["labelSelector"]);
    if (preference["propertySorter"].Object() != nullptr)
      term.sorter = ReadSorter(preference["propertySorter"]);
    policy->preferred.push_back(std::move(term));
  }
}

}  // namespace

bool IsPropertyName(std::string_view name) {
  if (name.empty() || name.size() > kPropertyBytes) return false;
  const bool prefixed = name.find('/') != std::string_view::npos;
  for (bool first = true;; first = false) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || !(first && prefixed ? IsDnsSubdomain(part) : IsLabelValue(part)))
      return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

void ReadClusterAffinity(const Field& affinity, PlacementPolicy* policy) {
  affinity.OnlyMembers({"clusterAffinity"});
  const Field cluster = affinity["clusterAffinity"];
  cluster.OnlyMembers({kRequired, kPreferred});
  ReadRequired(cluster[kRequired], policy);
  ReadPreferred(cluster[kPreferred], policy);
}

}  // namespace muster::shapes
