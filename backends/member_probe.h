// MemberProbe: examines a cluster that is to become a member, before anything about it is stored.
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
  /// The text of the kubeconfig; "": there is none at present.
  std::string kubeconfig;
  std::string context;  // "": current-context
  /// True: one call creates the job running, instead of create, record, release.
  bool fast = false;
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
  bool operator==(const MemberDeclaration&) const = default;
};

/// What the cluster is and what hinders its use. The sentences hold no secret.
struct MemberReport {
  std::string incarnation, version;
  /// -1: not known.
  std::int32_t nodes = -1;
  /// Kinds of jobs that are installed there and that are not.
  std::vector<std::string> serves, lacks;
  /// Sentences: why the cluster cannot be used as it is.
  std::vector<std::string> problems;
  /// YAML of the ClusterRole that the kubeconfig's user needs; "": the user lacks no permission.
  std::string role;
};

class MemberProbe {
 public:
  virtual ~MemberProbe() = default;
  /// Blocks until the cluster has answered, a quarter of a minute at most. kInvalidArgument, with
  /// the field, if the kubeconfig itself is unusable. A cluster that cannot be reached is no error
  /// but a problem in the report.
  virtual Result<MemberReport> Ask(const MemberDeclaration& member) = 0;
};

}  // namespace muster
