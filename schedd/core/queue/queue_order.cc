// PendingQueues: entering, leaving, requeueing and blocking (rules A12, A13, A15). Views and
// flushes are in queue_views.cc, changes of placements in queue_regroup.cc.
//
// A workload enters among its equals (Join), or aside if its back-off is not over. After a decision
// it goes back (PutBack):
//
//   - as active, if its back-off is over and either the reason sends it back at once, its record
//     changed meanwhile, a flush came meanwhile, or its flavor search has flavors left;
//   - parked with all of its equals, for NoFit and PreemptionNoCandidates;
//   - parked with its class, for a closed gate;
//   - else aside alone.
//
// Blocking: Kueue tries a head that goes straight back in every cycle. Here the plan marks it with
// `block` if another try could not end otherwise. Its queue is then not ready until something is
// admitted in its tree (Unblock), a flush comes, or the head changes.
#include "schedd/core/queue/queue_order.h"

#include "schedd/base/check.h"
#include "schedd/core/queue/pending_queues_impl.h"

namespace muster::core {

bool Before(const JobRecord& a, const JobRecord& b, const AdmissionSettings& settings) {
  const auto seat = [&](const JobRecord& job) {
    return SeatOf(JobPtr(JobPtr(), &job), settings);  // an alias that owns nothing
  };
  return Before(seat(a), seat(b));
}

std::int32_t TierOf(const ConfigView& config, const JobRecord& job) {
  const auto found = config.local_queues.find({job.ns, job.local_queue});
  return found == config.local_queues.end() ? 1 : found->second.partition.tier;
}

bool Before(const JobRecord& a, const JobRecord& b, const ConfigView& config,
            const AdmissionSettings& settings) {
  const std::int32_t first = TierOf(config, a), second = TierOf(config, b);
  return first != second ? first > second : Before(a, b, settings);
}

// A workload that moved to another ClusterQueue leaves the old queue first.
void PendingQueues::Impl::Add(JobPtr job, WallTime now) {
  const Place* place = PlaceOf(job->id);
  if (place != nullptr && place->queue->name == job->cluster_queue) {
    AddAgain(*place->queue, *place, std::move(job), now);
    return;
  }
  if (place != nullptr) {
    PendingQueue& left = *place->queue;
    Forget(left, job->id);
    TakeOut(job->id);
    UpdateReady(left);
    EraseIfIdle(left);
  }
  PendingQueue& queue = QueueOf(job->cluster_queue);
  Enter(queue, std::move(job), false, now);
}

// A newer record of a workload in the same queue. Parked workloads move only for a change that may
// help them (EqualToQueue); a changed spec also ends its role as sticky preemptor and its scan.
void PendingQueues::Impl::AddAgain(PendingQueue& queue, const Place& place, JobPtr job,
                                   WallTime now) {
  const JobPtr before = place.job();
  const PendingState standing = place.standing();
  const JobId id = job->id;
  if (standing == PendingState::kInflight && queue.inflight_was == nullptr)
    queue.inflight_was = before;
  const bool equal = EqualToQueue(*before, *job);
  if (standing == PendingState::kInflight || (standing == PendingState::kParked && equal)) {
    places[id] = queue.Replace(place, SeatFor(std::move(job)));
    return;
  }
  if (!equal) {
    queue.last.erase(id);
    if (queue.blocked_by == id) queue.blocked_by = JobId{};
  }
  if (queue.preemptor == id && !EqualSpec(*queue.preemptor_was, *job)) {
    queue.preemptor = JobId{};
    queue.preemptor_was.reset();
  }
  TakeOut(id);
  Enter(queue, std::move(job), standing == PendingState::kActive, now);
}

// As in Kueue, an active workload whose back-off begins stays active until it is tried.
void PendingQueues::Impl::Enter(PendingQueue& queue, JobPtr job, bool was_active, WallTime now) {
  if (was_active || BackoffExpired(*job, now)) {
    Join(queue, std::move(job));
  } else {
    SetAside(queue, std::move(job), true);
  }
  UpdateReady(queue);
}

// Notes the sticky preemptor (rule A13) and where the flavor search is to resume.
void PendingQueues::Impl::Remember(PendingQueue& queue, const JobPtr& job, RequeueReason reason,
                                   LastAssignmentPtr last) {
  if (reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPendingMigration) {
    queue.preemptor = job->id;
    queue.preemptor_was = job;
  }
  if (last != nullptr && last->Pending()) {
    queue.last[job->id] = std::move(last);
  } else {
    queue.last.erase(job->id);
  }
}

// `evaluated` is the record that was decided on, `newest` the present one; the workload may still
// be in the queue. False if it stays where it is.
bool PendingQueues::Impl::PutBack(PendingQueue& queue, const JobPtr& evaluated, JobPtr newest,
                                  RequeueReason reason, WallTime now) {
  const JobId id = newest->id;
  const Place* here = PlaceOf(id);
  const bool changed = evaluated != newest && !EqualToQueue(*evaluated, *newest);
  const bool expired = BackoffExpired(*newest, now);
  // A flush that came while the workload was decided may have concerned it.
  const bool again = RequeuesAtOnce(reason, queue.rules.strict) || changed ||
                     queue.flush_cycle >= queue.pop_cycle || queue.last.contains(id);
  if (expired && again) {
    if (here != nullptr && here->standing() == PendingState::kActive) return false;
    TakeOut(id);
    Join(queue, std::move(newest));
    return true;
  }
  if (here != nullptr && here->standing() == PendingState::kParked) return false;
  const bool misfit = queue.rules.hashing && (reason == RequeueReason::kNoFit ||
                                              reason == RequeueReason::kPreemptionNoCandidates);
  const std::string hash = misfit ? HashOf(*newest) : std::string();
  if (expired && (misfit || reason == RequeueReason::kGated)) {
    if (here == nullptr) Join(queue, newest);
    if (!misfit) queue.ParkClass(PlaceOf(id)->of);
  } else {
    TakeOut(id);
    SetAside(queue, std::move(newest), !expired);
  }
  if (misfit) queue.ParkGroup(hash, !queue.rules.strict);
  return true;
}

// Only the present head can block its queue.
void PendingQueues::Impl::Block(PendingQueue& queue, JobId id, RequeueReason reason) {
  const Seat* head = queue.Head(StickyOf(queue));
  if (head == nullptr || head->job->id != id) return;
  queue.blocked_by = id;
  queue.blocked_for = reason;
  blocked[RootOf(queue.name)].insert(queue.name);
}

// An admission raises the usage of its tree. That can open preemptions to a queue that may evict,
// and can end every reason to wait other than a misfit.
void PendingQueues::Impl::Unblock(const Plan& plan) {
  std::set<NodeIndex> roots;
  for (const auto& admit : plan.admits) roots.insert(RootOf(admit.job->cluster_queue));
  for (const NodeIndex root : roots) {
    const auto names = blocked.find(root);
    if (names == blocked.end()) continue;
    std::erase_if(names->second, [this](const std::string& name) {
      const auto found = queues.find(name);
      if (found == queues.end() || found->second.blocked_by.value == 0) return true;
      PendingQueue& queue = found->second;
      // A queue that may evict nobody gains nothing from more use in its tree.
      const bool misfit = queue.blocked_for == RequeueReason::kNoFit ||
                          queue.blocked_for == RequeueReason::kPreemptionNoCandidates;
      if (misfit && !queue.rules.preempts) return false;
      queue.blocked_by = JobId{};
      UpdateReady(queue);
      return true;
    });
  }
}

std::size_t PendingQueues::Impl::FlushOne(PendingQueue& queue, WallTime now) {
  const auto matches = [&](const std::string& ns) { return MatchesNamespace(queue, ns); };
  const std::size_t moved = queue.Flush(now, matches, [&](const Seat& seat) {
    const JobPtr job = seat.job;
    TakeOut(job->id);
    Join(queue, job);
  });
  UpdateReady(queue);
  return moved;
}

// Under other rules every workload may belong elsewhere: active ones join anew, parked ones are set
// aside and stay parked.
void PendingQueues::Impl::Rebuild(PendingQueue& queue) {
  std::vector<Seat> active, parked;
  SeatMerge merge(queue.active());
  while (const Seat* seat = merge.Next()) active.push_back(*seat);
  for (const QueueClass* of : queue.Others()) {
    if (of->standing != PendingState::kParked) continue;
    parked.insert(parked.end(), of->members.begin(), of->members.end());
  }
  for (const Seat& seat : active) TakeOut(seat.job->id);
  for (const Seat& seat : parked) TakeOut(seat.job->id);
  for (const Seat& seat : active) Join(queue, seat.job);
  for (const Seat& seat : parked) {
    SetAside(queue, seat.job, !BackoffExpired(*seat.job, WallTime{}));
  }
  UpdateReady(queue);
}

PendingQueues::PendingQueues() : impl_(std::make_unique<Impl>()) {}
PendingQueues::~PendingQueues() = default;
PendingQueues::PendingQueues(PendingQueues&&) noexcept = default;
PendingQueues& PendingQueues::operator=(PendingQueues&&) noexcept = default;

void PendingQueues::Configure(ConfigPtr config, QuotaTreePtr tree, AdmissionSettingsPtr settings) {
  MUSTER_CHECK(config != nullptr && tree != nullptr && settings != nullptr);
  const bool other_settings = impl_->settings != settings;
  const ConfigPtr old = impl_->config;
  impl_->config = std::move(config);
  impl_->tree = std::move(tree);
  impl_->settings = std::move(settings);
  const bool other_tiers = impl_->TakeTiers();
  impl_->blocked.clear();
  ++impl_->configured;
  std::erase_if(impl_->generations, [this](const auto& entry) {
    return !impl_->config->cluster_queues.contains(entry.first);
  });
  for (auto& [name, queue] : impl_->queues) {
    const QueueRules before = queue.rules;
    impl_->SetRules(queue);
    if (other_settings || other_tiers || !(before == queue.rules)) impl_->Rebuild(queue);
    if (queue.blocked_by.value != 0) impl_->blocked[impl_->RootOf(name)].insert(name);
  }
  if (old != nullptr && old != impl_->config) impl_->Regroup(*old);
}

void PendingQueues::TakePlacements(ConfigPtr config) {
  MUSTER_CHECK(config != nullptr && impl_->config != nullptr);
  impl_->config = std::move(config);
}

void PendingQueues::Add(JobPtr job, WallTime now) {
  MUSTER_CHECK(job != nullptr);
  impl_->Add(std::move(job), now);
}

bool PendingQueues::Remove(JobId id) {
  const auto* place = impl_->PlaceOf(id);
  if (place == nullptr) return false;
  PendingQueue& queue = *place->queue;
  impl_->Forget(queue, id);
  impl_->TakeOut(id);
  impl_->UpdateReady(queue);
  impl_->EraseIfIdle(queue);
  return true;
}

bool PendingQueues::Contains(JobId id) const { return impl_->places.contains(id); }

JobPtr PendingQueues::Find(JobId id) const {
  const auto* place = impl_->PlaceOf(id);
  return place == nullptr ? nullptr : place->job();
}

JobPtr PendingQueues::Pop(const std::string& cluster_queue) {
  const auto found = impl_->queues.find(cluster_queue);
  if (found == impl_->queues.end() || found->second.inflight_jobs > 0) return nullptr;
  PendingQueue& queue = found->second;
  const Seat* head = queue.Head(impl_->StickyOf(queue));
  if (head == nullptr) return nullptr;
  ++queue.pop_cycle;
  const Seat seat = *head;
  impl_->TakeOut(seat.job->id);
  impl_->places[seat.job->id] = queue.SetInflight(seat);
  queue.inflight_was.reset();
  impl_->UpdateReady(queue);
  return seat.job;
}

bool PendingQueues::Requeue(JobPtr job, RequeueReason reason, LastAssignmentPtr last,
                            WallTime now) {
  PendingQueue& queue = impl_->QueueOf(job->cluster_queue);
  const auto* place = impl_->PlaceOf(job->id);
  MUSTER_CHECK(place == nullptr || place->queue == &queue);
  if (place != nullptr && place->standing() == PendingState::kActive) return false;
  JobPtr evaluated = job;
  if (place != nullptr && place->standing() == PendingState::kInflight) {
    evaluated = queue.inflight_was != nullptr ? queue.inflight_was : place->job();
    queue.inflight_was.reset();
    impl_->TakeOut(job->id);
  }
  impl_->Remember(queue, job, reason, std::move(last));
  const bool moved = impl_->PutBack(queue, evaluated, std::move(job), reason, now);
  impl_->UpdateReady(queue);
  return moved;
}

void PendingQueues::Settle(const Plan& plan, WallTime now) {
  for (const auto& admit : plan.admits) Remove(admit.job->id);
  std::vector<std::pair<PendingQueue*, const UnadmittedWorkload*>> blocking;
  for (const auto& waiting : plan.not_admitted) {
    const auto* place = impl_->PlaceOf(waiting.job->id);
    if (place == nullptr || waiting.second_pass) continue;
    PendingQueue& queue = *place->queue;
    ++queue.pop_cycle;
    impl_->Remember(queue, waiting.job, waiting.requeue, waiting.last);
    if (waiting.short_of_room != nullptr) {
      queue.short_of_room[waiting.job->id] = waiting.short_of_room;
    } else {
      queue.short_of_room.erase(waiting.job->id);
    }
    impl_->PutBack(queue, waiting.job, place->job(), waiting.requeue, now);
    if (waiting.block) {
      blocking.emplace_back(&queue, &waiting);
    } else if (queue.blocked_by == waiting.job->id) {
      // The blocked head was tried again, and the plan does not block it.
      queue.blocked_by = JobId{};
    }
    impl_->UpdateReady(queue);
  }
  impl_->Unblock(plan);
  for (const auto& [queue, waiting] : blocking) {
    impl_->Block(*queue, waiting->job->id, waiting->requeue);
    impl_->UpdateReady(*queue);
  }
}

}  // namespace muster::core
