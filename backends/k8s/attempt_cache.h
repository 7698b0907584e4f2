// AttemptCache: what one member holds of ours, as its reflectors told it: objects and pods as small
// plain values, and what of them has not been told on yet.
//
// Thread-safe. Writers are the reflectors of one session; readers are anybody. Bounded by what the
// member holds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/k8s/status/status.h"

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

  // Objects. A list of one kind replaces what is held of that kind: BeginList, Put..., EndList; a
  // second BeginList forgets the pages since the first.
  void BeginList(const KindInfo& kind);
  void PutListed(ObjectState object);
  void EndList(const KindInfo& kind);
  void Put(ObjectState object);
  /// Deleted on the member; `last` is its last state.
  void Remove(const ObjectState& last);

  // Pods, likewise. Those without an attempt are not kept.
  void BeginPods();
  void PutListedPod(PodState pod);
  void EndPods();
  void PutPod(PodState pod);
  void RemovePod(const PodState& last);

  /// What changed since it was last taken, at most `limit` objects, oldest change first; the
  /// observation of one object never goes back. Ends that lack an exit code are left out until
  /// their pods were asked for (AwaitsPods).
  std::vector<Observation> TakeChanges(std::size_t limit, WallTime now);
  /// Attempts whose object has failed and whose pods are not known well enough to say how, each
  /// once, with the namespace.
  struct Asking {
    AttemptLabels attempt;
    std::string ns, uid;
  };
  std::vector<Asking> AwaitsPods();
  /// They were asked for: the end is told now, with what is known.
  void PodsAsked(const std::string& uid);

  /// Everything, as observations.
  std::vector<Observation> All(WallTime now) const;
  std::optional<ObjectState> Find(const std::string& uid) const;
  std::optional<ObjectVersion> VersionOf(const std::string& uid) const;
  /// The attempt's object: of several with its labels the one with our finalizer, else the first.
  std::optional<ObjectState> FindAttempt(const AttemptLabels& attempt) const;
  /// In order; only those in the namespace of the attempt's object.
  std::vector<PodState> PodsOf(const AttemptLabels& attempt, const std::string& ns) const;
  /// Whether it has objects of a kind.
  bool Holds(const KindInfo& kind) const;
  /// Whether it has objects in a namespace that have not ended, or whose end is not on record yet.
  bool NeedsNamespace(const std::string& ns) const;

 private:
  struct Entry {
    ObjectState state;
    std::uint64_t listed = 0;  // the list that held it last
    bool asked = false;        // its pods were asked for, or need not be
    bool asking = false;
    bool told_end = false;
  };
  struct Change {
    std::string uid;
    std::optional<Observation> last;  // of what is no longer held
  };
  using Pods = std::vector<PodState>;

  Observation ObserveLocked(const ObjectState& state, WallTime now) const;
  bool LacksExitLocked(const Entry& entry) const;
  void PutLocked(ObjectState object, std::uint64_t list);
  void ForgetLocked(const std::string& uid);
  void MarkLocked(const std::string& uid);
  void MarkAttemptLocked(const AttemptLabels& attempt);
  void KeepGoneLocked(PodState pod);
  void PutPodLocked(PodState pod, std::map<AttemptLabels, Pods>* pods);

  const std::string cluster_, incarnation_;
  mutable std::mutex mutex_;                        // guards everything below
  std::unordered_map<std::string, Entry> objects_;  // by uid
  std::map<AttemptLabels, std::vector<std::string>> by_attempt_;
  std::map<AttemptLabels, Pods> pods_, listed_pods_;
  std::uint64_t lists_ = 0;
  std::map<const KindInfo*, std::uint64_t> listing_;  // the list under way of each kind
  std::vector<Change> changes_;                       // in the order of their first mark
  std::set<std::string> marked_;                      // uids in changes_ without `last`
};

}  // namespace muster::k8s
