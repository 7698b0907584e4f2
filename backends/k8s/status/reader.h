// Reader: reads a field of an object that a member sent, without trust: an absent field or one of
// another type reads as nothing, texts are cut and made printable, numbers are bounded.
//
// Pure. A Reader is valid as long as the value that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/base/time.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// The longest Kubernetes name or uid.
inline constexpr std::size_t kNameBytes = 253;
/// The longest sentence that is stored with a job.
inline constexpr std::size_t kMessageBytes = 512;

/// At most `max_bytes` of `text`, cut between characters. Bytes that are not UTF-8 become U+FFFD,
/// control characters become spaces.
std::string CleanText(std::string_view text, std::size_t max_bytes);

class Reader {
 public:
  explicit Reader(const json::value* value) : value_(value) {}
  explicit Reader(const json::object& object) : object_(&object) {}

  /// A member of this object; a Reader of nothing if this is no object.
  Reader operator[](std::string_view key) const {
    const json::object* object = Object();
    return Reader(object == nullptr ? nullptr : object->if_contains(key));
  }
  bool present() const { return object_ != nullptr || (value_ != nullptr && !value_->is_null()); }
  const json::object* Object() const {
    return object_ != nullptr ? object_ : value_ == nullptr ? nullptr : value_->if_object();
  }
  const json::array* Array() const { return value_ == nullptr ? nullptr : value_->if_array(); }
  /// The string as it is; "" if this is no string.
  std::string_view View() const {
    const json::string* text = value_ == nullptr ? nullptr : value_->if_string();
    return text == nullptr ? std::string_view() : std::string_view(*text);
  }
  std::string Text(std::size_t max_bytes) const { return CleanText(View(), max_bytes); }
  bool IsTrue() const {
    const bool* flag = value_ == nullptr ? nullptr : value_->if_bool();
    return flag != nullptr && *flag;
  }
  std::optional<std::int64_t> Integer() const;
  /// A count of pods: 0 to INT32_MAX, `otherwise` if absent.
  std::int32_t Count(std::int32_t otherwise = 0) const;
  /// RFC 3339; not set if absent or malformed.
  WallTime Time() const;

  /// Calls visit(Reader) for each element of a list.
  template <class F>
  void Each(F&& visit) const {
    const json::array* array = Array();
    if (array == nullptr) return;
    for (const json::value& item : *array) visit(Reader(&item));
  }

 private:
  const json::value* value_ = nullptr;
  const json::object* object_ = nullptr;
};

/// A whole number in a string, as labels and annotations hold it; nothing if it is none.
std::optional<std::int64_t> NumberIn(std::string_view text);

}  // namespace muster::k8s
