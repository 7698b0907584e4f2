// The ceiling of durable submission: plain clients that insert the same rows, each in a transaction
// of its own, into the same PostgreSQL (tables of the same shape in a schema of the benchmark's).
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::bench {

struct SqlRate {
  double per_second = 0;
  std::vector<double> commit_seconds;
};

/// `clients` connections for `seconds`, one row a transaction.
Result<SqlRate> InsertRate(const std::string& url, int clients, double seconds,
                           const std::string& manifest);
/// One connection, COPY of `rows` rows a transaction.
Result<SqlRate> CopyRate(const std::string& url, int rows, double seconds,
                         const std::string& manifest);
/// The rows of a query, as text.
Result<std::vector<std::vector<std::string>>> QueryRows(const std::string& url,
                                                        const std::string& sql);

}  // namespace muster::bench
