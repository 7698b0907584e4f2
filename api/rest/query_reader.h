// QueryReader: reads query parameters strictly. A parameter that the path does not know is refused
// by name, so that a misspelt filter cannot silently match everything.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/http/message.h"
#include "schedd/base/ids.h"
#include "schedd/base/result.h"

namespace muster::rest {

class QueryReader {
 public:
  explicit QueryReader(const Request& request) : request_(request) {}
  /// kInvalidArgument names the first parameter that is unknown or, unless it is `repeated`, given
  /// twice.
  Status Only(std::initializer_list<std::string_view> known, std::string_view repeated = {}) const;
  /// "" if the parameter is absent.
  std::string Text(std::string_view name) const;
  /// The comma-separated parts of a parameter; empty parts are left out.
  std::vector<std::string> List(std::string_view name) const;
  /// The same of a parameter that may be given several times, as numbers of jobs, at most `most` of
  /// them; sorted, each once.
  Result<std::vector<JobId>> Ids(std::string_view name, std::size_t most) const;
  /// True: "true", "1", "" (given without a value) or "All"; false: "false", "0" or absent. "All"
  /// is what Kubernetes' dryRun has.
  Result<bool> Flag(std::string_view name) const;
  /// A decimal number within [low, high], or `absent`.
  Result<std::int64_t> Number(std::string_view name, std::int64_t absent, std::int64_t low,
                              std::int64_t high) const;

 private:
  const Request& request_;
};

}  // namespace muster::rest
