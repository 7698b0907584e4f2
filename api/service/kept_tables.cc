#include "api/service/kept_tables.h"

#include <algorithm>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// Whether the table can follow to what is asked for: only ended jobs can leave it by time, and a
// table of a much later time would look at too many for nothing.
bool Serves(const TableKey& kept, const TableKey& asked) {
  const WallTime since = kept.filter.ended_since, wanted = asked.filter.ended_since;
  return kept.IsLike(asked) && since.set() == wanted.set() && since <= wanted &&
         wanted <= since.Plus(MillisToMicros(limits::kTableKeptMs));
}

}  // namespace

bool KeptTables::Read(const TableKey& key, JobSource source,
                      const std::function<void(const KeptTable&)>& read) {
  const MutexLock lock(mutex_);
  const auto kept = std::find_if(tables_.begin(), tables_.end(),
                                 [&](const Entry& one) { return Serves(one.table.key(), key); });
  if (kept == tables_.end()) {
    tables_.push_front({KeptTable(key)});
    if (tables_.size() > limits::kTablesKept) tables_.pop_back();
    return false;
  }
  tables_.splice(tables_.begin(), tables_, kept);
  kept->asked = true;
  kept->table.Follow(std::move(source), key.filter.ended_since);
  read(kept->table);
  // The reader has refused it.
  if (kept->table.size() > limits::kPageItemsMax) tables_.erase(kept);
  return true;
}

bool KeptTables::ForgetOld() {
  const MutexLock lock(mutex_);
  tables_.remove_if([](Entry& one) { return !std::exchange(one.asked, false); });
  return !tables_.empty();
}

}  // namespace muster::api
