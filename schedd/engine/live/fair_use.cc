#include "schedd/engine/live/fair_use.h"

#include <utility>

namespace muster {

void FairUseTracker::RestoreRows(const std::vector<FairUseRow>& rows) {
  for (const FairUseRow& row : rows)
    Restore({row.ns, row.local_queue}, core::FairLedger::History{row.consumed, row.updated});
}

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
