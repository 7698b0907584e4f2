// Works: the rows of configuration objects on members (rule P20). schedd/propagation decides them;
// the engine writes and publishes them. On the engine thread only.
#pragma once

#include <vector>

#include "schedd/engine/commit/commit_pipeline.h"

namespace muster {

class Works {
 public:
  /// `commits` must outlive this.
  explicit Works(CommitPipeline& commits) : commits_(commits) {}

  const WorkTable& table() const { return table_; }
  /// Records the rows of one planning round; the answer comes when they are durable.
  void Handle(RecordWorksCommand command);
  /// Takes the rows as the store has them, for a recovery.
  void Reset(const std::vector<WorkPtr>& works, const std::vector<SnapshotPtr>& snapshots);

 private:
  CommitPipeline& commits_;
  WorkTable table_;
};

}  // namespace muster
