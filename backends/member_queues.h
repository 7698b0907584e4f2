// MemberQueues: queues that member clusters run themselves (Kueue), as far as Muster asks them to
// admit a job (rules P33, P34). Implementation: backends/k8s.
//
// What is handed to such a queue is a copy: a Workload that stands for an attempt and runs nothing.
// Calls are idempotent and thread-safe; callbacks run once, on a thread of the backend, and must
// only post.
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
  DispatchKey key;  // of the attempt that it stands for
  std::string ns, local_queue;
  std::int64_t priority = 0;
  /// What the attempt will be there, suspended. The member is asked how it would complete it, for
  /// the Workload of a job must have the very pods of the job; nothing of it is made.
  ManifestText object;
  std::function<Result<std::vector<CopyPodSet>>(const std::string& completed)> pod_sets_of;
};

/// A copy as its member has it.
struct MemberCopy {
  DispatchKey key;
  std::string ns, name, uid;
  bool deleting = false;
  bool admitted = false;    // Admitted=True
  bool evicted = false;     // Evicted=True
  bool finished = false;    // Finished=True
  bool out_of_sync = false;  // finished, because it differs from its job (reason OutOfSync)
  WallTime admitted_since;  // by the member's clock
  std::string message;      // why it is not admitted, was evicted or is finished, in Kueue's words
};

struct CopyRemoval {
  std::string cluster, ns, name;
  std::string uid;  // only that one
};

class MemberQueues {
 public:
  virtual ~MemberQueues() = default;
  /// False if the member cannot be handed copies: no Kubernetes cluster, or one that was found to
  /// run no queue. It may be found otherwise with the next list.
  virtual bool RunsQueue(const std::string& cluster) const = 0;
  /// Makes the copy, and its namespace. Errors: kFailedPrecondition (no queue runs there),
  /// kAlreadyExists (something else has the name), kInvalidArgument and kPermissionDenied (the
  /// member refuses it), kUnavailable and kUnknown (try again).
  virtual void EnsureCopy(const CopyOrder& order, Callback<Done> done) = 0;
  /// Done once its deletion was taken, or it is gone. Errors: kPermissionDenied, kUnavailable.
  virtual void RemoveCopy(const CopyRemoval& removal, Callback<Done> done) = 0;
  /// All copies of this installation there, by a consistent read. kFailedPrecondition: no queue
  /// runs there.
  virtual void ListCopies(const std::string& cluster, Callback<std::vector<MemberCopy>> done) = 0;
};

}  // namespace muster
