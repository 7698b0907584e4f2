// One embedded PostgreSQL for a test program, a database of its own for each test.
#pragma once

#include <memory>
#include <string>

#include "schedd/store/pg/embedded_postgres.h"

namespace muster::test {

/// A directory below the system's temporary one, removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The program's server, started on first use and stopped at the end of the program. CHECKs that it
/// starts. Tests may connect to it as the superuser.
EmbeddedPostgres& SharedServer();

/// Lets this user connect to the server as its superuser, by a line in its access file, and returns
/// the URL of its database `muster` for that role. Faults need more rights than a daemon has.
std::string SuperuserUrl(const EmbeddedPostgres& server);
/// The same database for another role.
std::string AsRole(const std::string& superuser_url, const std::string& role);

/// Makes a database without a schema and returns its URL for the superuser.
std::string EmptyDatabase(EmbeddedPostgres& server);

/// Makes a database with the schema and nothing in it (a copy, which is quicker than migrating),
/// and returns its URL for the superuser.
std::string FreshDatabase(EmbeddedPostgres& server);

/// Runs one statement on `url` and returns its first column as text, rows joined by ','. Throws on
/// failure.
std::string RunSql(const std::string& url, const std::string& statement);

}  // namespace muster::test
