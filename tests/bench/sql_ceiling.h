// The ceiling of durable submission: plain SQL clients that insert the same rows, each in a
// transaction of its own, into the same PostgreSQL, in tables of the same shape.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::bench {

struct SqlRate {
  double per_second = 0;
  std::vector<double> commit_seconds;
};

/// Inserts over `clients` connections for `seconds`, one row in each transaction.
Result<SqlRate> InsertRate(const std::string& url, int clients, double seconds,
                           const std::string& manifest);
/// One connection, COPY of `rows` rows in each transaction.
Result<SqlRate> CopyRate(const std::string& url, int rows, double seconds,
                         const std::string& manifest);
/// Runs a query and returns its rows as text.
Result<std::vector<std::vector<std::string>>> QueryRows(const std::string& url,
                                                        const std::string& sql);

}  // namespace muster::bench
