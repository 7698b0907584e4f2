#include "schedd/core/cycle.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "schedd/core/flavor_plan.h"
#include "schedd/core/gates.h"
#include "schedd/core/member_room.h"
#include "schedd/core/workload_class.h"

namespace muster::core {
namespace {

constexpr const char* kTakenByAnother = "Workload no longer fits after processing another workload";

// What is worked out once for all workloads of a class.
struct ClassState {
  bool parked = false;
  std::optional<GateVerdict> gate;
  std::unique_ptr<FlavorPlan> plan;
  JobPtr first;  // keeps the pod sets that `plan` refers to
  std::vector<std::pair<const FlavorChoice*, std::unique_ptr<MemberFit>>> fits;
};

// One ClusterQueue's part of the cycle.
struct QueueState {
  const QueueHeads* heads = nullptr;
  const ClusterQueue* spec = nullptr;  // null: it does not exist
  std::optional<GateVerdict> gate;
  std::size_t next = 0;                                 // of heads->jobs
  ClassState* head_class = nullptr;                     // of the job at `next`
  std::unordered_map<std::string, ClassState> classes;  // looked up, never iterated
  std::optional<NotAdmitted> waiting;  // verdict of the head, if it is to be tried again
  const JobPtr& head() const { return heads->jobs[next]; }
  bool strict() const { return spec != nullptr && spec->strategy == QueueingStrategy::kStrictFifo; }
};

// A head that had quota at the start of the round.
struct Entry {
  QueueState* queue = nullptr;
  const FlavorChoice* choice = nullptr;
  std::int32_t level = 0;
};

bool EntryBefore(const Entry& a, const Entry& b) {
  if (a.level != b.level) return a.level < b.level;
  return Before(*a.queue->head(), *b.queue->head());
}

class Cycle {
 public:
  Cycle(const Snapshot& snapshot, const CycleInput& input)
      : snapshot_(snapshot), input_(input), usage_(snapshot.usage), room_(snapshot.clusters) {
    queues_.reserve(snapshot.heads.size());
    for (const auto& heads : snapshot.heads) {
      QueueState& queue = queues_.emplace_back();
      queue.heads = &heads;
      queue.gate = QueueGate(*snapshot.config, usage_.tree(), heads.cluster_queue);
      const auto spec = snapshot.config->cluster_queues.find(heads.cluster_queue);
      if (spec != snapshot.config->cluster_queues.end()) queue.spec = &spec->second;
    }
    for (auto& queue : queues_) active_.push_back(&queue);
  }

  Plan Run() {
    while (true) {
      const bool heads_missing = Advance();
      if (active_.empty() && !heads_missing) break;
      // Without the next head of some queue this would not be the round that Kueue's cycle is.
      if (heads_missing || plan_.heads_evaluated >= input_.budget.heads) {
        plan_.more_work = true;
        break;
      }
      Round();
    }
    for (auto& queue : queues_) {
      if (queue.waiting) plan_.not_admitted.push_back(std::move(*queue.waiting));
    }
    return std::move(plan_);
  }

 private:
  // Moves each queue to its next head and drops the finished ones. True if a queue has heads that
  // this snapshot does not show.
  bool Advance() {
    bool heads_missing = false;
    const auto finished = [&](QueueState* queue) {
      if (queue->heads == nullptr) return true;  // blocked
      const auto& jobs = queue->heads->jobs;
      for (; queue->next < jobs.size(); ++queue->next) {
        queue->head_class = &ClassOf(*queue, jobs[queue->next]);
        if (!queue->head_class->parked) return false;
      }
      heads_missing = heads_missing || queue->heads->more;
      return true;
    };
    std::erase_if(active_, finished);
    return heads_missing;
  }

  ClassState& ClassOf(QueueState& queue, const JobPtr& job) {
    key_.clear();
    AppendClassKey(*job, &key_);
    const auto [it, fresh] = queue.classes.try_emplace(key_);
    ClassState& state = it->second;
    if (!fresh) return state;
    state.first = job;
    if (queue.gate) return state;
    state.gate = JobGate(*snapshot_.config, *queue.spec, *job);
    static const PodSets kNone;
    state.plan = std::make_unique<FlavorPlan>(*snapshot_.config, usage_.tree(), *queue.spec,
                                              job->pod_sets ? *job->pod_sets : kNone);
    return state;
  }

  void Round() {
    entries_.clear();
    for (QueueState* queue : active_) Nominate(queue);
    std::sort(entries_.begin(), entries_.end(), EntryBefore);
    for (const Entry& entry : entries_) Process(entry);
  }

  void Nominate(QueueState* queue) {
    ++plan_.heads_evaluated;
    ClassState& of = *queue->head_class;
    if (queue->gate) {
      Refuse(queue, queue->gate->reason, queue->gate->message, false);
    } else if (of.gate) {
      Refuse(queue, of.gate->reason, of.gate->message, true);
    } else {
      Entry entry{queue, nullptr, 0};
      entry.choice = of.plan->Choose(usage_, &entry.level);
      if (entry.choice != nullptr) {
        entries_.push_back(entry);
        return;
      }
      Misfit misfit = of.plan->Diagnose(usage_, false);
      Refuse(queue, misfit.reason, std::move(misfit.message), false);
    }
  }

  // Parks the head's class, or blocks a StrictFIFO queue unless the head is to be set aside.
  void Refuse(QueueState* queue, Reason reason, std::string message, bool set_aside) {
    const bool block = queue->strict() && !set_aside;
    plan_.not_admitted.push_back({queue->head(), reason, std::move(message), !block, block});
    queue->waiting.reset();
    queue->head_class->parked = true;
    if (block) queue->heads = nullptr;
  }

  void Process(const Entry& entry) {
    QueueState* queue = entry.queue;
    const NodeIndex node = queue->head_class->plan->queue();
    for (const Charge& charge : entry.choice->charges) {
      if (usage_.Fits(node, charge.pair, charge.amount)) continue;
      queue->waiting =
          NotAdmitted{queue->head(), Reason::kWaitingForQuota, kTakenByAnother, false, false};
      return;
    }
    const JobPtr& job = queue->head();
    std::string cluster;
    if (room_.size() > 0) {
      const MemberFit& fit = FitOf(*queue->head_class, entry.choice);
      const std::size_t member = fit.Pick(room_, job->uid, input_.seed);
      if (member == MemberFit::kNone) {
        PlacementChoice refusal = fit.Refusal(room_);
        Refuse(queue, refusal.reason, std::move(refusal.message), false);
        return;
      }
      fit.Charge(&room_, member);
      cluster = room_.member(member).facts->name;
    }
    for (const Charge& charge : entry.choice->charges) {
      usage_.Add(node, charge.pair, charge.amount);
    }
    plan_.admits.push_back({job, entry.choice->admission, std::move(cluster), entry.level});
    queue->waiting.reset();
    ++queue->next;
  }

  const MemberFit& FitOf(ClassState& of, const FlavorChoice* choice) {
    for (const auto& [known, fit] : of.fits) {
      if (known == choice) return *fit;
    }
    static const PodSets kNone;
    PlacementDemand demand;
    demand.pod_sets = of.first->pod_sets ? of.first->pod_sets.get() : &kNone;
    demand.admission = choice->admission.get();
    of.fits.emplace_back(choice, std::make_unique<MemberFit>(*snapshot_.config, room_, demand));
    return *of.fits.back().second;
  }

  const Snapshot& snapshot_;
  const CycleInput& input_;
  Usage usage_;
  MemberRoom room_;
  std::vector<QueueState> queues_;  // not resized once built: pointers into it are kept
  std::vector<QueueState*> active_;
  std::vector<Entry> entries_;
  std::string key_;  // reused buffer
  Plan plan_;
};

}  // namespace

Plan Decide(const Snapshot& snapshot, const CycleInput& input) {
  return Cycle(snapshot, input).Run();
}

}  // namespace muster::core
