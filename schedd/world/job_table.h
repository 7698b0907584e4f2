// JobTable: jobs by id, in a form in which readers' copies share their content with the writer's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "schedd/model/job.h"

namespace muster {

/// Jobs by id: chunks of consecutive ids. Copying a JobTable copies one vector of pointers.
///
/// A published copy is never edited; the one writer edits its own, which clones a chunk at its
/// first edit after Seal.
class JobTable {
 public:
  static constexpr std::int64_t kChunk = 256;
  /// Null if absent.
  JobPtr Find(JobId id) const;
  /// Calls `visit` in id order for ids > after, until it returns false.
  void ForEach(JobId after, const std::function<bool(const JobPtr&)>& visit) const;
  /// Calls `visit` for each id under which the two tables have different records, or only one of
  /// them has one, in order. Costs what changed, and one comparison per chunk.
  static void ForEachChange(const JobTable& before, const JobTable& after,
                            const std::function<void(JobId)>& visit);
  std::size_t size() const { return size_; }
  void Put(JobPtr job);
  void Erase(JobId id);
  /// Marks every chunk as shared: later edits clone. Called when a copy is published.
  void Seal();

 private:
  struct Chunk {
    std::array<JobPtr, kChunk> jobs;
    std::int32_t used = 0;
  };
  struct Slot {
    // id / kChunk.
    std::int64_t number = 0;
    std::shared_ptr<Chunk> chunk;
    // Edited by the writer since the last Seal, so no published copy shares it.
    bool owned = false;
  };
  std::vector<Slot>::iterator SlotOf(std::int64_t number);
  static Chunk& Owned(Slot& slot);
  // Sorted by number.
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

/// The jobs that hold quota, in id order.
std::vector<JobPtr> HoldersOf(const JobTable& jobs);

}  // namespace muster
