// Cluster properties (rule P6): KubeFleet's node count, Kubernetes version and resource amounts,
// which follow from the member's facts, and declared ones.
//
// Amounts are in billionths, as 128-bit integers, so that Kubernetes quantities from nano units to
// exabytes compare exactly. Resource properties name a measure (total, allocatable or available)
// and any resource. Versions are compared as versions: 1.30 is above 1.4, so they have no amount.
#include "schedd/core/member/cluster_properties.h"

#include <algorithm>
#include <charconv>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

constexpr PropertyAmount kBillion = 1'000'000'000;

// An amount in the model's units of a resource, as billionths.
PropertyAmount AmountIn(std::string_view resource, std::int64_t units) {
  return PropertyAmount{units} * (IsMilliResource(resource) ? kBillion / 1000 : kBillion);
}

// The amount of a resource if the list has it.
std::optional<std::int64_t> Declared(const ResourceList& list, std::string_view resource) {
  for (const ResourceAmount& entry : list) {
    if (entry.resource == resource) return entry.amount;
  }
  return std::nullopt;
}

// "0.048", "12", "-3": the amount without trailing zeros.
std::string DecimalText(PropertyAmount amount) {
  const bool negative = amount < 0;
  const PropertyAmount size = negative ? -amount : amount;
  std::string whole;
  for (PropertyAmount rest = size / kBillion; rest > 0 || whole.empty(); rest /= 10) {
    whole.insert(whole.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  std::string part = std::to_string(static_cast<std::int64_t>(size % kBillion));
  part.insert(0, 9 - part.size(), '0');
  while (!part.empty() && part.back() == '0') part.pop_back();
  return (negative ? "-" : "") + whole + (part.empty() ? "" : "." + part);
}

// True if `order` (negative, 0 or positive) is what the operator asks for.
bool Compares(PropertyOperator op, int order) {
  switch (op) {
    case PropertyOperator::kGt:
      return order > 0;
    case PropertyOperator::kGe:
      return order >= 0;
    case PropertyOperator::kEq:
      return order == 0;
    case PropertyOperator::kNe:
      return order != 0;
    case PropertyOperator::kLt:
      return order < 0;
    case PropertyOperator::kLe:
      return order <= 0;
    default:
      return false;
  }
}

// The words of an operator in a sentence.
std::string_view MustBe(PropertyOperator op) {
  switch (op) {
    case PropertyOperator::kGt:
      return "must be more than ";
    case PropertyOperator::kGe:
      return "must be at least ";
    case PropertyOperator::kLt:
      return "must be less than ";
    case PropertyOperator::kLe:
      return "must be at most ";
    case PropertyOperator::kIn:
      return "must be one of ";
    case PropertyOperator::kNe:
    case PropertyOperator::kNotIn:
      return "must not be ";
    default:
      return "must be ";
  }
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

}  // namespace

// Vendors append build data after '+' or '-'; it does not take part in a comparison.
std::optional<VersionNumbers> ReadVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("+-"));
  VersionNumbers numbers;
  for (;;) {
    const std::string_view part = text.substr(0, text.find('.'));
    std::int64_t number = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, number);
    if (part.empty() || error != std::errc() || stop != end || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (part.size() == text.size()) return numbers;
    text.remove_prefix(part.size() + 1);
  }
}

int CompareVersions(const VersionNumbers& one, const VersionNumbers& other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::int64_t left = i < one.size() ? one[i] : 0;
    const std::int64_t right = i < other.size() ? other[i] : 0;
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

// The name decides where the value comes from: KubeFleet's names are facts, all others are
// declared.
ClusterProperty::ClusterProperty(const std::string& name, const MemberRoom& room) : name_(&name) {
  if (name == kNodeCountProperty) {
    source_ = Source::kNodeCount;
  } else if (name == kVersionProperty) {
    source_ = Source::kVersion;
  } else if (ReadResourceProperty(name, &resource_)) {
    source_ = Source::kResource;
    index_ = room.ResourceIndex(resource_.resource);
  }
}

// The value from the member's own facts; nullopt if they do not tell it. A member that tells no
// capacity answers "total" with its allocatable amount.
std::optional<PropertyAmount> ClusterProperty::Observed(const MemberRoom::Member& member) const {
  const MemberCluster& facts = *member.facts;
  if (source_ == Source::kNodeCount) {
    if (facts.node_count >= 0) return kBillion * facts.node_count;
    if (facts.nodes.empty()) return std::nullopt;
    return kBillion * static_cast<std::int64_t>(facts.nodes.size());
  }
  if (source_ != Source::kResource) return std::nullopt;
  const bool total = resource_.measure == ResourceMeasure::kTotal && !facts.capacity.empty();
  if (!total && index_ < 0) return std::nullopt;
  const auto index = static_cast<std::size_t>(std::max(index_, 0));
  if (!total && !member.declared[index]) return std::nullopt;
  std::int64_t units = 0;
  if (total) {
    const auto capacity = Declared(facts.capacity, resource_.resource);
    if (!capacity) return std::nullopt;
    units = *capacity;
  } else if (resource_.measure == ResourceMeasure::kAvailable) {
    units = std::max<std::int64_t>(0, member.free[index]);
  } else {
    units = member.allocatable[index];
  }
  return AmountIn(resource_.resource, units);
}

std::optional<PropertyAmount> ClusterProperty::Amount(const MemberRoom& room,
                                                      std::size_t member) const {
  // A version is no quantity: 1.30 differs from 1.3.
  if (source_ == Source::kVersion) return std::nullopt;
  if (auto observed = Observed(room.member(member))) return observed;
  const auto& amounts = room.member(member).facts->properties.amounts;
  const auto declared = amounts.find(*name_);
  return declared == amounts.end() ? std::nullopt : std::optional(declared->second);
}

// A fact that is a quantity hides a declared text of the same name.
const std::string* ClusterProperty::Text(const MemberRoom& room, std::size_t member) const {
  const MemberCluster& facts = *room.member(member).facts;
  if (source_ == Source::kVersion && !facts.version.empty()) return &facts.version;
  if (Observed(room.member(member))) return nullptr;
  const auto declared = facts.properties.texts.find(*name_);
  return declared == facts.properties.texts.end() ? nullptr : &declared->second;
}

bool ClusterProperty::Known(const MemberRoom& room, std::size_t member) const {
  return Text(room, member) != nullptr || Amount(room, member).has_value();
}

// A whole number of the resource's units is shown in the usual notation, any other amount as a
// decimal.
std::string ClusterProperty::Shown(const MemberRoom& room, std::size_t member) const {
  if (const std::string* text = Text(room, member)) return *text;
  const auto amount = Amount(room, member);
  if (!amount) return "";
  if (source_ == Source::kResource) {
    const PropertyAmount unit = AmountIn(resource_.resource, 1);
    const PropertyAmount units = *amount / unit;
    if (*amount % unit == 0 && units >= 0 && units <= kUnlimited) {
      return FormatQuantity(resource_.resource, static_cast<std::int64_t>(units));
    }
  }
  return DecimalText(*amount);
}

PropertyTest::PropertyTest(const PropertyExpression& expression, const MemberRoom& room)
    : expression_(&expression), property_(expression.name, room) {
  if (expression.name == kVersionProperty && expression.values.size() == 1) {
    version_ = ReadVersion(expression.values[0]);
  }
  // The values of a list are parsed once; those that are no quantities match as texts only.
  if (expression.op != PropertyOperator::kIn && expression.op != PropertyOperator::kNotIn) return;
  for (const std::string& value : expression.values) {
    const auto amount = ParseBillionths(value);
    values_.push_back(amount.ok() ? std::optional(amount.value()) : std::nullopt);
  }
}

// True if the member has one of the listed values: the same text, or the same amount.
bool PropertyTest::Listed(const MemberRoom& room, std::size_t member) const {
  const auto& values = expression_->values;
  const std::string* text = property_.Text(room, member);
  if (text != nullptr && std::find(values.begin(), values.end(), *text) != values.end())
    return true;
  const auto amount = property_.Amount(room, member);
  return amount && std::find(values_.begin(), values_.end(), amount) != values_.end();
}

bool PropertyTest::Passes(const MemberRoom& room, std::size_t member) const {
  // Only these operators can be met without a quantity.
  const bool known = property_.Known(room, member);
  switch (expression_->op) {
    case PropertyOperator::kExists:
      return known;
    case PropertyOperator::kDoesNotExist:
      return !known;
    case PropertyOperator::kIn:
      return known && Listed(room, member);
    case PropertyOperator::kNotIn:
      return known && !Listed(room, member);
    default:
      break;
  }
  if (version_) {
    const std::string* text = property_.Text(room, member);
    // A version that cannot be read meets no comparison.
    const auto version = text == nullptr ? std::nullopt : ReadVersion(*text);
    return version && Compares(expression_->op, CompareVersions(*version, *version_));
  }
  const auto amount = property_.Amount(room, member);
  if (!amount) return false;
  const int order = *amount < expression_->amount ? -1 : *amount > expression_->amount ? 1 : 0;
  return Compares(expression_->op, order);
}

std::string PropertyTest::Miss(const MemberRoom& room, std::size_t member) const {
  const std::string& name = property_.name();
  if (!property_.Known(room, member)) return "does not have property " + name;
  const std::string is = name + " is " + property_.Shown(room, member);
  if (expression_->op == PropertyOperator::kDoesNotExist) return is + ", must not be there";
  const std::string asked =
      expression_->values.empty() ? DecimalText(expression_->amount) : Joined(expression_->values);
  return is + ", " + std::string(MustBe(expression_->op)) + asked;
}

}  // namespace muster::core
