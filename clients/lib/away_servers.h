// Which servers of a list did not answer lately. A user's commands tell each other by a small file,
// so that one command in a while waits for a server that is stopped, and not all of them.
//
// The file decides only in which order servers of the user's own list are asked, and for
// limits::kServerAwayS only: while all of them answer, the order of the list counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "clients/lib/endpoint.h"

namespace muster::client {

/// Not thread-safe. Two commands that write at once lose what one of them knew, which costs a wait.
class AwayServers {
 public:
  /// `file` is read once; "": nothing is remembered. A file that is no plain file of this user's
  /// own, or that others may write, is not read. A file that cannot be written is no error.
  explicit AwayServers(std::string file);
  /// True if the server did not answer within the last limits::kServerAwayS.
  bool Has(const Endpoint& server) const;
  void Add(const Endpoint& server);
  /// The server answers. Writes only if it was known as away.
  void Remove(const Endpoint& server);

 private:
  void Write() const;

  std::string file_;
  std::map<std::string, std::int64_t> since_s_;  // by address; wall seconds
};

/// Beside the file of `muster login`; "" without a home directory.
std::string AwayFile(const std::string& login_file);

}  // namespace muster::client
