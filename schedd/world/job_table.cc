// Jobs by id, in chunks of kChunk consecutive ids. The table is a vector of pointers to chunks,
// sorted by chunk number. A copy shares the chunks; Seal marks them as shared, and the first edit
// of a chunk after that clones it (Owned), so published copies never change.
#include "schedd/world/job_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "schedd/model/lifecycle.h"

namespace muster {

std::vector<JobTable::Slot>::iterator JobTable::SlotOf(std::int64_t number) {
  // New jobs have the highest ids, so most edits are in the last chunk.
  if (!slots_.empty() && slots_.back().number == number) return std::prev(slots_.end());
  return std::lower_bound(
      slots_.begin(), slots_.end(), number,
      [](const Slot& slot, std::int64_t wanted) { return slot.number < wanted; });
}

// The chunk, cloned if a published copy may share it.
JobTable::Chunk& JobTable::Owned(Slot& slot) {
  if (!slot.owned) {
    slot.chunk = std::make_shared<Chunk>(*slot.chunk);
    slot.owned = true;
  }
  return *slot.chunk;
}

// A binary search over the chunks, then an index into the chunk.
JobPtr JobTable::Find(JobId id) const {
  const std::int64_t number = id.value / kChunk;
  const auto slot =
      std::lower_bound(slots_.begin(), slots_.end(), number,
                       [](const Slot& one, std::int64_t wanted) { return one.number < wanted; });
  if (slot == slots_.end() || slot->number != number) return nullptr;
  return slot->chunk->jobs[static_cast<std::size_t>(id.value % kChunk)];
}

// Chunks that end before `after` are skipped as a whole.
void JobTable::ForEach(JobId after, const std::function<bool(const JobPtr&)>& visit) const {
  const std::int64_t first = after.value + 1;
  for (const Slot& slot : slots_) {
    if (slot.number < first / kChunk) continue;
    for (const JobPtr& job : slot.chunk->jobs) {
      if (job != nullptr && job->id > after && !visit(job)) return;
    }
  }
}

// A chunk that both tables share has not changed.
void JobTable::ForEachChange(const JobTable& before, const JobTable& after,
                             const std::function<void(JobId)>& visit) {
  static const Chunk kNone;
  auto old = before.slots_.begin();
  auto now = after.slots_.begin();
  while (old != before.slots_.end() || now != after.slots_.end()) {
    const bool was =
        old != before.slots_.end() && (now == after.slots_.end() || old->number <= now->number);
    const bool is =
        now != after.slots_.end() && (old == before.slots_.end() || now->number <= old->number);
    const Chunk& a = was ? *old->chunk : kNone;
    const Chunk& b = is ? *now->chunk : kNone;
    const std::int64_t first = (was ? old->number : now->number) * kChunk;
    for (std::size_t i = 0; &a != &b && i < a.jobs.size(); ++i) {
      if (a.jobs[i] != b.jobs[i]) visit(JobId{first + static_cast<std::int64_t>(i)});
    }
    if (was) ++old;
    if (is) ++now;
  }
}

// A job that is there already is replaced.
void JobTable::Put(JobPtr job) {
  const std::int64_t number = job->id.value / kChunk;
  auto slot = SlotOf(number);
  if (slot == slots_.end() || slot->number != number) {
    slot = slots_.insert(slot, Slot{number, std::make_shared<Chunk>(), true});
  }
  Chunk& chunk = Owned(*slot);
  JobPtr& place = chunk.jobs[static_cast<std::size_t>(job->id.value % kChunk)];
  if (place == nullptr) {
    ++chunk.used;
    ++size_;
  }
  place = std::move(job);
}

// A chunk without jobs is dropped.
void JobTable::Erase(JobId id) {
  const std::int64_t number = id.value / kChunk;
  const auto slot = SlotOf(number);
  if (slot == slots_.end() || slot->number != number) return;
  if (slot->chunk->jobs[static_cast<std::size_t>(id.value % kChunk)] == nullptr) return;
  Chunk& chunk = Owned(*slot);
  chunk.jobs[static_cast<std::size_t>(id.value % kChunk)] = nullptr;
  --size_;
  if (--chunk.used == 0) slots_.erase(slot);
}

// Costs one flag per chunk; nothing is copied before the next edit.
void JobTable::Seal() {
  for (Slot& slot : slots_) slot.owned = false;
}

std::vector<JobPtr> HoldersOf(const JobTable& jobs) {
  std::vector<JobPtr> holders;
  jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (HoldsQuota(job->state)) holders.push_back(job);
    return true;
  });
  return holders;
}

}  // namespace muster
