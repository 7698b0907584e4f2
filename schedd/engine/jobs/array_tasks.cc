// The life of a task: it is one index of a record; the record has a window of entries in the queue;
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

// Its uid differs from the record's and from those of other slots, as every workload's does.
JobPtr EntryOf(const JobRecord& record, std::size_t slot) {
  auto entry = std::make_shared<JobRecord>(record);
  entry->id = StandInId(record.id, slot);
  entry->uid.lo ^= (slot + 1) * 0x9e3779b97f4a7c15ULL;
  entry->message.clear();
  return entry;
}

}  // namespace

void ArrayTasks::Reset() {
  windows_.clear();
  changed_.clear();
  left_.clear();
}

bool ArrayTasks::Owns(JobId entry) const {
  return IsStandIn(entry) && windows_.contains(OwnerOf(entry));
}

void ArrayTasks::Note(const JobPtr& job) {
  if (const JobId array = ArrayIdOf(*job); array.value != 0) changed_.insert(array);
}

void ArrayTasks::Enter(const JobPtr& job) { Note(job); }

// The window of a record that has started its last task, or has ended, goes at once.
void ArrayTasks::Change(const JobRecord&, const JobPtr& job) {
  Note(job);
  if (!IsArrayRecord(*job) || IsTerminal(job->state)) Drop(job->id);
}

void ArrayTasks::Drop(JobId record) {
  const auto window = windows_.find(record);
  if (window == windows_.end()) return;
  for (const auto& [slot, entry] : window->second.entries) waiting_.Remove(entry->id);
  windows_.erase(window);
}

void ArrayTasks::Refill() {
  for (const JobId array : std::exchange(changed_, {})) RefillArray(array);
}

// Records of one array share its limit; the one with the lowest id comes first.
void ArrayTasks::RefillArray(JobId array) {
  std::int64_t room = std::max<std::int64_t>(arrays_.Room(array), 0);
  const std::int32_t throttle = arrays_.ThrottleOf(array);
  for (const JobPtr& record : arrays_.Waiting(array)) {
    const bool may = changes::MayBeTried(*record);
    const std::int64_t tasks = CountOf(BatchStateOf(*record).waiting_tasks);
    const std::int64_t most = std::min(tasks, static_cast<std::int64_t>(limits::kArrayWindow));
    const std::int64_t wanted = may ? std::min(most, room) : 0;
    room -= std::min(room, may ? tasks : 0);
    Fill(record, static_cast<std::size_t>(wanted));
    if (!may) continue;
    jobs_.PutSoft(
        record,
        [&](const JobRecord& one) {
      return wanted == 0 ? changes::AtTaskLimit(one, throttle) : changes::BelowTaskLimit(one);
        },
        true);
  }
}

void ArrayTasks::Fill(const JobPtr& record, std::size_t wanted) {
  if (wanted == 0) return Drop(record->id);
  Window& window = windows_[record->id];
  if (window.of != nullptr && !SameInQueue(*window.of, *record)) {
    for (const auto& [slot, entry] : window.entries) waiting_.Remove(entry->id);
    window.entries.clear();
  }
  window.of = record;
  while (window.entries.size() > wanted) {
    const auto last = std::prev(window.entries.end());
    waiting_.Remove(last->second->id);
    window.entries.erase(last);
  }
  for (std::size_t slot = 0; window.entries.size() < wanted; ++slot) {
    if (window.entries.contains(slot)) continue;
    const JobPtr entry = EntryOf(*record, slot);
    waiting_.Add(entry);
    window.entries.emplace(slot, entry);
  }
}

// Within one ClusterQueue only: queues do not wait for each other.
void ArrayTasks::CutHeads(std::vector<core::QueueHeads>* heads) const {
  if (windows_.empty()) return;
  for (core::QueueHeads& queue : *heads) {
    std::unordered_map<JobId, std::size_t> seen;
    for (std::size_t i = 0; i + 1 < queue.jobs.size(); ++i) {
      if (!Owns(queue.jobs[i]->id)) continue;
      const JobId record = OwnerOf(queue.jobs[i]->id);
      const Window& window = windows_.at(record);
      if (++seen[record] < window.entries.size() || window.entries.size() < limits::kArrayWindow)
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

// Refill and the cycle are of one step, so the record has as many tasks as its window has entries.
void ArrayTasks::Admit(const core::PlannedAdmission& admit) {
  const JobId owner = OwnerOf(admit.job->id);
  windows_.at(owner).entries.erase(SlotOf(admit.job->id));
  const JobPtr record = jobs_.Find(owner);
  MUSTER_CHECK(record != nullptr);
  TaskRanges& left =
      left_.try_emplace(owner, BatchStateOf(*record).waiting_tasks).first->second;
  const std::int32_t index = TakeFirst(&left);
  if (MUSTER_PLANTED(array_task_lost) && CountOf(left) > 1) (void)TakeFirst(&left);
  if (left.empty()) {
    left_.erase(owner);
    const JobPtr last =
        jobs_.Put(record, changes::LastTask(*record, index), "ArrayTaskStarted");
    commits_.tx().respecified.insert(owner);
    return attempts_.Admit(last, admit);
  }
  const changes::NewRecord made{ids_.Next(), Uid::Make(context_.random), commits_.NextSeq()};
  const JobPtr task = changes::TaskOf(*record, made, index);
  jobs_.Create(task);
  attempts_.Admit(task, admit);
}

void ArrayTasks::Finish() {
  for (auto& [owner, left] : std::exchange(left_, {})) {
    const JobPtr record = jobs_.Find(owner);
    jobs_.Put(record, changes::WithWaiting(*record, std::move(left)), "ArrayTasksStarted");
  }
}

void ArrayTasks::Resync() {
  std::vector<JobId> records;
  for (const auto& [record, window] : windows_) {
    records.push_back(record);
    Note(window.of);
  }
  for (const JobId record : records) Drop(record);
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
