// MemberObjects: configuration objects on member clusters, one at a time (rules P23 to P27).
// Implementation: backends/k8s. Who calls keeps the order, the strategy and the record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/apply_strategy.h"
#include "schedd/model/work.h"

namespace muster {

/// Whose an object on a member is: the placement, as "ns/name" or "/name", of this installation.
/// Written on the object as an annotation; KubeFleet's AppliedWork.
struct ObjectOwner {
  std::string placement;
};

/// "Make this object as the manifest says", as far as the strategy lets it.
struct ObjectOrder {
  std::string cluster;
  ResourceRef ref;
  std::string manifest;  // JSON text, final
  std::string hash;      // of it
  ObjectOwner owner;
  ApplyStrategy strategy;
  ManifestStatus before;  // what is on record
};

/// What is on a member's end of one manifest now: what to record. `since`, `observed_at` and
/// `first_differed_at` are the caller's to set.
struct ObjectOutcome {
  ManifestStatus status;
  bool wrote = false;  // something was changed on the member
};

struct ObjectRemoval {
  std::string cluster;
  ResourceRef ref;
  ObjectOwner owner;
  std::string remote_uid;  // "": whichever is there and ours
  bool abandon = false;    // only our marks are taken off
};

class MemberObjects {
 public:
  virtual ~MemberObjects() = default;
  /// True if the member takes configuration objects at all: a Kubernetes cluster does.
  virtual bool TakesObjects(const std::string& cluster) const = 0;
  /// Looks, and writes if it must. Idempotent. An outcome is what the member says, refusals too;
  /// the error is kUnavailable or kUnknown if it says nothing: try again later.
  virtual void Apply(const ObjectOrder& order, Callback<ObjectOutcome> done) = 0;
  /// True once the object is gone or not ours (any more); false while it is being deleted.
  /// Idempotent; errors as Apply, and kPermissionDenied if the member refuses it.
  virtual void Remove(const ObjectRemoval& removal, Callback<bool> done) = 0;
  /// Calls `changed` with the member's name when objects that carry our mark may have changed
  /// there. From any thread, may come too often; must only post. At most one listener.
  virtual void Listen(std::function<void(const std::string& cluster)> changed) = 0;
};

}  // namespace muster
