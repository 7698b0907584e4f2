// PostgreSQL's binary array format: the number of dimensions, a flag for nulls, the element type's
// object id, then length and lower bound of each dimension, each 32 bits; then the elements, each
// with its length in bytes, -1 for null. A column leaves room for the header at the front and fills
// it in when the array is asked for, so that the elements are never copied.
#include "schedd/store/pg/pq_params.h"

#include <endian.h>

#include <cstring>

namespace muster::pg {
namespace {

// The header of a one-dimensional array: five numbers of 32 bits.
constexpr std::size_t kHeaderBytes = 20;

template <class T>
void Append(std::string* out, T big_endian) {
  out->append(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
}

void AppendInt4(std::string* out, std::int32_t value) {
  Append(out, htobe32(static_cast<std::uint32_t>(value)));
}

}  // namespace

Column::Column(ElementType type) : type_(type), bytes_(kHeaderBytes, '\0') {}

void Column::Bool(bool value) {
  AppendInt4(&bytes_, 1);
  bytes_.push_back(value ? '\1' : '\0');
  ++count_;
}

void Column::Int2(std::int16_t value) {
  AppendInt4(&bytes_, 2);
  Append(&bytes_, htobe16(static_cast<std::uint16_t>(value)));
  ++count_;
}

void Column::Int4(std::int32_t value) {
  AppendInt4(&bytes_, 4);
  AppendInt4(&bytes_, value);
  ++count_;
}

void Column::Int8(std::int64_t value) {
  AppendInt4(&bytes_, 8);
  Append(&bytes_, htobe64(static_cast<std::uint64_t>(value)));
  ++count_;
}

void Column::Text(std::string_view value) {
  AppendInt4(&bytes_, static_cast<std::int32_t>(value.size()));
  bytes_.append(value);
  ++count_;
}

void Column::Uuid(const Uid& value) {
  AppendInt4(&bytes_, 16);
  Append(&bytes_, htobe64(value.hi));
  Append(&bytes_, htobe64(value.lo));
  ++count_;
}

void Column::Null() {
  AppendInt4(&bytes_, -1);
  has_null_ = true;
  ++count_;
}

void Column::Time(WallTime value) {
  if (value.set()) {
    Int8(value.us);
  } else {
    Null();
  }
}

void Column::OptionalInt4(const std::optional<std::int32_t>& value) {
  if (value.has_value()) {
    Int4(*value);
  } else {
    Null();
  }
}

void Column::OptionalText(std::string_view value) {
  if (value.empty()) {
    Null();
  } else {
    Text(value);
  }
}

// The object ids of the array types, from pg_type.dat.
std::uint32_t Column::array_oid() const {
  switch (type_) {
    case ElementType::kBool:
      return 1000;
    case ElementType::kBytea:
      return 1001;
    case ElementType::kInt2:
      return 1005;
    case ElementType::kInt4:
      return 1007;
    case ElementType::kText:
      return 1009;
    case ElementType::kInt8:
      return 1016;
    case ElementType::kJson:
      return 199;
    case ElementType::kUuid:
      return 2951;
  }
  return 0;
}

const std::string& Column::Bytes() {
  std::string header;
  AppendInt4(&header, count_ == 0 ? 0 : 1);  // dimensions
  AppendInt4(&header, has_null_ ? 1 : 0);
  Append(&header, htobe32(static_cast<std::uint32_t>(type_)));
  AppendInt4(&header, count_);
  AppendInt4(&header, 1);  // lower bound
  if (count_ == 0) {
    header.resize(12);  // an empty array has no dimension: only the first three numbers
    bytes_ = header;
  } else {
    std::memcpy(bytes_.data(), header.data(), kHeaderBytes);
  }
  return bytes_;
}

void Params::Add(std::uint32_t oid, std::string bytes) {
  types_.push_back(oid);
  bytes_.push_back(std::move(bytes));
}

Params& Params::Int8(std::int64_t value) {
  std::string bytes;
  Append(&bytes, htobe64(static_cast<std::uint64_t>(value)));
  Add(static_cast<std::uint32_t>(ElementType::kInt8), std::move(bytes));
  return *this;
}

Params& Params::Text(std::string value) {
  Add(static_cast<std::uint32_t>(ElementType::kText), std::move(value));
  return *this;
}

Params& Params::Array(Column& column) {
  Add(column.array_oid(), column.Bytes());
  return *this;
}

// Format 1 is binary, for every parameter.
ParamView Params::View() const {
  values_.clear();
  lengths_.clear();
  for (const std::string& bytes : bytes_) {
    values_.push_back(bytes.data());
    lengths_.push_back(static_cast<int>(bytes.size()));
  }
  formats_.assign(bytes_.size(), 1);
  return {static_cast<int>(bytes_.size()), types_.data(), values_.data(), lengths_.data(),
          formats_.data()};
}

}  // namespace muster::pg
