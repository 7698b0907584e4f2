// Directories that the pods of a queue's batch scripts share on Kubernetes members: annotation
// muster.io/shared-directories of a LocalQueue or a ClusterQueue. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster {

/// A PersistentVolumeClaim of the job's namespace and where it is mounted.
struct SharedDirectory {
  std::string claim, path;
  bool read_only = false;
  bool operator==(const SharedDirectory&) const = default;
};

/// Reads "CLAIM:/PATH[:ro],...". Error: kInvalidArgument with what is wrong, without a field.
Result<std::vector<SharedDirectory>> ParseSharedDirectories(std::string_view text);

}  // namespace muster
