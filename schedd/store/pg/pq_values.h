// Values out of results of libpq. Pure.
#pragma once

#include <libpq-fe.h>

#include <charconv>
#include <cstdint>
#include <cstring>

namespace muster::pg {

/// An integer in PostgreSQL's text format; 0 for NULL.
inline std::int64_t IntAt(const PGresult& rows, int row, int column) {
  const char* text = PQgetvalue(&rows, row, column);
  std::int64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace muster::pg
