// One piece of work on a session of its own, for what is not worth a pool: the commands of the
// administrator, and what is set once at a start.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <pqxx/pqxx>

#include "schedd/base/result.h"
#include "schedd/store/pg/watchdog.h"

namespace muster::pg {

/// Opens a session with the settings of a migrator and runs `work` in a transaction, which `work`
/// commits if it has written. `url` may lack what CompleteUrl adds. The session is cut when `work`
/// has taken longer than `within`, unless it extends that. Errors: kUnavailable if the database
/// does not answer in time, else what ErrorOfException says. Blocks.
Status RunOnce(const std::string& url, std::chrono::milliseconds within,
               const std::function<void(pqxx::work&, Watchdog::Watch&)>& work);

}  // namespace muster::pg
