// Admission fair sharing keeps a history of use for each LocalQueue (rule A42). FairUseLedger does
// the arithmetic; this class adds the two things that only the engine needs: rows for the store and
// a table for the view. Both follow from marks that the ledger sets, so a queue whose history did
// not change costs nothing. Penalties are not stored: they follow from the jobs that hold quota and
// are there again when recovery enters these.
#include "schedd/engine/live/fair_use.h"

#include <utility>

namespace muster {

void FairUseTracker::RestoreRows(const std::vector<FairUseRow>& rows) {
  for (const FairUseRow& row : rows)
    Restore({row.ns, row.local_queue}, core::FairLedger::History{row.consumed, row.updated});
}

// A row with `removed` set deletes the history of a LocalQueue that is gone. A history may have
// been marked as changed before its queue went; then only the removal is written.
std::vector<FairUseRow> FairUseTracker::TakeRows() {
  const Changes changes = TakeChanges();
  std::vector<FairUseRow> rows;
  for (const Key& key : changes.removed) rows.push_back({key.first, key.second, {}, {}, true});
  for (const Key& key : changes.changed) {
    if (!known().contains(key)) continue;
    core::FairLedger::History history = HistoryOf(key);
    rows.push_back({key.first, key.second, std::move(history.thousandths), history.updated});
  }
  return rows;
}

// The table is made again only if the version of the ledger differs from the one that was shown.
std::shared_ptr<const FairUses> FairUseTracker::View() {
  if (!on()) return nullptr;
  if (view_ != nullptr && shown_ == version()) return view_;
  auto made = std::make_shared<FairUses>();
  for (const Key& key : known())
    made->emplace(key, FairUse{ConsumedBy(key), HistoryOf(key).updated});
  view_ = std::move(made);
  shown_ = version();
  return view_;
}

}  // namespace muster
