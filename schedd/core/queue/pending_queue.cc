// PendingQueue: one ClusterQueue's workloads by class.
//
// Active classes are in one ordered set, by LocalQueue usage and by their heads; the head of the
// queue is the head of its first class. Parked classes are in a list with swap-and-pop removal. So
// Pop, Insert and Erase cost O(log classes + log members), parking a group costs its classes, and a
// flush costs the parked classes, however many workloads they have.
//
// A flush also bumps `flush_cycle` to `pop_cycle`: a workload that is being decided at that moment
// then goes back as active (rule A15), because the flush might have concerned it.
#include "schedd/core/queue/pending_queue.h"

#include <algorithm>
#include <tuple>

#include "schedd/base/check.h"

namespace muster::core {

bool Before(const Seat& a, const Seat& b) {
  if (a.tier != b.tier) return a.tier > b.tier;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.time != b.time) return a.time < b.time;
  return std::tie(a.job->accept_seq, a.job->id) < std::tie(b.job->accept_seq, b.job->id);
}

// A k-way merge over a heap. A class is opened only when no open one has a member before its head,
// so taking the first n members touches few classes.
const Seat* SeatMerge::Next() {
  while (next_ != end_) {
    const QueueClass* of = *next_;
    if (!open_.empty()) {
      const Cursor& first = open_.front();
      if (first.usage < of->usage) break;
      if (first.usage == of->usage && !Before(of->head(), *first.at)) break;
    }
    Push({of->usage, of->members.begin(), of->members.end()});
    ++next_;
  }
  if (open_.empty()) return nullptr;
  std::pop_heap(open_.begin(), open_.end(), Later);
  Cursor cursor = open_.back();
  open_.pop_back();
  const Seat* seat = &*cursor.at;
  if (++cursor.at != cursor.end) Push(cursor);
  return seat;
}

bool SeatMerge::Later(const Cursor& a, const Cursor& b) {
  if (a.usage != b.usage) return a.usage > b.usage;
  return Before(*b.at, *a.at);
}

void SeatMerge::Push(Cursor cursor) {
  open_.push_back(cursor);
  std::push_heap(open_.begin(), open_.end(), Later);
}

PendingQueue::PendingQueue(std::string name_in) : name(std::move(name_in)) {
  backoff_.standing = PendingState::kParked;
  inflight_.standing = PendingState::kInflight;
}

std::size_t& PendingQueue::CountOf(PendingState standing) {
  switch (standing) {
    case PendingState::kActive:
      return active_jobs;
    case PendingState::kParked:
      return inadmissible_jobs;
    case PendingState::kInflight:
      break;
  }
  return inflight_jobs;
}

// The set of active classes is ordered by heads, so a class leaves it before its members change.
template <class Change>
void PendingQueue::ChangeMembers(QueueClass* of, const Change& change) {
  const bool listed = of->standing == PendingState::kActive && !of->members.empty();
  if (listed) active_.erase(of);
  std::size_t& count = CountOf(of->standing);
  count -= of->members.size();
  change();
  count += of->members.size();
  if (!of->members.empty() && of->standing == PendingState::kActive) active_.insert(of);
}

// Two members that compare equal would be one job twice.
PendingQueue::Place PendingQueue::Put(QueueClass* of, Seat seat) {
  Seats::iterator at;
  ChangeMembers(of, [&] {
    const std::size_t before = of->members.size();
    // Most workloads are the last of their class: the hint makes that O(1).
    at = of->members.insert(of->members.end(), std::move(seat));
    MUSTER_CHECK(of->members.size() == before + 1);
  });
  return {this, of, at};
}

// A new class takes over the state of its group.
PendingQueue::Place PendingQueue::Insert(Seat seat, const std::string& hash, double usage) {
  const auto [group, fresh_group] = groups_.try_emplace(hash);
  if (fresh_group) group->second.key = &group->first;
  const auto [entry, fresh] =
      group->second.classes.try_emplace({seat.job->ns, seat.job->local_queue});
  QueueClass& of = entry->second;
  if (fresh) {
    of.group = &group->second;
    of.usage = usage;
    if (group->second.parked) {
      of.standing = PendingState::kParked;
      of.parked_at = parked_.size();
      parked_.push_back(&of);
    }
  }
  return Put(&of, std::move(seat));
}

// Pens by namespace let a flush wake those of a namespace without a look at the others.
PendingQueue::Place PendingQueue::SetAside(Seat seat, bool backoff) {
  if (backoff) return Put(&backoff_, std::move(seat));
  QueueClass& pen = asides_[seat.job->ns];
  pen.standing = PendingState::kParked;
  return Put(&pen, std::move(seat));
}

PendingQueue::Place PendingQueue::SetInflight(Seat seat) {
  return Put(&inflight_, std::move(seat));
}

PendingQueue::Place PendingQueue::Replace(const Place& place, Seat seat) {
  Place now{this, place.of, {}};
  ChangeMembers(place.of, [&] {
    place.of->members.erase(place.at);
    now.at = place.of->members.insert(std::move(seat)).first;
  });
  return now;
}

// Removes empty classes, groups and pens. The keys are copied first, because the record that has
// them may go with the member.
void PendingQueue::Erase(const Place& place) {
  QueueClass* of = place.of;
  const std::string ns = of->group == nullptr ? place.job()->ns : std::string();
  const auto key = of->group == nullptr ? std::pair<std::string, std::string>()
                                        : std::make_pair(place.job()->ns, place.job()->local_queue);
  ChangeMembers(of, [&] { of->members.erase(place.at); });
  if (!of->members.empty() || of == &backoff_ || of == &inflight_) return;
  if (of->group == nullptr) {
    asides_.erase(ns);
    return;
  }
  if (of->standing == PendingState::kParked) Unlist(of);
  QueueGroup* group = of->group;
  group->classes.erase(key);
  if (!group->classes.empty()) return;
  if (group->parked) {
    parked_groups_.back()->parked_at = group->parked_at;
    parked_groups_[group->parked_at] = parked_groups_.back();
    parked_groups_.pop_back();
  }
  groups_.erase(groups_.find(*group->key));
}

void PendingQueue::Unlist(QueueClass* of) {
  parked_.back()->parked_at = of->parked_at;
  parked_[of->parked_at] = parked_.back();
  parked_.pop_back();
}

void PendingQueue::ParkClass(QueueClass* of) {
  if (of->group == nullptr || of->standing != PendingState::kActive) return;
  active_.erase(of);
  of->standing = PendingState::kParked;
  of->parked_at = parked_.size();
  parked_.push_back(of);
  active_jobs -= of->members.size();
  inadmissible_jobs += of->members.size();
}

void PendingQueue::ParkGroup(const std::string& hash, bool newcomers) {
  const auto found = groups_.find(hash);
  if (found == groups_.end()) return;
  QueueGroup& group = found->second;
  if (!group.parked && newcomers) {
    group.parked = true;
    group.parked_at = parked_groups_.size();
    parked_groups_.push_back(&group);
  }
  for (auto& [key, of] : group.classes) ParkClass(&of);
}

// A sticky preemptor does not come before LocalQueues with a lower usage.
const Seat* PendingQueue::Head(const Place* sticky) const {
  if (active_.empty()) return nullptr;
  const QueueClass* first = *active_.begin();
  const bool outranks = sticky != nullptr && sticky->standing() == PendingState::kActive &&
                        sticky->of->usage <= first->usage;
  return outranks ? &*sticky->at : &first->head();
}

std::vector<QueueClass*> PendingQueue::Others() {
  std::vector<QueueClass*> others = parked_;
  for (auto& [ns, pen] : asides_) others.push_back(&pen);
  for (QueueClass* pen : {&backoff_, &inflight_}) {
    if (!pen->members.empty()) others.push_back(pen);
  }
  return others;
}

}  // namespace muster::core
