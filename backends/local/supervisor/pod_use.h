// PodUse: what the processes of a pod have used (rule B44): the control groups tell it, or the
// rusage of the children that were reaped and samples of resident memory.
#pragma once

#include <sys/resource.h>

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/process/cgroup.h"

namespace muster::local {

/// Not thread-safe.
class PodUse {
 public:
  /// A child of the supervisor has ended. Every process of the pod becomes one in the end, unless
  /// its parent has reaped it; then it is in the parent's numbers.
  void AddReaped(const rusage& usage);
  /// Sums the resident memory of all processes below `root` now.
  void Sample(pid_t root);
  /// Takes what the groups of these containers tell, before they are removed.
  void TakeFrom(const PodCgroups& groups, const std::vector<std::string>& containers);
  /// For status.json.
  boost::json::object ToJson() const;

 private:
  std::int64_t user_us_ = 0, system_us_ = 0, peak_bytes_ = 0, read_bytes_ = 0, written_bytes_ = 0;
  // From control groups; they replace the numbers above.
  PodCgroups::Use groups_;
};

}  // namespace muster::local
