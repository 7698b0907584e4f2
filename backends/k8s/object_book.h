// ObjectBook: what one session knows about configuration objects on its member: which kinds are
// served and under which resource names, the last outcome for each object, and reflectors that
// report when another client has changed one.
//
// Runs on the session's strand and ends with the session.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/k8s/reflector.h"
#include "backends/k8s/session.h"
#include "backends/member_objects.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

/// MemberObjects::Listen for all members. Thread-safe.
class ObjectListener {
 public:
  void Set(std::function<void(const std::string& cluster)> changed) {
    MutexLock lock(mutex_);
    changed_ = std::move(changed);
  }
  void Call(const std::string& cluster) {
    MutexLock lock(mutex_);
    if (changed_) changed_(cluster);
  }

 private:
  Mutex mutex_;
  std::function<void(const std::string& cluster)> changed_ MUSTER_GUARDED_BY(mutex_);
};

/// A kind as the member serves it.
struct ServedKind {
  std::string api_version, kind, resource;
  bool namespaced = true;
};

/// The outcome of an order that wrote nothing more. It holds while the object's resourceVersion and
/// the order stay the same.
struct CachedOutcome {
  std::string uid, resource_version, hash, owner;
  ApplyStrategy strategy;
  bool ours = false;
  Monotonic at;
  ManifestStatus status;
};

class ObjectBook : public std::enable_shared_from_this<ObjectBook> {
 public:
  /// `session` and `environment` must outlive it; `listener` is shared by all sessions.
  ObjectBook(Session& session, const ClientEnvironment& environment,
             std::shared_ptr<ObjectListener> listener);
  ~ObjectBook();

  /// Answers how the member serves the kind; kNotFound with a sentence if it does not. The member
  /// is asked if that is not known, and again if the answer "not served" is ten seconds old. `done`
  /// is called on the strand, perhaps before this returns.
  void Resolve(const ResourceRef& ref, Callback<ServedKind> done);
  /// A path of the kind was not found: Resolve asks the member again.
  void Doubt(const ResourceRef& ref) { groups_.erase(ApiVersionOf(ref)); }

  /// Null if there is no outcome, or it is too old.
  const CachedOutcome* LookAt(const ResourceRef& ref) const;
  void Keep(const ResourceRef& ref, CachedOutcome look) { looks_[ref] = std::move(look); }
  void Forget(const ResourceRef& ref) { looks_.erase(ref); }

  /// From now on the listener is called when objects of the kind with our mark change otherwise
  /// than NoteSeen and NoteRemoved have announced.
  void Follow(const ServedKind& kind, const ResourceRef& ref);
  void NoteSeen(const ServedKind& kind, const ResourceRef& ref, const json::object& object);
  /// We are about to delete the object or to remove our marks from it: its deletion is no news.
  void NoteRemoved(const ServedKind& kind, const std::string& uid);

 private:
  struct Group {
    std::map<std::string, ServedKind> kinds;  // by kind
    Monotonic asked;
  };
  struct FollowedKind;
  class Sink;

  static std::string ApiVersionOf(const ResourceRef& ref);
  void SettleSoon(FollowedKind* followed);
  void Tell();
  void Ask(const std::string& api_version);
  void Asked(const std::string& api_version, const Result<ApiResponse>& answer);
  Result<ServedKind> Find(const Group& group, const ResourceRef& ref) const;
  static std::string FollowedKey(const ServedKind& kind) {
    return kind.api_version + "/" + kind.resource;
  }

  /// A call of Resolve that waits for the member's answer.
  struct PendingQuery {
    ResourceRef ref;
    Callback<ServedKind> done;
  };

  Session& session_;
  const ClientEnvironment environment_;
  const std::shared_ptr<ObjectListener> listener_;
  std::map<std::string, Group> groups_;  // by apiVersion
  /// By apiVersion.
  std::map<std::string, std::vector<PendingQuery>> waiting_;
  std::map<ResourceRef, CachedOutcome> looks_;
  std::map<std::string, std::unique_ptr<FollowedKind>> followed_;
};

}  // namespace muster::k8s
