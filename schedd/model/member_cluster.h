// MemberCluster: what is declared and observed of a cluster that executes jobs: its machines, what
// is free on them, its properties (rules P5, P6). Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/model/member_property.h"
#include "schedd/model/resources.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// A machine of a member cluster, as topology aware scheduling sees it.
struct Node {
  std::string name;
  LabelMap labels;
  std::vector<Taint> taints;
  ResourceList allocatable;
  ResourceList used_by_others;  // by running pods that admission did not place
  bool ready = true;
  bool unschedulable = false;
};

/// Machines of a member that are alike: same labels but for their names, same taints, same room.
struct MachineGroup {
  LabelMap labels;            // without kubernetes.io/hostname
  std::vector<Taint> taints;  // that repel
  ResourceList free;          // of each, with all pods that are bound to it taken off
  std::int32_t count = 0;
  bool operator==(const MachineGroup&) const = default;
};
/// Ready ones that take pods; the larger free cpu first.
using MachineGroups = std::vector<MachineGroup>;

/// What is known of one member cluster: declared or observed.
struct MemberCluster {
  std::string name;
  std::string backend;  // "local", "simulated" or "kubernetes"
  LabelMap labels;
  std::vector<Taint> taints;
  std::vector<WallTime> tainted_at;  // of each taint; unset: not known
  bool any_flavor =
      false;  // local members: a flavor's label key that the member does not declare matches
  ResourceList allocatable;
  ResourceList capacity;              // of all machines, ready or not; empty: as allocatable
  ResourceList used_by_others;        // requests of running pods that are not Muster's
  std::int32_t node_count = -1;       // machines, ready or not; -1: not told
  std::string version;                // of Kubernetes, "v1.34.1"; "": not told
  MemberProperties properties;        // declared ones
  std::vector<std::string> datasets;  // annotation muster.io/datasets: what is stored near it
  /// Kinds of jobs that it serves ("Job", "RayJob", ...), by name; null: not told, all of them.
  std::shared_ptr<const std::vector<std::string>> kinds;
  std::vector<Node> nodes;  // by name; empty: nothing is known of its machines
  std::shared_ptr<const MachineGroups> machines;  // null: not told
  std::int64_t heartbeat_s = 60;  // spec.heartbeatPeriodSeconds: it is asked that often how it is
  bool healthy = true;
  bool cordoned = false;
  bool draining = false;      // its jobs are sent elsewhere; it is cordoned too
  bool drain_forced = false;  // with those that may not be requeued
  std::string message;        // why it is not healthy, else what it tells of itself; "" if nothing
  WallTime observed_at;       // when it last answered; unset: not told
};

}  // namespace muster
