// Backend: the interface through which the scheduler runs attempts on member clusters.
// Implementations: backends/local, backends/k8s, backends/simulated. No code above this interface
// knows which of them it talks to.
//
// Contract. Ensure and Remove are idempotent by key, and the dispatcher never makes two calls for
// one key at the same time. Each callback runs once, on a thread of the backend, and must only
// post. The error kUnknown in a callback means "may have happened": the dispatcher asks with List
// before it does anything else. All calls are thread-safe, and none blocks on I/O of another
// cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/signal_order.h"
#include "schedd/base/lead_term.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/queues.h"

namespace muster {

/// A Kubernetes object as JSON text, with the fields that address it.
struct ManifestText {
  std::string api_version, kind, ns, name;
  std::string json;
};

/// The Workload in a member's own queue that stands for an attempt and decides when the attempt
/// runs (member_queues.h).
struct MemberQueueEntry {
  /// Names on the member, in the attempt's namespace. Both "": no Workload stands for the attempt.
  std::string local_queue, workload;
};

/// The order "make this attempt exist, suspended or running".
struct DispatchOrder {
  DispatchKey key;
  JobId job;
  /// The job's manifest as schedd/shapes has rendered it.
  ManifestText object;
  /// The local account of the job's submitter (JobRecord::account). Members made of this host's
  /// processes run the pods as it (rule U60); others have users of their own.
  std::optional<std::uint32_t> account = {};
  /// ConfigMaps and Secrets that the pods need; they are created before any pod starts.
  std::vector<ManifestText> dependents;
  /// The flavors and pod counts that admission decided.
  std::vector<PodSetAssignment> pod_sets;
  /// True: create the object, but start no pod. False: start the pods; an object that exists
  /// suspended is released.
  bool suspended = false;
  /// Not "": the attempt's object exists with this uid. Only that object is released or resized;
  /// nothing is created. If it is gone or another object has its name, the answer is kNotFound.
  std::string expected_uid;
  /// A number that the store has given out once, in this installation or any copy of its database.
  /// The object keeps it, so that the daemon can tell a store that has lost writes (rule D14).
  std::int64_t sequence = 0;
  /// For an elastic job: grows with every change of the job's size; 0: the size never changes. An
  /// attempt that was created or resized with a smaller scale takes over the pod counts of
  /// `object`: pods are started and stopped, but no pod that stays is restarted.
  std::int64_t scale = 0;
  /// If this names a Workload, a release hands the object to the member's queue, which ends the
  /// suspension itself.
  MemberQueueEntry member_queue = {};
  /// The right to carry out the order. The backend asks it right before it creates, releases or
  /// starts anything. If the permit no longer holds, the answer is kUnavailable and nothing has
  /// been done.
  Permit permit = {};
};

/// The error for an order whose permit no longer holds.
inline Error NotLeading() { return Unavailable("this daemon does not lead now: nothing was sent"); }

/// The object that Ensure has made or found.
struct RemoteRef {
  /// Unique among all objects that ever had the same name.
  std::string remote_uid;
  /// Of the member cluster: the uid of its namespace kube-system, or the backend's own equivalent.
  std::string incarnation;
  /// The object exists suspended: no pod of it starts before a release.
  bool suspended = false;
};

/// How Remove ends an attempt.
struct RemovePolicy {
  /// Only the object with this uid is removed; "": any object that carries the key.
  std::string expected_uid;
  /// Where the object is. Backends whose attempts are no addressable objects ignore it.
  RemoteObject object;
  /// In seconds; -1: the pods' own terminationGracePeriodSeconds.
  std::int64_t grace_period_s = -1;
  /// True: stop the pods, but keep the attempt's record and its logs.
  bool keep_logs = false;
  StopCause cause = StopCause::kCancelled;
};

struct RemovalResult {
  bool existed = false;
};

/// The member's answer to the question whether one object, by name and uid, still exists.
struct Presence {
  bool there = false;
  /// A sentence for the job's message. If `there`: which marks were missing and have been put back.
  /// If not: which children the object had left running and Muster has removed. "": neither.
  std::string note;
};

/// Capacity and health of a member, as observed.
struct ClusterFacts {
  std::string cluster;
  std::string incarnation;
  LabelMap labels;
  /// The sum over the machines that are ready and take pods.
  ResourceList allocatable;
  /// The sum over all machines, ready or not; empty: the same as `allocatable`.
  ResourceList capacity;
  /// Requests of bound pods that are not Muster's, on the machines that `allocatable` sums.
  ResourceList used_by_others;
  /// Number of machines, ready or not; -1: not known.
  std::int32_t node_count = -1;
  /// Kubernetes version; "": not known, or no Kubernetes cluster.
  std::string version;
  /// The usable machines, grouped; null: not known.
  std::shared_ptr<const MachineGroups> machines;
  /// The kinds of jobs that the member serves; null: not known.
  std::shared_ptr<const std::vector<std::string>> kinds;
  bool healthy = true;
  /// Of one that is not healthy: it answers all the same. It takes no new jobs, and what runs there
  /// runs on and is reported.
  bool answers = false;
  /// If not healthy, the reason; else remarks, such as how the local backend enforces limits.
  std::string message;
  /// When the member last answered.
  WallTime observed_at;
};

/// A statement of a member's own components about an attempt's objects (a Kubernetes Event).
struct MemberEvent {
  WallTime time;
  /// `type` is Normal or Warning; `object` is kind and name, such as "Pod/name".
  std::string type, reason, object, message;
  std::int32_t count = 1;
};

/// Receives the reports of a backend. Its methods are called on threads of the backend, in order
/// per key, and must only post.
class ObservationSink {
 public:
  virtual ~ObservationSink() = default;
  virtual void OnObservation(Observation observation) = 0;
  virtual void OnFacts(ClusterFacts facts) = 0;
  /// Reports of this cluster may have been lost: the dispatcher must list it again.
  virtual void OnGap(const std::string& cluster) = 0;
};

struct LogQuery {
  std::string pod;          // "": the first pod
  std::string container;    // "": the pod's first container
  std::int64_t offset = 0;  // bytes from the start; negative: from the end
  std::size_t max_bytes = 1 << 20;
  // When it was printed, RFC 3339, and a space before each line, where the member knows it. Offsets
  // are those of chunks that were read with the same value of this.
  bool timestamps = false;
};

struct LogChunk {
  std::string data;
  std::int64_t next_offset = 0;
  /// The container has ended and `data` reaches to its last byte.
  bool ended = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Names of the member clusters that this backend serves.
  virtual std::vector<std::string> Clusters() const = 0;
  /// Makes the attempt exist as the order says. Answers with the object's uid.
  virtual void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) = 0;
  /// True if Ensure creates the object suspended, so that a second call must release it once its
  /// uid is on record (rules D8 to D11); false if one call makes the attempt run.
  virtual bool CreatesSuspended(const std::string& cluster) const {
    (void)cluster;
    return false;
  }
  /// Tells the member that the attempt's result is on record, so that the object may go when a user
  /// deletes it. Idempotent; an object that is gone is no error. Backends whose objects need no
  /// permission to go have nothing to do.
  virtual void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                           const std::string& uid, Callback<Done> done) {
    (void)key, (void)object, (void)uid;
    done(Done{});
  }
  /// Stops the attempt's pods and removes its object.
  virtual void Remove(const DispatchKey& key, const RemovePolicy& policy,
                      Callback<RemovalResult> done) = 0;
  /// Asks whether an object that the member's reports lack is really gone. The answer is "gone"
  /// only when no pod of the object is left either: children that it has left behind are removed
  /// first, and the answer is an error until they are. An object that is there is reported to the
  /// sink again. Idempotent; an error proves nothing. The default is for backends whose reports
  /// never lack an attempt.
  virtual void Confirm(const DispatchKey& key, const RemoteObject& object, const std::string& uid,
                       Callback<Presence> done) {
    (void)key, (void)object, (void)uid;
    done(Presence{});
  }
  /// Sends a signal to processes of a running attempt. kNotFound if it does not run;
  /// kUnimplemented where the member has no such call.
  virtual void Signal(const DispatchKey& key, const SignalOrder& order, Callback<Done> done) {
    (void)key, (void)order;
    done(Error{Code::kUnimplemented, "jobs of this member cannot be sent signals"});
  }
  /// Writes a line to the attempt's standard error (scontrol notify). Errors as those of Signal.
  virtual void Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) {
    (void)key, (void)line;
    done(Error{Code::kUnimplemented, "jobs of this member cannot be sent messages"});
  }
  /// Every attempt that exists on the cluster, with its current status.
  virtual void List(const std::string& cluster, Callback<std::vector<Observation>> done) = 0;
  /// Starts reporting to `sink`, which must outlive the backend's Stop.
  virtual void Start(ObservationSink& sink) = 0;
  /// Ends reporting and background work. Attempts on the members run on.
  virtual void Stop() = 0;
  virtual void Facts(const std::string& cluster, Callback<ClusterFacts> done) = 0;
  /// Blocking; the pods of an attempt, in order.
  virtual Result<std::vector<PodStatus>> Pods(const DispatchKey& key) = 0;
  /// Blocking; the events about the attempt's objects, oldest first.
  virtual Result<std::vector<MemberEvent>> Events(const DispatchKey& key) {
    (void)key;
    return std::vector<MemberEvent>{};
  }
  /// Blocking; part of a container's output. kNotFound if there is no such pod or container.
  virtual Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) = 0;
};

}  // namespace muster
