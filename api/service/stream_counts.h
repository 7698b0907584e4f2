// StreamCounts: how many streams each user has open, over REST and gRPC together (rule U76).
#pragma once

#include <cstddef>
#include <memory>

#include "api/auth/principal.h"
#include "schedd/base/result.h"

namespace muster::api {

/// A copy counts together with what it was copied from. Thread-safe.
class StreamCounts {
 public:
  /// `most_of_user`: how many streams one user may have open (0: any number).
  explicit StreamCounts(std::size_t most_of_user);
  /// Counts one more stream of the caller, until what is returned and its copies are gone; it may
  /// outlive this. kResourceExhausted with a retry time if the caller has as many as it may; no
  /// limit of tenants applies to system:masters.
  Result<std::shared_ptr<const void>> Take(const auth::Principal& who) const;

 private:
  struct Table;
  class Counted;
  std::shared_ptr<Table> table_;
};

}  // namespace muster::api
