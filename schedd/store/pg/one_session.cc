#include "schedd/store/pg/one_session.h"

#include <memory>
#include <optional>

#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/url.h"

namespace muster::pg {
namespace {

constexpr std::chrono::seconds kConnectWithin{10};

}  // namespace

Status RunOnce(const std::string& url, std::chrono::milliseconds within,
               const std::function<void(pqxx::work&, Watchdog::Watch&)>& work) {
  const Result<std::string> complete = CompleteUrl(url);
  if (!complete.ok()) return complete.error();
  Watchdog watchdog;
  std::unique_ptr<pqxx::connection> connection;  // declared before `watch`, so it outlives it
  std::optional<Watchdog::Watch> watch;
  try {
    connection = OpenConnection(*complete, sql::kMigratorSettings, watchdog, kConnectWithin);
    watch.emplace(watchdog, connection->sock(), within);
    pqxx::work transaction(*connection);
    work(transaction, *watch);
    return Done{};
  } catch (...) {
    if (watch && watch->cut()) return Unavailable("the database does not answer");
    return ErrorOfException();
  }
}

}  // namespace muster::pg
