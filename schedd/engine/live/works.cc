// The engine does not look into works: schedd/propagation plans them and the engine makes them
// durable, because it is the only writer. The command of one planning round is written whole.
// Removals come before additions, so a key that ends and begins again in one command exists
// afterwards. The whole table is copied into the transaction only if something changed; works and
// snapshots themselves are shared.
#include "schedd/engine/live/works.h"

namespace muster {

// Null in the transaction is a deletion. An unknown key that ends writes nothing, so the command
// may be repeated.
void Works::Handle(RecordWorksCommand command) {
  Transaction& tx = commits_.tx();
  for (const SnapshotKey& key : command.ended_snapshots) {
    if (table_.snapshots.erase(key)) tx.snapshots[key] = nullptr;
  }
  for (const SnapshotPtr& snapshot : command.snapshots) {
    table_.snapshots.insert_or_assign(KeyOf(*snapshot), snapshot);
    tx.snapshots[KeyOf(*snapshot)] = snapshot;
  }
  for (const WorkKey& key : command.ended_works) {
    if (table_.works.erase(key)) tx.works[key] = nullptr;
  }
  for (const WorkPtr& work : command.works) {
    table_.works.insert_or_assign(KeyOf(*work), work);
    tx.works[KeyOf(*work)] = work;
  }
  if (!tx.works.empty() || !tx.snapshots.empty())
    tx.work_table = std::make_shared<const WorkTable>(table_);
  commits_.AnswerOutcome(std::move(command.done), Status(Done{}));
}

void Works::Reset(const std::vector<WorkPtr>& works, const std::vector<SnapshotPtr>& snapshots) {
  table_ = WorkTable();
  for (const WorkPtr& work : works) table_.works.insert_or_assign(KeyOf(*work), work);
  for (const SnapshotPtr& one : snapshots) table_.snapshots.insert_or_assign(KeyOf(*one), one);
}

}  // namespace muster
