// AuditTrail: rows about requests that change nothing (AuditCommand) and the retention of the
// trail. Rows of changes go with the changes (CommitPipeline::AddAudit). On the engine thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "schedd/engine/commit/commit_pipeline.h"

namespace muster {

class AuditTrail {
 public:
  /// Both must outlive it.
  AuditTrail(EngineContext& context, CommitPipeline& commits)
      : context_(context), commits_(commits) {}

  /// Keeps the rows until a transaction that has them is durable. Also while the engine is not
  /// ready.
  void Handle(AuditCommand command);
  /// Adds kept rows to the open transaction, and has old rows removed when that is due; false if
  /// there was neither.
  bool Fire();
  /// When Fire has something to do by the time alone.
  Monotonic Next() const { return next_forgetting_; }
  /// Begins again after a recovery.
  void Reset();

 private:
  /// At most limits::kAuditKept; what is more is counted and logged.
  void Keep(std::vector<AuditRow> rows);

  EngineContext& context_;
  CommitPipeline& commits_;
  std::deque<AuditRow> kept_;
  std::int64_t dropped_ = 0;
  Monotonic next_forgetting_;
};

}  // namespace muster
