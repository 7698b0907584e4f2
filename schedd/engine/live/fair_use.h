// FairUseTracker: the FairUseLedger of the live records, with the rows that the store gets of it
// and the table that the view shows. Not thread-safe; used on the engine thread.
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

  /// For recovery: takes the stored histories. To be called before jobs enter.
  void RestoreRows(const std::vector<FairUseRow>& rows);
  /// The rows of the histories that changed since the last call, to be written.
  std::vector<FairUseRow> TakeRows();
  /// The table for the view (rule A60); null without admission fair sharing.
  std::shared_ptr<const FairUses> View();

 private:
  // Null until a view was made.
  std::shared_ptr<const FairUses> view_;
  // The version of the ledger that `view_` shows.
  std::uint64_t shown_ = 0;
};

}  // namespace muster
