// AttemptCache: the objects and pods of this Muster on one member, as small plain values that the
// reflectors keep up to date, and the observations of them that the sink has not received yet.
//
// Thread-safe. Only the reflectors of one session write; any thread may read. Its size is bounded
// by the number of objects and pods on the member.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/k8s/status/status.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

/// ObjectState::resource_version and generation.
struct ObjectVersion {
  std::string resource_version;
  std::int64_t generation = 0;
};

class AttemptCache {
 public:
  /// `cluster` and `incarnation` go into every observation.
  AttemptCache(std::string cluster, std::string incarnation);

  /// Objects. A list of one kind replaces the objects of that kind: BeginList, PutListed for each,
  /// EndList. A second BeginList forgets the pages since the first.
  void BeginList(const KindInfo& kind);
  void PutListed(ObjectState object);
  void EndList(const KindInfo& kind);
  void Put(ObjectState object);
  /// The object was deleted on the member; `last` is its last state.
  void Remove(const ObjectState& last);

  /// Pods, by the same three calls. A pod without the labels of an attempt is not kept.
  void BeginPods();
  void PutListedPod(PodState pod);
  void EndPods();
  void PutPod(PodState pod);
  void RemovePod(const PodState& last);

  /// The observations that have changed since they were last taken, at most `limit`, in the order
  /// of the changes; observations of one object never go back in time. A failed object without an
  /// exit code is left out until its pods were read (AwaitsPods, PodsAsked).
  std::vector<Observation> TakeChanges(std::size_t limit, WallTime now);
  /// An attempt whose object has failed and whose known pods do not explain how.
  struct FailedAttempt {
    AttemptLabels attempt;
    std::string ns, uid;
  };
  /// The failed attempts whose pods the caller must read now; each is returned once.
  std::vector<FailedAttempt> AwaitsPods();
  /// The pods were read, or cannot be: the end is reported with what is known.
  void PodsAsked(const std::string& uid);

  /// One observation of every object.
  std::vector<Observation> All(WallTime now) const;
  std::optional<ObjectState> Find(const std::string& uid) const;
  std::optional<ObjectVersion> VersionOf(const std::string& uid) const;
  /// The attempt's object: of several with its labels the one with our finalizer, else the first.
  std::optional<ObjectState> FindAttempt(const AttemptLabels& attempt) const;
  /// The attempt's pods in the namespace of its object, in order; pods that are gone are left out.
  std::vector<PodState> PodsOf(const AttemptLabels& attempt, const std::string& ns) const;
  /// Whether the member has objects of a kind.
  bool Holds(const KindInfo& kind) const;
  /// Whether a namespace has objects that run, or whose end is not on record yet.
  bool NeedsNamespace(const std::string& ns) const;

 private:
  struct Entry {
    ObjectState state;
    /// The number of the last list that contained it.
    std::uint64_t listed = 0;
    /// Its pods were read, or cannot be.
    bool asked = false;
    /// AwaitsPods has returned it.
    bool asking = false;
    /// TakeChanges has returned its end.
    bool told_end = false;
  };
  /// An entry of changes_.
  struct Change {
    std::string uid;
    /// The final observation of an object that is no longer in objects_. None: the object is there,
    /// and TakeChanges observes it when it takes the change.
    std::optional<Observation> last;
  };
  using Pods = std::vector<PodState>;

  Observation ObserveLocked(const ObjectState& state, WallTime now) const MUSTER_REQUIRES(mutex_);
  bool LacksExitLocked(const Entry& entry) const MUSTER_REQUIRES(mutex_);
  void PutLocked(ObjectState object, std::uint64_t list) MUSTER_REQUIRES(mutex_);
  void ForgetLocked(const std::string& uid) MUSTER_REQUIRES(mutex_);
  void MarkLocked(const std::string& uid) MUSTER_REQUIRES(mutex_);
  void MarkAttemptLocked(const AttemptLabels& attempt) MUSTER_REQUIRES(mutex_);
  void KeepGoneLocked(PodState pod) MUSTER_REQUIRES(mutex_);
  void PutPodLocked(PodState pod, std::map<AttemptLabels, Pods>* pods) MUSTER_REQUIRES(mutex_);

  const std::string cluster_, incarnation_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Entry> objects_ MUSTER_GUARDED_BY(mutex_);  // by uid
  std::map<AttemptLabels, std::vector<std::string>> by_attempt_ MUSTER_GUARDED_BY(mutex_);
  std::map<AttemptLabels, Pods> pods_ MUSTER_GUARDED_BY(mutex_);
  std::map<AttemptLabels, Pods> listed_pods_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t lists_ MUSTER_GUARDED_BY(mutex_) = 0;
  // The number of the list under way of each kind.
  std::map<const KindInfo*, std::uint64_t> listing_ MUSTER_GUARDED_BY(mutex_);
  /// In the order in which the objects changed first.
  std::vector<Change> changes_ MUSTER_GUARDED_BY(mutex_);  // in the order of their first mark
  // The uids in changes_ that have no `last`.
  std::set<std::string> marked_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::k8s
