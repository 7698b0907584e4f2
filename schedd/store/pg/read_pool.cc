#include "schedd/store/pg/read_pool.h"

#include <utility>

#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {

std::unique_ptr<pqxx::connection> OpenConnection(const std::string& url, const char* settings) {
  auto connection = std::make_unique<pqxx::connection>(url);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection->inhibit_reactivation(true);
#pragma GCC diagnostic pop
  pqxx::nontransaction(*connection).exec(settings);
  return connection;
}

Error ErrorOfException() {
  try {
    throw;
  } catch (const pqxx::broken_connection& error) {
    // The library's words may name paths and addresses: for the log, not for users.
    Log(LogLevel::kWarning, "store", "connection_failed",
        {{"err", std::string_view(error.what())}});
    return Unavailable("the database cannot be reached");
  } catch (const pqxx::sql_error& error) {
    return FailureOf(error.sqlstate(), error.what(), "").error;
  } catch (const pqxx::failure&) {
    return Unavailable("the connection to the database was lost");
  } catch (const std::exception& error) {
    return Internal(std::string("a stored row cannot be read: ") + error.what());
  }
}

ReadPool::ReadPool(std::string url, std::size_t connections)
    : url_(std::move(url)), unopened_(connections) {}

ReadPool::~ReadPool() = default;

std::unique_ptr<pqxx::connection> ReadPool::Take() {
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !idle_.empty() || unopened_ > 0; });
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    --unopened_;
  }
  try {
    return OpenConnection(url_, sql::kReaderSettings);
  } catch (...) {
    Return(nullptr);
    throw;
  }
}

void ReadPool::Return(std::unique_ptr<pqxx::connection> connection) {
  {
    std::lock_guard lock(mutex_);
    if (connection == nullptr) {
      ++unopened_;
    } else {
      idle_.push_back(std::move(connection));
    }
  }
  freed_.notify_one();
}

Status ReadPool::RunOnce(const std::function<Status(pqxx::transaction_base&)>& read, bool* broken) {
  std::unique_ptr<pqxx::connection> connection;
  try {
    connection = Take();
    pqxx::transaction<pqxx::repeatable_read, pqxx::read_only> snapshot(*connection);
    Status status = read(snapshot);
    snapshot.commit();
    Return(std::move(connection));
    return status;
  } catch (...) {
    const Error error = ErrorOfException();
    if (connection != nullptr) {
      // libpqxx 6 reports a lost connection in more than one way: whatever failed, only an open one
      // is kept.
      *broken = !connection->is_open() || error.code == Code::kUnavailable;
      Return(*broken ? nullptr : std::move(connection));
    }
    return error;
  }
}

Status ReadPool::Run(const std::function<Status(pqxx::transaction_base&)>& read) {
  bool broken = false;
  Status status = RunOnce(read, &broken);
  if (!broken) return status;
  {
    // A restart of the server broke the idle ones too.
    std::lock_guard lock(mutex_);
    unopened_ += idle_.size();
    idle_.clear();
  }
  return RunOnce(read, &broken);
}

}  // namespace muster::pg
