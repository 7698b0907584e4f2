// SeenCredentials: munge credentials that were used, until they end (rule U55).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "schedd/base/mutex.h"

namespace muster::auth {

/// Thread-safe. munged remembers what it has decoded too, but not across a restart of its own, and
/// not what another munged of the site has decoded.
class SeenCredentials {
 public:
  /// True the first time. `digest` is the credential's SHA-256, `expires_s` when munged itself
  /// begins to refuse it. Of more than limits::kMungeRemembered the one that ends first is
  /// forgotten.
  bool Take(const std::string& digest, std::int64_t expires_s, std::int64_t now_s);

 private:
  Mutex mutex_;
  std::set<std::string> seen_ MUSTER_GUARDED_BY(mutex_);
  std::multimap<std::int64_t, std::set<std::string>::iterator> by_end_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::auth
