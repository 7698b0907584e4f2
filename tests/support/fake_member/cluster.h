// Cluster: what an API server does with the objects of a fake member, and the work queue of its
// controllers. Every step is done at once and in order; only time is waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_member/answers.h"
#include "tests/support/fake_member/object_store.h"

namespace muster::fake {

enum class Writer {
  kClient,  // through the API
  kTest,    // the test itself, in the place of a user: its objects are foreign
  kSystem,  // the member's controllers
};

struct DeleteOptions {
  std::string uid, version;  // preconditions, "" = none
  std::string propagation;   // "" = Background
  std::int64_t grace_period_s = -1;
};

struct ClusterOptions {
  std::uint64_t seed = 1;
  int nodes = 4;
  std::vector<Resource> resources = DefaultResources();
  bool events = true;            // controllers write Kubernetes Events
  std::size_t history = 10000;   // changes of each resource kept for watches
  std::int64_t pod_stop_ms = 0;  // a deleted pod goes after that time
  /// Milliseconds since the epoch.
  std::function<std::int64_t()> now_ms;
};

/// Counters for tests, from which they check I1, I6 and that no job ran twice.
struct Counts {
  std::map<std::string, std::int64_t> requests;      // "create jobs", "watch pods", ...
  std::map<std::string, std::int64_t> pods_created;  // by "JOB-UID/ATTEMPT"
  std::vector<std::string> foreign_writes;           // "update jobs default/name"
  std::vector<std::string> overlaps;                 // two attempts of a job with active pods
};

/// Not thread-safe.
class Cluster {
 public:
  explicit Cluster(ClusterOptions options);

  ObjectStore& store() { return store_; }
  const ClusterOptions& options() const { return options_; }
  const Resource& resource(const Key& key) const {
    return store_.resources()[static_cast<std::size_t>(key.resource)];
  }
  std::int64_t now_ms() const { return options_.now_ms(); }
  std::string Now() const { return TimeText(now_ms()); }
  const std::string& incarnation() const { return incarnation_; }
  Counts& counts() { return counts_; }

  // The API. Each gives the answer a client gets.
  Answer Create(int resource, const std::string& ns, json::object object, Writer who,
                bool dry_run = false);
  /// `subresource`: "" or "status". A resourceVersion or uid in the object must be the current one.
  Answer Replace(const Key& key, json::object object, const std::string& subresource, Writer who,
                 bool dry_run = false);
  Answer Delete(const Key& key, const DeleteOptions& options, Writer who);

  // For controllers.
  /// Writes the object if it differs from the stored one.
  void Write(const Key& key, json::object object);
  void Remove(const Key& key, const std::string& propagation = "");
  std::string NewUid();
  /// Five characters, as generated names have.
  std::string NewSuffix();
  void Tell(const Key& about, const std::string& type, const std::string& reason,
            const std::string& message);
  /// Queues the object for its controller at that time.
  void WakeAt(const Key& key, std::int64_t due_ms) { timers_.push({due_ms, key}); }
  void Enqueue(const Key& key);
  /// Lets the controllers work until there is nothing to do now.
  void Settle();
  /// When Settle has work next; nullopt if nothing is scheduled.
  std::optional<std::int64_t> NextDue() const;
  /// If off, objects are stored and no controller acts on them.
  void SetControllers(bool on) { controllers_ = on; }
  /// The fields of a node that the scheduler reads.
  struct Node {
    std::string name, zone;
    json::object labels;
    bool open = false;  // ready, and not cordoned
  };
  /// In the order of their names.
  const std::vector<Node>& Nodes();

  /// Operations of a JSON patch that are applied to every write of a client, as a mutating webhook
  /// does; operations that cannot be applied are skipped. nullptr: none.
  void SetMutation(const json::array* operations) { mutation_ = operations; }

  /// At most so many pods in a namespace; -1 ends the limit.
  void SetPodQuota(const std::string& ns, std::int64_t pods);
  bool PodQuotaLeft(const std::string& ns) const;

  /// Makes a resource unknown, as if its CRD were not installed.
  void SetInstalled(int resource, bool installed);
  bool Installed(int resource) const { return missing_.count(resource) == 0; }

  /// Empties the cluster and makes it another one, with a new uid of kube-system.
  void Wipe();
  void Restore(const ObjectStore::Snapshot& snapshot);

 private:
  Answer CheckNamespace(const Resource& resource, const std::string& ns, const std::string& name);
  void Begin();
  void AddNodes();
  void Mutate(json::object& object, Writer who) const;
  void OnChange(const Change& change);
  void CountPod(const Change& change);
  void Reconcile(const Key& key);
  void ReconcileGarbage(const Key& key);
  void ReconcileNamespace(const Key& key);

  ClusterOptions options_;
  ObjectStore store_;
  std::mt19937_64 random_;
  std::string incarnation_;
  Counts counts_;
  bool controllers_ = true;
  const json::array* mutation_ = nullptr;
  std::set<int> missing_;
  std::map<std::string, std::int64_t> pod_quota_;
  std::optional<std::vector<Node>> nodes_;                    // read again when one has changed
  std::map<std::string, std::map<std::string, int>> active_;  // pods by job uid and attempt
  std::deque<Key> queue_;
  std::set<Key> queued_;
  using Timer = std::pair<std::int64_t, Key>;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
};

/// Fills in the API server's defaults and returns why it refuses the object; empty: it is accepted.
std::vector<Cause> DefaultAndValidate(const Resource& resource, json::object& object);
/// Why a change is refused, because it touches an immutable field; empty: it is accepted.
std::vector<Cause> ValidateChange(const Resource& resource, const json::object& before,
                                  const json::object& after);

// The controllers: each call reconciles one object.
void ReconcilePod(Cluster& cluster, const Key& key);
void ReconcileJob(Cluster& cluster, const Key& key);
void ReconcileJobSet(Cluster& cluster, const Key& key);
void ReconcilePyTorchJob(Cluster& cluster, const Key& key);
void ReconcileRayCluster(Cluster& cluster, const Key& key);
void ReconcileRayJob(Cluster& cluster, const Key& key);
void ReconcileLeaderWorkerSet(Cluster& cluster, const Key& key);

}  // namespace muster::fake
