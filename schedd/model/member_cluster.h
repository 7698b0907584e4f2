// MemberCluster: a cluster that executes jobs, as declared and as observed: its machines, the room
// on them, its properties (rules P5, P6). Plain values.
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
  /// Requests of running pods that admission did not place.
  ResourceList used_by_others;
  bool ready = true;
  bool unschedulable = false;
};

/// Machines of a member that are alike: the same labels except for their names, the same taints,
/// the same room.
struct MachineGroup {
  /// Without kubernetes.io/hostname.
  LabelMap labels;
  /// Those that repel pods.
  std::vector<Taint> taints;
  /// Of each machine, minus the requests of all pods that are bound to it.
  ResourceList free;
  std::int32_t count = 0;
  bool operator==(const MachineGroup&) const = default;
};
/// Of machines that are ready and take pods; those with more free cpu first.
using MachineGroups = std::vector<MachineGroup>;

/// What is known of one member cluster: declared or observed.
struct MemberCluster {
  std::string name;
  std::string backend;  // "local", "simulated" or "kubernetes"
  LabelMap labels;
  std::vector<Taint> taints;
  /// Of each taint; unset: not known.
  std::vector<WallTime> tainted_at;
  /// Of local members: a label key of a flavor that the member does not declare matches.
  bool any_flavor = false;
  ResourceList allocatable;
  /// Of all machines, ready or not; empty: as allocatable.
  ResourceList capacity;
  /// Requests of running pods that are not Muster's.
  ResourceList used_by_others;
  /// Machines, ready or not; -1: not reported.
  std::int32_t node_count = -1;
  /// Of Kubernetes, "v1.34.1"; "": not reported.
  std::string version;
  /// Declared ones.
  MemberProperties properties;
  /// Annotation muster.io/datasets: data that is stored near it.
  std::vector<std::string> datasets;
  /// Kinds of jobs that it serves ("Job", "RayJob", ...), by name; null: not reported, all of them.
  std::shared_ptr<const std::vector<std::string>> kinds;
  /// By name; empty: nothing is known of its machines.
  std::vector<Node> nodes;
  /// Null: not reported.
  std::shared_ptr<const MachineGroups> machines;
  /// spec.heartbeatPeriodSeconds: how often its state is asked for.
  std::int64_t heartbeat_s = 60;
  bool healthy = true;
  /// Of one that is not healthy: it answers all the same (a permission is missing, say).
  bool answers = false;
  bool cordoned = false;
  /// Its jobs are evicted; it is cordoned too.
  bool draining = false;
  /// Also those that may not be requeued.
  bool drain_forced = false;
  /// Why it is not healthy, else what it reports of itself; "": nothing.
  std::string message;
  /// When it last answered; unset: not since the start.
  WallTime observed_at;
};

}  // namespace muster
