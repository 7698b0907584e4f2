// MemberObjects: writes configuration objects on member clusters, one object per call (rules P23 to
// P27). Implementation: backends/k8s. The caller (schedd/propagation) decides the order and the
// apply strategy, and keeps the record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/apply_strategy.h"
#include "schedd/model/work.h"

namespace muster {

/// The placement that an object on a member belongs to, as "ns/name" or "/name" (cluster-scoped),
/// of this installation. It is written on the object as an annotation, where KubeFleet has an
/// AppliedWork.
struct ObjectOwner {
  std::string placement;
};

/// The order "make this object as the manifest says", as far as the strategy permits.
struct ObjectOrder {
  std::string cluster;
  ResourceRef ref;
  /// The JSON text to apply, overrides included.
  std::string manifest;
  /// Of `manifest`.
  std::string hash;
  ObjectOwner owner;
  ApplyStrategy strategy;
  /// The status of this manifest that is on record.
  ManifestStatus before;
};

/// The state of one manifest on a member after a call, to be recorded. The caller sets `since`,
/// `observed_at` and `first_differed_at`.
struct ObjectOutcome {
  ManifestStatus status;
  bool wrote = false;  // something was changed on the member
};

struct ObjectRemoval {
  std::string cluster;
  ResourceRef ref;
  ObjectOwner owner;
  /// Only the object with this uid; "": whichever object of the name is ours.
  std::string remote_uid;
  /// True: only our marks are taken off the object, which stays.
  bool abandon = false;
};

class MemberObjects {
 public:
  virtual ~MemberObjects() = default;
  /// True if the member can hold configuration objects at all, that is, if it is a Kubernetes
  /// cluster.
  virtual bool TakesObjects(const std::string& cluster) const = 0;
  /// Compares the object with the manifest and writes it if the strategy says so. Idempotent. A
  /// refusal by the member is an outcome, not an error; the error is kUnavailable or kUnknown if
  /// the member does not answer, and the caller tries again later.
  virtual void Apply(const ObjectOrder& order, Callback<ObjectOutcome> done) = 0;
  /// True once the object is gone or is not ours (any more); false while it is being deleted.
  /// Idempotent; errors as for Apply, and kPermissionDenied if the member refuses the deletion.
  virtual void Remove(const ObjectRemoval& removal, Callback<bool> done) = 0;
  /// Calls `changed` with the member's name when objects there that carry our mark may have
  /// changed. The call comes from any thread, may come too often, and must only post. At most one
  /// listener.
  virtual void Listen(std::function<void(const std::string& cluster)> changed) = 0;
};

}  // namespace muster
