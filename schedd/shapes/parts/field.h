// Field: a place in a manifest that knows its path, so that all wrong fields can be reported at
// once.
//
// A Field is cheap to copy; the text of its path is built only for an error. Reads never throw: a
// value of the wrong type records a problem and yields an empty value. Not thread-safe: each parse
// has its own Problems.
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

/// The wrong fields found so far. The manifest must outlive it, because paths point into its keys.
class Problems {
 public:
  bool empty() const { return errors_.empty(); }
  /// Requires at least one problem. The error has all of them as fields, and the first few as
  /// sentences in `detail`.
  Error ToError() const;

 private:
  friend class Field;
  static constexpr std::size_t kUsualNodes = 256;  // fields that reading one manifest visits
  /// One place that was visited. Its path is the path of `parent` and its own part.
  struct Node {
    std::int32_t parent;
    std::int32_t index;  // >= 0: an element of a list; -1: the member `key` of an object
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

  /// The member `key`; absent if this field is absent or no object (Object() reports the latter).
  Field operator[](std::string_view key) const { return Member(key, false); }
  /// A member whose name may contain dots and slashes, which the path shows as [name].
  Field Named(std::string_view key) const { return Member(key, true); }
  /// The element `item` of a list, at `index`.
  Field Element(std::size_t index, const json::value& item) const;

  /// False for JSON null too, as in Kubernetes.
  bool present() const { return value_ != nullptr && !value_->is_null(); }
  const json::value* value() const { return present() ? value_ : nullptr; }

  /// Records that this field is wrong.
  void Fail(std::string message) const;
  /// Records "is required" if the field is absent. True if it is present.
  bool Require() const;
  /// Records `message` if the field is present.
  void Refuse(std::string_view message) const;

  /// The value if it has the type; nothing if the field is absent; a problem and nothing if it has
  /// another type.
  const json::object* Object() const;
  const json::array* Array() const;
  std::optional<std::string_view> String() const;
  std::optional<bool> Bool() const;
  std::optional<std::int64_t> Int(
      std::int64_t min = std::numeric_limits<std::int64_t>::min(),
      std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  /// A count of pods, tries and so on: 32 bits, at least `min`.
  std::optional<std::int32_t> Count(std::int32_t min) const;

  std::string_view StringOr(std::string_view otherwise) const {
    return String().value_or(otherwise);
  }
  bool BoolOr(bool otherwise) const { return Bool().value_or(otherwise); }
  std::int32_t CountOr(std::int32_t otherwise, std::int32_t min) const {
    return Count(min).value_or(otherwise);
  }

  /// A string out of a closed set; the problem names the set.
  std::optional<std::string_view> OneOf(std::initializer_list<std::string_view> choices) const;
  /// A quantity (string or number) in units of `resource`. A malformed one is a problem and yields
  /// nothing; one that is negative or beyond 64 bits is a problem and yields the nearest amount.
  std::optional<std::int64_t> Quantity(std::string_view resource) const;
  /// A real number written as a quantity (a weight). A negative or malformed one is a problem.
  std::optional<double> Real() const;
  /// Records "unknown field" at each member whose name is not in `names`.
  void OnlyMembers(std::initializer_list<std::string_view> names) const;

  /// The elements of a list, in order; empty if the field is absent or no list.
  std::vector<Field> Elements() const;
  /// The members of an object with their names; empty if the field is absent or no object.
  std::vector<std::pair<std::string_view, Field>> Members() const;

 private:
  Field(const json::value* value, Problems* problems, std::int32_t node)
      : value_(value), problems_(problems), node_(node) {}
  Field Member(std::string_view key, bool bracketed) const;

  const json::value* value_ = nullptr;
  Problems* problems_ = nullptr;
  std::int32_t node_ = -1;
};

/// The text of a quantity given as string or number ("2Gi", 1, 0.5); nothing for other types.
std::optional<std::string> QuantityText(const json::value& value);

}  // namespace muster::shapes
