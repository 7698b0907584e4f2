// ObjectBook: what one session knows for the configuration objects on its member: which kinds are
// served and under which names, what was seen of each object last, and reflectors that tell when
// somebody else has changed one.
//
// Runs on the session's strand and goes with the session.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/k8s/reflector.h"
#include "backends/k8s/session.h"
#include "backends/member_objects.h"

namespace muster::k8s {

/// MemberObjects::Listen for all members. Thread-safe.
class ObjectListener {
 public:
  void Set(std::function<void(const std::string& cluster)> changed) {
    std::lock_guard lock(mutex_);
    changed_ = std::move(changed);
  }
  void Call(const std::string& cluster) {
    std::lock_guard lock(mutex_);
    if (changed_) changed_(cluster);
  }

 private:
  std::mutex mutex_;
  std::function<void(const std::string& cluster)> changed_;  // guarded by mutex_
};

/// A kind as the member serves it.
struct ServedKind {
  std::string api_version, kind, resource;
  bool namespaced = true;
};

/// What an order came to without a write: holds while the object and the order stay as they are.
struct ObjectLook {
  std::string uid, resource_version, hash, owner;
  ApplyStrategy strategy;
  bool ours = false;
  Monotonic at;
  ManifestStatus status;
};

class ObjectBook : public std::enable_shared_from_this<ObjectBook> {
 public:
  /// Both outlive it; `listener` is shared by all sessions.
  ObjectBook(Session& session, const ClientEnvironment& environment,
             std::shared_ptr<ObjectListener> listener);
  ~ObjectBook();

  /// How the member serves the kind; kNotFound with a sentence if it does not. Asks the member
  /// where it is not known, and again for what was not served ten seconds ago. `done` is called on
  /// the strand, perhaps before this returns.
  void Resolve(const ResourceRef& ref, Callback<ServedKind> done);
  /// A path of it was not found: the member is asked again.
  void Doubt(const ResourceRef& ref) { groups_.erase(ApiVersionOf(ref)); }

  /// Null if nothing is known that still holds.
  const ObjectLook* LookAt(const ResourceRef& ref) const;
  void Keep(const ResourceRef& ref, ObjectLook look) { looks_[ref] = std::move(look); }
  void Forget(const ResourceRef& ref) { looks_.erase(ref); }

  /// From now on the listener is called when objects of the kind with our mark change otherwise
  /// than to what NoteSeen was told.
  void Follow(const ServedKind& kind, const ResourceRef& ref);
  void NoteSeen(const ServedKind& kind, const ResourceRef& ref, const json::object& object);
  /// We are about to delete it, or to let go of it.
  void NoteRemoved(const ServedKind& kind, const std::string& uid);

 private:
  struct Group {
    std::map<std::string, ServedKind> kinds;  // by kind
    Monotonic asked;
  };
  struct Followed;
  class Sink;

  static std::string ApiVersionOf(const ResourceRef& ref);
  void SettleSoon(Followed* followed);
  void Tell();
  void Ask(const std::string& api_version);
  void Asked(const std::string& api_version, const Result<ApiResponse>& answer);
  Result<ServedKind> Find(const Group& group, const ResourceRef& ref) const;
  static std::string FollowedKey(const ServedKind& kind) {
    return kind.api_version + "/" + kind.resource;
  }

  struct Waiting {
    ResourceRef ref;
    Callback<ServedKind> done;
  };

  Session& session_;
  const ClientEnvironment environment_;
  const std::shared_ptr<ObjectListener> listener_;
  std::map<std::string, Group> groups_;                  // by apiVersion
  std::map<std::string, std::vector<Waiting>> waiting_;  // for an answer about an apiVersion
  std::map<ResourceRef, ObjectLook> looks_;
  std::map<std::string, std::unique_ptr<Followed>> followed_;
};

}  // namespace muster::k8s
