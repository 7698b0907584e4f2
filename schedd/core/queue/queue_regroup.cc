// PendingQueues: workloads whose class changes because placements change.
//
// The placement that governs a workload is part of its scheduling key (rule A14), so a new, removed
// or edited placement can move workloads to another class. Computing all keys anew would cost all
// that waits. PlacementScope names the workloads that a changed placement may govern: by namespace
// or job name in its selectors, or by the placement's name in an annotation of a job, LocalQueue,
// ClusterQueue or namespace. Only their keys are computed anew.
#include <set>

#include "schedd/core/queue/pending_queues_impl.h"

namespace muster::core {
namespace {

// The workloads whose governing placement may differ between two configurations.
class PlacementScope {
 public:
  PlacementScope(const ConfigView& before, const ConfigView& after)
      : before_(before), after_(after), by_labels_(!after.placements->Selecting("").empty()) {
    if (before.placements == after.placements) return;
    const auto& old = before.placements->all();
    const auto& now = after.placements->all();
    for (const auto& [key, placement] : old) {
      const auto found = now.find(key);
      if (found == now.end()) {
        names_.insert(placement->name);
        Add(*placement);
      } else if (found->second != placement && found->second->selectors != placement->selectors) {
        Add(*placement);
        Add(*found->second);
      }
    }
    for (const auto& [key, placement] : now) {
      if (old.contains(key)) continue;
      names_.insert(placement->name);
      Add(*placement);
    }
  }

  // True if all workloads of this namespace, LocalQueue and ClusterQueue are in the scope. The
  // placement of the LocalQueue's annotation comes before that of the ClusterQueue and of the
  // namespace.
  bool Covers(const std::string& ns, const std::string& local, const std::string& queue) const {
    if (everywhere_ || namespaces_.contains(ns)) return true;
    const auto named = [&](const ConfigView& config) -> const std::string& {
      static const std::string kNone;
      const auto of_local = config.local_queues.find({ns, local});
      if (of_local != config.local_queues.end() && !of_local->second.placement.empty())
        return of_local->second.placement;
      const auto of_queue = config.cluster_queues.find(queue);
      if (of_queue != config.cluster_queues.end() && !of_queue->second.placement.empty())
        return of_queue->second.placement;
      const auto space = config.namespaces.find(ns);
      return space == config.namespaces.end() ? kNone : space->second.placement;
    };
    if (by_labels_ && LabelsOf(before_, ns) != LabelsOf(after_, ns)) return true;
    const std::string& then = named(before_);
    const std::string& now = named(after_);
    return then != now || (!now.empty() && names_.contains(now));
  }

  // Names of single jobs of this namespace that are in the scope; null: none.
  const std::set<std::string>* JobsOf(const std::string& ns) const {
    const auto found = jobs_.find(ns);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  // True if the job's own annotation names a placement that came or went.
  bool Names(const JobRecord& job) const {
    return job.placement != nullptr && names_.contains(job.placement->placement);
  }
  bool NamesAny() const { return !names_.empty(); }

 private:
  static const LabelMap& LabelsOf(const ConfigView& config, const std::string& ns) {
    static const LabelMap kNone;
    const auto space = config.namespaces.find(ns);
    return space == config.namespaces.end() ? kNone : space->second.labels;
  }

  // Adds the workloads that a placement selects: in a namespace by job name or all, or whole
  // namespaces.
  void Add(const Placement& placement) {
    for (const ResourceSelector& selector : placement.selectors) {
      if (!placement.ns.empty()) {
        if (selector.name.empty()) {
          namespaces_.insert(placement.ns);
        } else {
          jobs_[placement.ns].insert(selector.name);
        }
      } else if (selector.kind == "Namespace") {
        if (selector.name.empty()) {
          everywhere_ = true;
        } else {
          namespaces_.insert(selector.name);
        }
      }
    }
  }

  const ConfigView& before_;
  const ConfigView& after_;
  const bool by_labels_;  // some placement selects namespaces by their labels
  bool everywhere_ = false;
  std::set<std::string> namespaces_;
  std::map<std::string, std::set<std::string>> jobs_;  // by namespace: names that are selected
  std::set<std::string> names_;                        // of placements that came or went
};

}  // namespace

// A workload that moves becomes active: a verdict about its former equals says nothing about it
// now.
void PendingQueues::Impl::Regroup(const ConfigView& before) {
  const PlacementScope reach(before, *config);
  for (auto& [name, queue] : queues) {
    std::vector<JobPtr> moved;
    const auto look = [&](const QueueClass& of) {
      if (of.group == nullptr) return;
      const JobRecord& head = *of.head().job;
      const bool all = reach.Covers(head.ns, head.local_queue, name);
      const auto* single = reach.JobsOf(head.ns);
      if (!all && single == nullptr && !reach.NamesAny()) return;
      for (const Seat& seat : of.members) {
        const JobRecord& job = *seat.job;
        const bool asked =
            all || (single != nullptr && single->contains(job.name)) || reach.Names(job);
        if (asked && HashOf(job) != *of.group->key) moved.push_back(seat.job);
      }
    };
    for (const QueueClass* of : queue.active()) look(*of);
    for (const QueueClass* of : queue.Others()) look(*of);
    for (const JobPtr& job : moved) {
      if (queue.blocked_by == job->id) queue.blocked_by = JobId{};
      TakeOut(job->id);
      Join(queue, job);
    }
    if (!moved.empty()) UpdateReady(queue);
  }
}

}  // namespace muster::core
