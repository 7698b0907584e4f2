// A parse visits a tree of places. Every visited place is a node in Problems with the index of its
// parent, so a Field is a pointer to the value and a node number, and a path is put together from
// the nodes only when a problem is reported.
//
// The sentences here are shown to users after the path ("spec.tasks: must be at least 1, not 0").
#include "schedd/shapes/parts/field.h"

#include <algorithm>

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"

namespace muster::shapes {
namespace {

// Enough for a person to read; a hostile manifest may have a million wrong fields.
constexpr std::size_t kReportedProblems = 32;
// Problems that the one sentence `detail` joins.
constexpr std::size_t kDetailProblems = 4;

const char* TypeName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "unknown";
}

// "must be a list, not a string".
std::string Wanted(const char* wanted, const json::value& value) {
  return std::string("must be ") + wanted + ", not " + TypeName(value);
}

}  // namespace

std::int32_t Problems::Add(Node node) {
  if (nodes_.empty()) nodes_.reserve(kUsualNodes);
  nodes_.push_back(node);
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

// Long keys are cut: a path is for people.
std::string Problems::PathOf(std::int32_t node) const {
  if (node < 0) return "";
  const Node& n = nodes_[static_cast<std::size_t>(node)];
  std::string path = PathOf(n.parent);
  if (n.index >= 0) return path + "[" + std::to_string(n.index) + "]";
  std::string key(n.key.substr(0, 128));
  if (n.bracketed) return path + "[" + key + "]";
  return path.empty() ? key : path + "." + key;
}

// A problem that is found twice, because two checks read the same field, is reported once.
void Problems::Report(std::int32_t node, std::string message) {
  if (errors_.size() >= kReportedProblems) return;
  FieldError error{PathOf(node), std::move(message)};
  if (std::find(errors_.begin(), errors_.end(), error) == errors_.end())
    errors_.push_back(std::move(error));
}

// `detail` is for clients that show one line; `fields` has all problems.
Error Problems::ToError() const {
  MUSTER_CHECK(!errors_.empty());
  Error error{Code::kInvalidArgument, "", errors_};
  for (std::size_t i = 0; i < errors_.size() && i < kDetailProblems; ++i) {
    if (i > 0) error.detail += "; ";
    if (!errors_[i].field.empty()) error.detail += errors_[i].field + ": ";
    error.detail += errors_[i].message;
  }
  if (errors_.size() > kDetailProblems) {
    error.detail += "; and " + std::to_string(errors_.size() - kDetailProblems) + " more";
  }
  return error;
}

// An absent member has a node too, so that "is required" can name its path.
Field Field::Member(std::string_view key, bool bracketed) const {
  const json::value* member = nullptr;
  if (present()) {
    if (const auto* object = value_->if_object()) {
      const auto it = object->find(key);
      if (it != object->end()) {
        member = &it->value();
        key = it->key();  // the manifest's bytes outlive the argument, which may be temporary
      }
    }
  }
  return Field(member, problems_, problems_->Add({node_, -1, key, bracketed}));
}

Field Field::Element(std::size_t index, const json::value& item) const {
  return Field(&item, problems_, problems_->Add({node_, static_cast<std::int32_t>(index), {}}));
}

void Field::Fail(std::string message) const { problems_->Report(node_, std::move(message)); }

bool Field::Require() const {
  if (!present()) Fail("is required");
  return present();
}

void Field::Refuse(std::string_view message) const {
  if (present()) Fail(std::string(message));
}

// Like the other readers: absent is no problem, another type is one.
const json::object* Field::Object() const {
  if (!present()) return nullptr;
  if (!value_->is_object()) Fail(Wanted("an object", *value_));
  return value_->if_object();
}

const json::array* Field::Array() const {
  if (!present()) return nullptr;
  if (!value_->is_array()) Fail(Wanted("a list", *value_));
  return value_->if_array();
}

std::optional<std::string_view> Field::String() const {
  if (!present()) return std::nullopt;
  if (!value_->is_string()) {
    Fail(Wanted("a string", *value_));
    return std::nullopt;
  }
  return std::string_view(value_->get_string());
}

std::optional<bool> Field::Bool() const {
  if (!present()) return std::nullopt;
  if (!value_->is_bool()) {
    Fail(Wanted("true or false", *value_));
    return std::nullopt;
  }
  return value_->get_bool();
}

// The JSON parser yields uint64 only for numbers beyond int64, so those are too large, not wrong.
std::optional<std::int64_t> Field::Int(std::int64_t min, std::int64_t max) const {
  if (!present()) return std::nullopt;
  const auto* number = value_->if_int64();
  if (number == nullptr) {
    Fail(value_->is_uint64() ? "must be at most " + std::to_string(max)
                             : Wanted("an integer", *value_));
    return std::nullopt;
  }
  if (*number < min) {
    Fail("must be at least " + std::to_string(min) + ", not " + std::to_string(*number));
    return std::nullopt;
  }
  if (*number > max) {
    Fail("must be at most " + std::to_string(max) + ", not " + std::to_string(*number));
    return std::nullopt;
  }
  return *number;
}

std::optional<std::int32_t> Field::Count(std::int32_t min) const {
  const auto number = Int(min, std::numeric_limits<std::int32_t>::max());
  if (!number) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::optional<std::string_view> Field::OneOf(
    std::initializer_list<std::string_view> choices) const {
  const auto text = String();
  if (!text) return std::nullopt;
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return text;
  std::string list;
  for (const auto choice : choices) list += (list.empty() ? "" : ", ") + std::string(choice);
  Fail("must be one of " + list + ", not " + Quoted(*text));
  return std::nullopt;
}

// The nearest amount lets later checks of the same manifest go on with a value.
std::optional<std::int64_t> Field::Quantity(std::string_view resource) const {
  if (!present()) return std::nullopt;
  const auto text = QuantityText(*value_);
  if (!text) {
    Fail(Wanted("a quantity such as 2, \"500m\" or \"4Gi\"", *value_));
    return std::nullopt;
  }
  auto amount = ParseQuantity(resource, *text);
  if (!amount.ok()) {
    Fail(amount.error().detail);
    return NearestQuantity(*text);
  }
  return *amount;
}

std::optional<double> Field::Real() const {
  if (!present()) return std::nullopt;
  const auto text = QuantityText(*value_);
  const auto number = text ? ParseReal(*text) : InvalidArgument(Wanted("a number", *value_));
  if (!number.ok()) {
    Fail(number.error().detail);
    return std::nullopt;
  }
  if (*number < 0) {
    Fail("must not be negative, got " + *text);
    return std::nullopt;
  }
  return *number;
}

// Each unknown member is reported at its own path.
void Field::OnlyMembers(std::initializer_list<std::string_view> names) const {
  const auto* object = Object();
  if (object == nullptr) return;
  for (const auto& member : *object) {
    const std::string_view key = member.key();
    if (std::find(names.begin(), names.end(), key) == names.end())
      (*this)[key].Fail("unknown field");
  }
}

std::vector<Field> Field::Elements() const {
  std::vector<Field> elements;
  if (const auto* array = Array()) {
    elements.reserve(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) elements.push_back(Element(i, (*array)[i]));
  }
  return elements;
}

// Names of members are shown as [name]: they are label keys or resource names.
std::vector<std::pair<std::string_view, Field>> Field::Members() const {
  std::vector<std::pair<std::string_view, Field>> members;
  if (const auto* object = Object()) {
    members.reserve(object->size());
    for (const auto& member : *object) {
      const std::string_view key = member.key();
      members.emplace_back(
          key, Field(&member.value(), problems_, problems_->Add({node_, -1, key, true})));
    }
  }
  return members;
}

std::optional<std::string> QuantityText(const json::value& value) {
  if (const auto* text = value.if_string()) return std::string(text->data(), text->size());
  if (const auto* i = value.if_int64()) return std::to_string(*i);
  if (const auto* u = value.if_uint64()) return std::to_string(*u);
  if (value.is_double()) return WriteJson(value);
  return std::nullopt;
}

}  // namespace muster::shapes
