// Works: the rows of configuration objects on members, written and shown as schedd/propagation
// says. On the engine thread only.
#pragma once

#include <vector>

#include "schedd/engine/commit/commit_pipeline.h"

namespace muster {

class Works {
 public:
  /// It must outlive this.
  explicit Works(CommitPipeline& commits) : commits_(commits) {}

  const WorkTable& table() const { return table_; }
  void Handle(RecordWorksCommand command);
  /// As the store has them.
  void Reset(const std::vector<WorkPtr>& works, const std::vector<SnapshotPtr>& snapshots);

 private:
  CommitPipeline& commits_;
  WorkTable table_;
};

}  // namespace muster
