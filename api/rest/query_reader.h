// QueryReader: query parameters, strictly: one that the path does not know is refused by name, so
// that a misspelt filter cannot answer everything.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"

namespace muster::rest {

class QueryReader {
 public:
  explicit QueryReader(const Request& request) : request_(request) {}
  /// kInvalidArgument naming the first parameter that is unknown or given twice.
  Status Only(std::initializer_list<std::string_view> known) const;
  /// "" if absent.
  std::string Text(std::string_view name) const;
  /// Comma-separated, empty parts left out.
  std::vector<std::string> List(std::string_view name) const;
  /// "true", "1", "" (given without a value) or "All" is true; "false", "0" or absent is false.
  Result<bool> Flag(std::string_view name) const;
  /// A decimal number within [low, high], or `absent`.
  Result<std::int64_t> Number(std::string_view name, std::int64_t absent, std::int64_t low,
                              std::int64_t high) const;

 private:
  const Request& request_;
};

}  // namespace muster::rest
