// MemberProbe: what a cluster answers that is to become a member, asked before anything is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// A member cluster that is added while the daemon runs. Holds secrets: never log it.
struct MemberDeclaration {
  std::string name;
  std::string kubeconfig;         // its text; "": there is none at present
  std::string context;            // "": current-context
  bool fast = false;              // one unsuspended create instead of create, record, release
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
  bool operator==(const MemberDeclaration&) const = default;
};

/// What it is and what is wrong with it; sentences hold no secret.
struct MemberReport {
  std::string incarnation, version;
  std::int32_t nodes = -1;                 // -1: not told
  std::vector<std::string> serves, lacks;  // kinds of jobs
  std::vector<std::string> problems;       // why it cannot be used as it is
  std::string role;                        // the ClusterRole that its user needs; "": it has all
};

class MemberProbe {
 public:
  virtual ~MemberProbe() = default;
  /// Blocks for as long as the cluster needs to answer, at most some seconds. kInvalidArgument with
  /// the field: the kubeconfig cannot be taken at all. What cannot be reached is a problem of the
  /// report.
  virtual Result<MemberReport> Ask(const MemberDeclaration& member) = 0;
};

}  // namespace muster
