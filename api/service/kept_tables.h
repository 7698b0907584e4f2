// KeptTables: the tables of jobs that somebody looks at, kept up to date between the readings.
#pragma once

#include <functional>
#include <list>

#include "api/service/kept_table.h"
#include "schedd/base/mutex.h"

namespace muster::api {

/// Thread-safe. At most limits::kTablesKept tables.
class KeptTables {
 public:
  /// Calls `read` with the table of `source`; other readers wait meanwhile. False the first time
  /// that somebody asks for the table: it is kept only if it is asked for again.
  bool Read(const TableKey& key, JobSource source,
            const std::function<void(const KeptTable&)>& read);
  /// Drops the tables that nobody has asked for since the last call. False if none is left.
  bool ForgetOld();

 private:
  struct Entry {
    KeptTable table;
    bool asked = true;  // since the last ForgetOld
  };

  Mutex mutex_;
  std::list<Entry> tables_ MUSTER_GUARDED_BY(mutex_);  // the last asked for first
};

}  // namespace muster::api
