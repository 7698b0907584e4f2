// The life of a task: it is one index of a record; the record has a window of entries in the queue;
// the slots of an entry's id (stand_ins.h) are divided among the partitions of the record;
// a plan admits an entry; Admit makes a job of the lowest index, which is new (LiveJobs::Create),
// or the record itself if no other index is left; Finish writes the record with what still waits.
// The new rows, the rows of their attempts and the shorter record are of one transaction, so a
// crash neither loses a task nor starts one twice.
//
// Entries are made before each cycle (Refill), also of records whose last change is not durable
// yet: commits of one epoch become durable in order, so what is decided on them is lost with them.
// That is why an array starts its tasks at the rate of single jobs.
#include "schedd/engine/jobs/array_tasks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits_slurm_arrays.h"
#include "schedd/base/limits_slurm_gates.h"
#include "schedd/base/name_list.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/array_changes.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// Everything that a queue or a decision reads of an entry, but for its conditions: tasks that wait
// in a record never ran, so nothing in them orders it. The details of a record are replaced only by
// an update, so they need no comparison.
bool SameInQueue(const JobRecord& a, const JobRecord& b) {
  return a.batch == b.batch && (a.pod_sets == b.pod_sets || *a.pod_sets == *b.pod_sets) &&
         a.priority == b.priority && a.priority_boost == b.priority_boost &&
         changes::BatchPriority(a) == changes::BatchPriority(b) &&
         a.time_limit_s == b.time_limit_s && a.cluster_queue == b.cluster_queue &&
         a.local_queue == b.local_queue && a.placement == b.placement && StateOf(a) == StateOf(b);
}

// How many entries a record may have in each of its partitions. The partition at place n of the
// list has the slots from n times this number; the record's own those from 0.
std::size_t SlotsEach(const JobRecord& record) {
  const std::size_t places =
      record.batch == nullptr ? 1 : NamesIn(record.batch->partitions).size() + 1;
  return std::min(limits::kArrayWindow, kStandInSlots / places);
}
static_assert(kStandInSlots / (limits::kPartitionsOfJob + 1) > 0);

std::size_t PlaceOf(const JobRecord& entry) { return SlotOf(entry.id) / SlotsEach(entry); }

// `place` is the record as it is in the partition. The uid differs from the record's and from those
// of other slots, as every workload's does.
JobPtr EntryOf(const JobRecord& record, const JobRecord& place, std::size_t slot) {
  auto entry = std::make_shared<JobRecord>(place);
  entry->id = StandInId(record.id, slot);
  entry->uid = record.uid;
  entry->uid.lo ^= (slot + 1) * 0x9e3779b97f4a7c15ULL;
  entry->message.clear();
  return entry;
}

}  // namespace

void ArrayTasks::Reset() {
  windows_.clear();
  several_.clear();
  changed_.clear();
  left_.clear();
}

bool ArrayTasks::Owns(JobId entry) const {
  return IsStandIn(entry) && windows_.contains(OwnerOf(entry));
}

bool ArrayTasks::ShowsItsRecord(const JobRecord& entry) const {
  return Owns(entry.id) && PlaceOf(entry) == 0;
}

// The window of a record that has started its last task, or has ended, goes at once.
void ArrayTasks::Note(const JobPtr& job) {
  const JobId array = ArrayIdOf(*job);
  if (array.value == 0) return;
  changed_.insert(array);
  const bool stands = IsArrayRecord(*job) && !IsTerminal(job->state);
  if (!stands) Drop(job->id);
  if (stands && NamesPartitions(*job)) {
    several_.insert(job->id);
  } else {
    several_.erase(job->id);
  }
}

void ArrayTasks::Enter(const JobPtr& job) { Note(job); }

void ArrayTasks::Change(const JobRecord&, const JobPtr& job) { Note(job); }

void ArrayTasks::Leave(JobId id) {
  Drop(id);
  several_.erase(id);
}

void ArrayTasks::Clear(Window* window) {
  for (const auto& [slot, entry] : window->entries) waiting_.Remove(entry->id);
  window->entries.clear();
}

void ArrayTasks::Drop(JobId record) {
  const auto windows = windows_.find(record);
  if (windows == windows_.end()) return;
  for (auto& [place, window] : windows->second) Clear(&window);
  windows_.erase(windows);
}

void ArrayTasks::Refill() {
  for (const JobId array : std::exchange(changed_, {})) RefillArray(array);
}

// The record as it may start tasks in its own partition and in the others that it names; none of
// them preempts in another one than its own.
std::vector<JobPtr> ArrayTasks::PlacesOf(const JobPtr& record) const {
  std::vector<JobPtr> places;
  if (record->state != JobState::kPending) return places;
  if (NamesPartitions(*record)) places = PartitionEntriesOf(*record, *config_.view(), {});
  if (changes::MayBeTried(*record)) places.insert(places.begin(), record);
  return places;
}

// Records of one array share its limit; the one with the lowest id comes first.
void ArrayTasks::RefillArray(JobId array) {
  std::int64_t room = std::max<std::int64_t>(arrays_.Room(array), 0);
  const std::int32_t throttle = arrays_.ThrottleOf(array);
  for (const JobPtr& record : arrays_.Waiting(array)) {
    const std::vector<JobPtr> places = PlacesOf(record);
    const bool may = !places.empty();
    const std::int64_t tasks = CountOf(BatchStateOf(*record).waiting_tasks);
    const std::int64_t most = std::min(tasks, static_cast<std::int64_t>(SlotsEach(*record)));
    const std::int64_t wanted = may ? std::min(most, room) : 0;
    room -= std::min(room, may ? tasks : 0);
    Fill(*record, places, static_cast<std::size_t>(wanted));
    if (!may) continue;
    jobs_.PutSoft(
        record,
        [&](const JobRecord& one) {
      return wanted == 0 ? changes::AtTaskLimit(one, throttle) : changes::BelowTaskLimit(one);
        },
        true);
  }
}

// A partition that takes no tasks any more has no window.
void ArrayTasks::Fill(const JobRecord& record, const std::vector<JobPtr>& places,
                      std::size_t wanted) {
  if (wanted == 0) return Drop(record.id);
  Windows& windows = windows_[record.id];
  Windows kept;
  for (const JobPtr& place : places) {
    const std::size_t number = place->id == record.id ? 0 : SlotOf(place->id);
    kept[number] = std::move(windows[number]);
    windows.erase(number);
  }
  for (auto& [number, window] : windows) Clear(&window);
  windows = std::move(kept);
  for (const JobPtr& place : places) {
    const std::size_t number = place->id == record.id ? 0 : SlotOf(place->id);
    FillWindow(record, place, wanted, &windows.at(number));
  }
}

void ArrayTasks::FillWindow(const JobRecord& record, const JobPtr& place, std::size_t wanted,
                            Window* window) {
  if (window->of != nullptr && !SameInQueue(*window->of, *place)) Clear(window);
  window->of = place;
  while (window->entries.size() > wanted) {
    const auto last = std::prev(window->entries.end());
    waiting_.Remove(last->second->id);
    window->entries.erase(last);
  }
  const std::size_t number = place->id == record.id ? 0 : SlotOf(place->id);
  for (std::size_t slot = number * SlotsEach(record); window->entries.size() < wanted; ++slot) {
    if (window->entries.contains(slot)) continue;
    const JobPtr entry = EntryOf(record, *place, slot);
    waiting_.Add(entry);
    window->entries.emplace(slot, entry);
  }
}

// Within one ClusterQueue only: queues do not wait for each other.
void ArrayTasks::CutHeads(std::vector<core::QueueHeads>* heads) const {
  if (windows_.empty()) return;
  for (core::QueueHeads& queue : *heads) {
    std::unordered_map<JobId, std::size_t> seen;
    for (std::size_t i = 0; i + 1 < queue.jobs.size(); ++i) {
      const JobRecord& head = *queue.jobs[i];
      if (!Owns(head.id)) continue;
      const JobId record = OwnerOf(head.id);
      const Window& window = windows_.at(record).at(PlaceOf(head));
      if (++seen[record] < window.entries.size() || window.entries.size() < SlotsEach(head))
        continue;
      if (CountOf(BatchStateOf(*window.of).waiting_tasks) <=
          static_cast<std::int64_t>(window.entries.size()))
        continue;
      queue.jobs.resize(i + 1);
      queue.more = true;
      break;
    }
  }
}

// The record as it is in the partition of the entry. A queue other than at acceptance is stored
// with the AdmissionState.
JobPtr ArrayTasks::InPartitionOf(const JobPtr& record, const JobRecord& entry) const {
  if (PlaceOf(entry) == 0) return record;
  auto moved = std::make_shared<JobRecord>(*record);
  moved->local_queue = entry.local_queue;
  moved->cluster_queue = entry.cluster_queue;
  moved->batch_state = entry.batch_state;
  ChangeState(moved.get(), [](AdmissionState*) {});
  return moved;
}

// Refill and the cycle are of one step, so the record has as many tasks as each of its windows has
// entries; all windows together may have more.
void ArrayTasks::Admit(const core::PlannedAdmission& admit) {
  const JobId owner = OwnerOf(admit.job->id);
  const JobPtr record = jobs_.Find(owner);
  const auto windows = windows_.find(owner);
  if (windows != windows_.end())
    windows->second.at(PlaceOf(*admit.job)).entries.erase(SlotOf(admit.job->id));
  if (windows == windows_.end() || arrays_.Room(ArrayIdOf(*record)) <= 0)
    return waiting_.NoteReleased(admit.admission->cluster_queue);
  TaskRanges& left = left_.try_emplace(owner, BatchStateOf(*record).waiting_tasks).first->second;
  const std::int32_t index = TakeFirst(&left);
  if (MUSTER_PLANTED(array_task_lost) && CountOf(left) > 1) (void)TakeFirst(&left);
  const JobPtr there = InPartitionOf(record, *admit.job);
  if (left.empty()) {
    left_.erase(owner);
    const JobPtr last = jobs_.Put(record, changes::LastTask(*there, index), "ArrayTaskStarted");
    if (!MUSTER_PLANTED(last_task_not_respecified)) commits_.tx().respecified.insert(owner);
    return attempts_.Admit(last, admit);
  }
  const changes::NewRecord made{ids_.Next(), Uid::Make(context_.random), commits_.NextSeq()};
  const JobPtr task = changes::TaskOf(*there, made, index);
  jobs_.Create(task);
  attempts_.Admit(task, admit);
}

void ArrayTasks::Finish() {
  for (auto& [owner, left] : std::exchange(left_, {})) {
    const JobPtr record = jobs_.Find(owner);
    jobs_.Put(record, changes::WithWaiting(*record, std::move(left)), "ArrayTasksStarted");
  }
}

// An edit may have opened another partition to a record without a window.
void ArrayTasks::Resync() {
  std::vector<JobId> records;
  for (const auto& [record, windows] : windows_) records.push_back(record);
  records.insert(records.end(), several_.begin(), several_.end());
  for (const JobId id : records) {
    Drop(id);
    if (const JobPtr record = jobs_.Find(id); record != nullptr) Note(record);
  }
}

JobPtr ArrayTasks::Divide(const JobPtr& record, TaskRanges chosen) {
  TaskRanges left = Without(BatchStateOf(*record).waiting_tasks, chosen);
  if (left.empty()) return record;
  const changes::NewRecord made{ids_.Next(), Uid::Make(context_.random), commits_.NextSeq()};
  const JobPtr own = changes::SplitOff(*record, made, std::move(chosen));
  jobs_.Create(own);
  jobs_.Put(record, changes::WithWaiting(*record, std::move(left)), "ArrayDivided");
  return own;
}

}  // namespace muster
