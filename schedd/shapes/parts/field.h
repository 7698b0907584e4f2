// Field: a place in a manifest that knows its path, so that every wrong field can be named at once.
//
// A Field is cheap to copy. The path text is built only for an error. Reads never throw: a wrong
// type records a problem and yields an empty value. Not thread-safe: one Problems per parse.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// The wrong fields met so far. The manifest must outlive it (paths point into its keys).
class Problems {
 public:
  bool empty() const { return errors_.empty(); }
  /// CHECKs that there is one. detail joins the first few sentences.
  Error ToError() const;

 private:
  friend class Field;
  static constexpr std::size_t kUsualNodes = 256;  // fields looked at in one manifest
  struct Node {
    std::int32_t parent;
    std::int32_t index;  // >= 0: an element of a list
    std::string_view key;
    bool bracketed = false;  // shown as [key]: a label or a resource name
  };
  std::int32_t Add(Node node);
  std::string PathOf(std::int32_t node) const;
  void Report(std::int32_t node, std::string message);

  std::vector<Node> nodes_;
  std::vector<FieldError> errors_;
};

class Field {
 public:
  /// The whole document.
  Field(const json::value& document, Problems* problems) : value_(&document), problems_(problems) {}

  /// A member; absent if this is absent or not an object (which Object() reports).
  Field operator[](std::string_view key) const { return Member(key, false); }
  /// A member whose name may contain dots and slashes: shown as [name].
  Field Named(std::string_view key) const { return Member(key, true); }
  /// An element of a list. `item` is the element.
  Field Element(std::size_t index, const json::value& item) const;

  /// JSON null counts as absent, as it does for Kubernetes.
  bool present() const { return value_ != nullptr && !value_->is_null(); }
  const json::value* value() const { return present() ? value_ : nullptr; }

  /// Records that this field is wrong.
  void Fail(std::string message) const;
  /// Records "is required" if absent. True if present.
  bool Require() const;
  /// Records `message` if present.
  void Refuse(std::string_view message) const;

  /// The value if it has the type; nothing if absent; a problem if it has another type.
  const json::object* Object() const;
  const json::array* Array() const;
  std::optional<std::string_view> String() const;
  std::optional<bool> Bool() const;
  std::optional<std::int64_t> Int(
      std::int64_t min = std::numeric_limits<std::int64_t>::min(),
      std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  /// A count of pods, tries, ...: 32 bits, at least `min`.
  std::optional<std::int32_t> Count(std::int32_t min) const;

  std::string_view StringOr(std::string_view otherwise) const {
    return String().value_or(otherwise);
  }
  bool BoolOr(bool otherwise) const { return Bool().value_or(otherwise); }
  std::int32_t CountOr(std::int32_t otherwise, std::int32_t min) const {
    return Count(min).value_or(otherwise);
  }

  /// A string out of a closed set; a problem names the set.
  std::optional<std::string_view> OneOf(std::initializer_list<std::string_view> choices) const;
  /// A quantity (string or number) in units of `resource`. Malformed is a problem and nothing;
  /// negative or beyond 64 bits is a problem and the nearest amount.
  std::optional<std::int64_t> Quantity(std::string_view resource) const;
  /// A real number written as a quantity (a weight); negative or malformed is a problem.
  std::optional<double> Real() const;
  /// Every member's name must be one of these.
  void OnlyMembers(std::initializer_list<std::string_view> names) const;

  /// Elements of a list, in order; nothing if absent or not a list.
  std::vector<Field> Elements() const;
  /// Members of an object with their names; nothing if absent or not an object.
  std::vector<std::pair<std::string_view, Field>> Members() const;

 private:
  Field(const json::value* value, Problems* problems, std::int32_t node)
      : value_(value), problems_(problems), node_(node) {}
  Field Member(std::string_view key, bool bracketed) const;

  const json::value* value_ = nullptr;
  Problems* problems_ = nullptr;
  std::int32_t node_ = -1;
};

/// The text of a quantity given as string or number ("2Gi", 1, 0.5); nullopt for other types.
std::optional<std::string> QuantityText(const json::value& value);

}  // namespace muster::shapes
