// Backend: how attempts run on member clusters. Implementations: backends/local,
// backends/k8s, backends/simulated. Nothing above this interface knows which one it talks to.
//
// Contract. Ensure and Remove are idempotent by key; calls for one key are never concurrent (the
// dispatcher sees to it). Callbacks run once, on a thread of the backend, and must only post. A
// callback's error kUnknown means "may have happened": the dispatcher asks with List before it does
// anything else. All calls are thread-safe and never block on I/O of another cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedd/base/lead_term.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/queues.h"

namespace muster {

/// An object as JSON text.
struct ManifestText {
  std::string api_version, kind, ns, name;
  std::string json;
};

/// What stands for an attempt in a member's own queue, which lets it run (member_queues.h).
struct MemberQueueEntry {
  std::string local_queue, workload;  // there, in the attempt's namespace; "": none does
};

/// "Make this attempt exist, suspended or running."
struct DispatchOrder {
  DispatchKey key;
  JobId job;
  ManifestText object;                     // rendered by schedd/shapes
  std::vector<ManifestText> dependents;    // ConfigMaps, Secrets: created first
  std::vector<PodSetAssignment> pod_sets;  // what was admitted
  /// True: make it, but let nothing of it run. False: also releases one that exists suspended.
  bool suspended = false;
  /// Not "": the attempt exists as this object and only that one is released or resized; nothing is
  /// created. Another object of the key, or none: kNotFound.
  std::string expected_uid;
  /// A number of the store that no other installation of it has given out; the object keeps it, so
  /// that a store that has lost writes can be told (rule D14).
  std::int64_t sequence = 0;
  /// Of an elastic job: grows with every change of its size. An attempt that was made with a
  /// smaller one takes over the pod counts of `object` and goes on: pods are started and stopped,
  /// none that stays is restarted. 0: the job's size never changes.
  std::int64_t scale = 0;
  /// If it names a Workload, a release leaves the suspension to the member's queue, which ends it.
  MemberQueueEntry member_queue = {};
  /// Asked right before anything is made, released or started; an order that does not have it any
  /// more is kUnavailable, and nothing has happened.
  Permit permit = {};
};

/// What such an order is answered.
inline Error NotLeading() {
  return Unavailable("this daemon does not lead now: nothing was sent");
}

struct RemoteRef {
  std::string remote_uid;   // identifies the object among all that ever had its name
  std::string incarnation;  // of the member
  bool suspended = false;   // it exists and nothing of it runs before it is released
};

struct RemovePolicy {
  std::string expected_uid;          // "" = whichever object carries the key
  RemoteObject object;               // where it is; a member without objects to address ignores it
  std::int64_t grace_period_s = -1;  // -1: the pods' own terminationGracePeriodSeconds
  bool keep_logs = false;            // stop the pods, keep the record and its logs
};

struct Removed {
  bool existed = false;
};

/// What a member answers when it is asked for one object by name and uid.
struct Presence {
  bool there = false;
  /// A sentence: what was wrong with it and is mended (`there`), or what it had left running and
  /// is removed (not `there`); "": nothing.
  std::string note;
};

/// Capacity and health of a member, as observed.
struct ClusterFacts {
  std::string cluster;
  std::string incarnation;
  LabelMap labels;
  ResourceList allocatable;
  ResourceList capacity;         // of all machines, ready or not; empty: as allocatable
  ResourceList used_by_others;   // requests of running pods that are not Muster's
  std::int32_t node_count = -1;  // machines, ready or not; -1: not told
  std::string version;           // of Kubernetes; "": not told
  std::shared_ptr<const MachineGroups> machines;          // null: not told
  std::shared_ptr<const std::vector<std::string>> kinds;  // of jobs that it serves; null: not told
  bool healthy = true;
  std::string message;  // why not healthy; or which limits are enforced how
  WallTime observed_at;
};

/// What a member's own components said about an attempt's objects (a Kubernetes Event), oldest
/// first.
struct MemberEvent {
  WallTime time;
  std::string type, reason, object, message;  // type: Normal or Warning; object: "Pod/name"
  std::int32_t count = 1;
};

/// Receives what members report. Called on backend threads, in order per key; must only post.
class ObservationSink {
 public:
  virtual ~ObservationSink() = default;
  virtual void OnObservation(Observation observation) = 0;
  virtual void OnFacts(ClusterFacts facts) = 0;
  /// Something may have been missed on this cluster: list again.
  virtual void OnGap(const std::string& cluster) = 0;
};

struct LogQuery {
  std::string pod;          // "" = the first pod
  std::string container;    // "" = the pod's first container
  std::int64_t offset = 0;  // bytes from the start; negative: from the end
  std::size_t max_bytes = 1 << 20;
};

struct LogChunk {
  std::string data;
  std::int64_t next_offset = 0;
  bool ended = false;  // the container has ended and this is its last byte
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// The clusters it serves.
  virtual std::vector<std::string> Clusters() const = 0;
  virtual void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) = 0;
  /// True where an attempt is made suspended first and released when its uid is on record
  /// (rules D8 to D11); false where one call makes it run.
  virtual bool CreatesSuspended(const std::string& cluster) const {
    (void)cluster;
    return false;
  }
  /// The attempt's result is on record: its object may go when somebody deletes it. Idempotent; an
  /// object that is gone is no error. Members that hold nothing back have nothing to do.
  virtual void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                           const std::string& uid, Callback<Done> done) {
    (void)key, (void)object, (void)uid;
    done(Done{});
  }
  virtual void Remove(const DispatchKey& key, const RemovePolicy& policy,
                      Callback<Removed> done) = 0;
  /// Whether an object that is missing from what the member tells is really gone. It is only when
  /// nothing of it runs any more either: what it has left behind is removed first, and an error
  /// says so until it is. One that is there is told of again. Idempotent; an error proves nothing.
  /// Members that tell of every attempt have no more to say.
  virtual void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                       Callback<Presence> done) {
    (void)key, (void)object, (void)uid;
    done(Presence{});
  }
  /// Every attempt that exists on the cluster, current status included.
  virtual void List(const std::string& cluster, Callback<std::vector<Observation>> done) = 0;
  /// Starts reporting to `sink`, which must outlive the backend's Stop.
  virtual void Start(ObservationSink& sink) = 0;
  /// Ends reporting and background work; what runs on the members goes on.
  virtual void Stop() = 0;
  virtual void Facts(const std::string& cluster, Callback<ClusterFacts> done) = 0;
  /// Blocking; the pods of an attempt, in order.
  virtual Result<std::vector<PodStatus>> Pods(const DispatchKey& key) = 0;
  /// Blocking; what the member's components told of the attempt's objects.
  virtual Result<std::vector<MemberEvent>> Events(const DispatchKey& key) {
    (void)key;
    return std::vector<MemberEvent>{};
  }
  /// Blocking; part of a container's output. kNotFound if there is no such pod or container.
  virtual Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) = 0;
};

}  // namespace muster
