// ReadPool: a few libpqxx connections for reads, apart from the writer's session.
//
// Thread-safe; a reader waits while all connections are in use. libpqxx would reconnect behind our
// back (and lose session state): that is inhibited, a broken connection is dropped and the read
// tried once more on a fresh one. Exceptions of libpqxx end here.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include "schedd/base/result.h"

namespace muster::pg {

/// Opens a connection that stays what it is: once broken, it never comes back by itself. Throws.
std::unique_ptr<pqxx::connection> OpenConnection(const std::string& url, const char* settings);

/// The Error of the exception in flight; call inside a catch block only.
Error ErrorOfException();

class ReadPool {
 public:
  ReadPool(std::string url, std::size_t connections);
  ~ReadPool();

  /// Runs `read` in one read-only snapshot of the database. `read` may throw; it runs again after a
  /// lost connection.
  Status Run(const std::function<Status(pqxx::transaction_base&)>& read);

 private:
  std::unique_ptr<pqxx::connection> Take();
  void Return(std::unique_ptr<pqxx::connection> connection);
  Status RunOnce(const std::function<Status(pqxx::transaction_base&)>& read, bool* broken);

  const std::string url_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<pqxx::connection>> idle_;
  std::size_t unopened_;
};

}  // namespace muster::pg
