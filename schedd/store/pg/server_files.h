// What the embedded server has on disk: binaries, directories, socket, and the leftovers of a
// crash.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/store/pg/server_process.h"

namespace muster::pg {

/// Where one installation of PostgreSQL keeps its programs.
struct ServerBinaries {
  std::string dir;
  int major = 0;
};

/// Installed servers of version 15 or newer, newest first.
std::vector<ServerBinaries> FindBinaries(const Account& account);

/// The one to use: of the version that wrote `data`, or the newest if `data` does not exist yet.
Result<ServerBinaries> ChooseBinaries(const std::vector<ServerBinaries>& installed,
                                      const std::string& data);

/// Directories below the daemon's data directory; all absolute.
struct ServerLayout {
  std::string home;    // <data dir>/postgres, 0700, the server's own
  std::string data;    // the cluster
  std::string socket;  // 0700
  std::string log;
};

/// The layout for `data_dir`; a socket directory whose path is too long for a socket moves to a
/// private one in /tmp.
Result<ServerLayout> LayoutFor(const std::string& data_dir);

/// Makes the directories, gives them to `account` and checks that it can reach them.
Status MakeDirectories(const std::string& data_dir, const ServerLayout& layout,
                       const Account& account);

/// Makes the cluster if it is not there; an interrupted attempt is started over.
Status MakeCluster(const ServerBinaries& binaries, const ServerLayout& layout,
                   const Account& account);

/// After a crash: ends what still runs of an earlier server in this very directory (nothing else is
/// ever signalled), and removes its lock and socket files. The caller holds the directory's lock.
Status CleanLeftovers(const ServerLayout& layout);

/// Processes that are PostgreSQL and work in `data`.
std::vector<pid_t> ProcessesIn(const std::string& data);

/// True if postmaster.pid says that `pid` accepts connections.
bool SaysReady(const std::string& data, pid_t pid);

}  // namespace muster::pg
