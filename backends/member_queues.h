// MemberQueues: hands copies of jobs to queues that member clusters run themselves (Kueue), which
// then decide on admission (rules P33, P34). Implementation: backends/k8s.
//
// A copy is a Workload in the member's queue that stands for an attempt; no pod belongs to it.
// Calls are idempotent and thread-safe; each callback runs once, on a thread of the backend, and
// must only post.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"

namespace muster {

/// spec.podSets[] of a Workload.
struct CopyPodSet {
  std::string name;
  std::int32_t count = 0;
  std::string pod_template;  // JSON text
};

struct CopyOrder {
  /// The attempt that the copy stands for.
  DispatchKey key;
  std::string ns, local_queue;
  std::int64_t priority = 0;
  /// The object that the attempt would be on the member, suspended. Kueue wants the Workload of a
  /// job to have exactly the pod templates of that job, so the member is asked by a dry run how it
  /// would complete this object; the object itself is not created.
  ManifestText object;
  /// Reads the pod sets from the object as the member has completed it (JSON text).
  std::function<Result<std::vector<CopyPodSet>>(const std::string& completed)> pod_sets_of;
};

/// A copy as it stands on its member.
struct MemberCopy {
  DispatchKey key;
  std::string ns, name, uid;
  bool deleting = false;
  /// Conditions Admitted, Evicted and Finished of the Workload are True.
  bool admitted = false;
  bool evicted = false;
  bool finished = false;
  /// Finished with the reason OutOfSync: Kueue found that the Workload differs from its job.
  bool out_of_sync = false;
  /// By the member's clock.
  WallTime admitted_since;
  /// Kueue's own words: why the copy is not admitted, was evicted or is finished.
  std::string message;
};

struct CopyRemoval {
  std::string cluster, ns, name;
  /// Only the Workload with this uid is removed.
  std::string uid;
};

class MemberQueues {
 public:
  virtual ~MemberQueues() = default;
  /// False if the member cannot take copies: it is no Kubernetes cluster, or the last look found no
  /// Kueue there. The next ListCopies may find that Kueue has been installed.
  virtual bool RunsQueue(const std::string& cluster) const = 0;
  /// Creates the copy, and its namespace if that is missing. Errors: kFailedPrecondition (the
  /// member runs no queue), kAlreadyExists (another object has the name), kInvalidArgument and
  /// kPermissionDenied (the member refuses it), kUnavailable and kUnknown (try again).
  virtual void EnsureCopy(const CopyOrder& order, Callback<Done> done) = 0;
  /// Succeeds once the member has accepted the deletion, or if the copy is gone. Errors:
  /// kPermissionDenied, kUnavailable.
  virtual void RemoveCopy(const CopyRemoval& removal, Callback<Done> done) = 0;
  /// All copies of this installation on the member, by a consistent read. kFailedPrecondition: the
  /// member runs no queue.
  virtual void ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) = 0;
};

}  // namespace muster
