// Rows of configuration objects on members: stored and shown as schedd/propagation says.
#include "schedd/engine/impl.h"

namespace muster {

void Engine::Impl::Handle(RecordWorksCommand command) {
  WorkTable& table = live.works;
  for (const SnapshotKey& key : command.ended_snapshots) {
    if (table.snapshots.erase(key)) tx.snapshots[key] = nullptr;
  }
  for (const SnapshotPtr& snapshot : command.snapshots) {
    table.snapshots.insert_or_assign(KeyOf(*snapshot), snapshot);
    tx.snapshots[KeyOf(*snapshot)] = snapshot;
  }
  for (const WorkKey& key : command.ended_works) {
    if (table.works.erase(key)) tx.works[key] = nullptr;
  }
  for (const WorkPtr& work : command.works) {
    table.works.insert_or_assign(KeyOf(*work), work);
    tx.works[KeyOf(*work)] = work;
  }
  if (!tx.works.empty() || !tx.snapshots.empty()) {
    tx.work_table = std::make_shared<const WorkTable>(table);
  }
  AnswerAfterCommit([done = std::move(command.done)](const Error* error) {
    if (error != nullptr) {
      done(*error);
    } else {
      done(Done{});
    }
  });
}

}  // namespace muster
