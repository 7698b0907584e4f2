// The embedded server's files: installed binaries, directories, socket, and what a crashed run has
// left.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/store/pg/server_process.h"

namespace muster::pg {

/// The programs of one installation of PostgreSQL.
struct ServerBinaries {
  std::string dir;
  int major = 0;
};

/// The major version in what a program of PostgreSQL prints for --version; 0 if it is another text.
int MajorOf(const std::string& version);

/// Directories in which PostgreSQL's programs may be.
std::vector<std::string> ProgramDirs();

/// Installed servers of version 15 or newer, the newest first.
std::vector<ServerBinaries> FindBinaries(const Account& account);

/// The installation of the version that wrote `data`, or the newest if `data` does not exist yet.
Result<ServerBinaries> ChooseBinaries(const std::vector<ServerBinaries>& installed,
                                      const std::string& data);

/// Paths below the daemon's data directory, all absolute.
struct ServerLayout {
  std::string home;    // <data dir>/postgres, 0700, the server's own
  std::string data;    // the cluster
  std::string socket;  // 0700
  std::string log;
  std::string hba, ident;  // who may connect as which role
  std::string script;      // what psql is to run
};

/// Where the database of a data directory is.
std::string HomeBelow(const std::string& data_dir);
/// The layout for `data_dir`, which is made. If the path of the socket would be too long for a unix
/// socket, its directory is a private one in /tmp.
Result<ServerLayout> LayoutFor(const std::string& data_dir);

/// Creates the directories, gives them to `account` and checks that it can reach them.
Status MakeDirectories(const std::string& data_dir, const ServerLayout& layout,
                       const Account& account);

/// Runs initdb unless the database cluster exists. An interrupted attempt is started over.
Status MakeCluster(const ServerBinaries& binaries, const ServerLayout& layout,
                   const Account& account);

/// Writes a file of mode 0600 that belongs to the account.
Status WriteServerFile(const std::string& path, const std::string& text, const Account& account);

/// Writes the files that say who may connect: the account of the server as the superuser `muster`,
/// and the user of this process as muster_owner, muster_daemon or muster_read. The kernel tells who
/// connects (peer authentication, PostgreSQL documentation 21.9); a job's user cannot reach the
/// socket in the first place, and would be refused here.
Status WriteAccessFiles(const ServerLayout& layout, const Account& account);

/// After a crash: ends the processes of an earlier server in this directory (no other process is
/// ever signalled) and removes its lock and socket files. The caller holds the directory's lock.
Status CleanLeftovers(const ServerLayout& layout);

/// Processes whose program is PostgreSQL and whose working directory is `data`.
std::vector<pid_t> ProcessesIn(const std::string& data);

/// True if postmaster.pid says that `pid` accepts connections.
bool SaysReady(const std::string& data, pid_t pid);

}  // namespace muster::pg
