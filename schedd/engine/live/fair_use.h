// FairUseTracker: the FairUseLedger of the engine's records with what is stored and shown of it.
// Not thread-safe; of the engine thread.
#pragma once

#include <memory>
#include <vector>

#include "schedd/lifecycle/fair_use_ledger.h"
#include "schedd/store/store.h"
#include "schedd/world/world_view.h"

namespace muster {

class FairUseTracker : public FairUseLedger {
 public:
  using FairUseLedger::FairUseLedger;

  /// Recovery: stored histories, before any job is adopted.
  void RestoreRows(const std::vector<FairUseRow>& rows);
  /// Histories that changed since the last call.
  std::vector<FairUseRow> TakeRows();
  /// What a view shows; null if it is off.
  std::shared_ptr<const FairUses> View();

 private:
  std::shared_ptr<const FairUses> view_;  // null: none was asked for yet
  std::uint64_t shown_ = 0;               // the version that it shows
};

}  // namespace muster
