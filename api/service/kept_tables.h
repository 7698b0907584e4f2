// KeptTables: the tables of jobs that somebody looks at, kept up to date between the readings.
#pragma once

#include <functional>
#include <list>

#include "api/service/kept_table.h"
#include "schedd/base/mutex.h"

namespace muster::api {

/// Thread-safe. At most limits::kTablesKept tables, and none that nobody asked for in
/// limits::kTableKeptMs.
class KeptTables {
 public:
  /// Calls `read` with the table of `source`; other readers wait meanwhile. False the first time
  /// that somebody asks for the table: it is kept only if it is asked for again. `now` is the time
  /// of a view.
  bool Read(const TableKey& key, JobSource source, WallTime now,
            const std::function<void(const KeptTable&)>& read);
  /// Drops the tables that nobody asked for lately. False if none is left.
  bool ForgetOld(WallTime now);

 private:
  struct Entry {
    KeptTable table;
    WallTime asked;
  };
  void DropOld(WallTime now) MUSTER_REQUIRES(mutex_);

  Mutex mutex_;
  std::list<Entry> tables_ MUSTER_GUARDED_BY(mutex_);  // the last asked for first
};

}  // namespace muster::api
