// Binary parameters of libpq statements: single values, and whole columns as one-dimensional
// arrays.
//
// Plain values. The encodings are PostgreSQL's binary formats (network byte order; an array is a
// header, then the length and the bytes of each element).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster::pg {

/// The object ids of the element types; PostgreSQL never changes them (pg_type.dat).
enum class ElementType : std::uint32_t {
  kBool = 16,
  kBytea = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kJson = 114,
  kUuid = 2950,
};

/// One column of a batch: one element for each row.
class Column {
 public:
  explicit Column(ElementType type);
  void Bool(bool value);
  void Int2(std::int16_t value);
  void Int4(std::int32_t value);
  void Int8(std::int64_t value);
  void Text(std::string_view value);  // json and bytea have the same format
  void Uuid(const Uid& value);
  void Null();
  /// Null if the time is not set.
  void Time(WallTime value);
  void OptionalInt4(const std::optional<std::int32_t>& value);
  /// Null if the text is empty.
  void OptionalText(std::string_view value);

  std::uint32_t array_oid() const;
  /// The encoded array; valid until the next call on this column.
  const std::string& Bytes();

 private:
  const ElementType type_;
  std::int32_t count_ = 0;
  bool has_null_ = false;
  std::string bytes_;
};

/// Pointers in the form that libpq takes; valid as long as the Params they came from.
struct ParamView {
  int count = 0;
  const std::uint32_t* types = nullptr;
  const char* const* values = nullptr;
  const int* lengths = nullptr;
  const int* formats = nullptr;
};

/// The parameters of one statement, in order.
class Params {
 public:
  Params& Int8(std::int64_t value);
  Params& Text(std::string value);
  Params& Array(Column& column);
  ParamView View() const;

 private:
  void Add(std::uint32_t oid, std::string bytes);

  std::vector<std::string> bytes_;
  std::vector<std::uint32_t> types_;
  mutable std::vector<const char*> values_;
  mutable std::vector<int> lengths_;
  mutable std::vector<int> formats_;
};

}  // namespace muster::pg
