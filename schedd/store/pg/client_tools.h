// PostgreSQL's own client programs (pg_dump, pg_restore, psql), run as this process's user. The
// database's address reaches them by libpq's environment variables, so that no password is in a
// command line (PostgreSQL documentation, 34.15).
//
// Thread-safe. SIGPIPE must be ignored by the caller's process.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::pg {

class ClientTools {
 public:
  /// The programs of the version `major` of the server, or else of the newest one that is newer:
  /// an older pg_dump refuses a newer server. kFailedPrecondition names the package that is
  /// missing.
  static Result<ClientTools> Find(int major);

  /// Runs `tool` with `args` to its end and gives what it printed on stdout. The error is the last
  /// line that it printed on stderr. `url`: the database; "" for none.
  Result<std::string> Run(const std::string& tool, const std::vector<std::string>& args,
                          const std::string& url) const;
  /// Runs `source`, carries what it prints into `sink`, and behind it `last`. If `source` fails,
  /// `sink` is killed before it has read to its end.
  Status Pipe(const std::string& source, const std::vector<std::string>& source_args,
              const std::string& sink, const std::vector<std::string>& sink_args,
              const std::string& url, const std::string& last) const;

 private:
  explicit ClientTools(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

}  // namespace muster::pg
