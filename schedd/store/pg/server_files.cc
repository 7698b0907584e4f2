// Everything about the embedded server that is on disk or in /proc.
//
// Two rules keep it safe. The database cluster is created under another name and renamed when it is
// complete and synced, so a directory with PG_VERSION is always a whole cluster. A process is
// signalled only if /proc says that its program is called postgres and that it works in this very
// data directory: the process id in postmaster.pid alone may belong to another process by now.
#include "schedd/store/pg/server_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace muster::pg {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSocketPathBytes = 107;  // sockaddr_un::sun_path, less the final NUL
constexpr const char* kSocketName = "/.s.PGSQL.5432";
constexpr int kOldestMajor = 15;
constexpr int kEndWaitMs = 10'000;

Error Cannot(const std::string& what) {
  return {Code::kFailedPrecondition, "cannot " + what + ": " + std::strerror(errno)};
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// An existing directory must be one and belong to this user or to the account; a path in /tmp could
// have been made by somebody else.
Status MakeDirectory(const std::string& path, const Account& account) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Cannot("make " + path);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Error{Code::kFailedPrecondition, path + " is in the way: it is not a directory"};
  }
  const bool fresh = status.st_uid == geteuid();
  if (!fresh && status.st_uid != account.uid) {
    return Error{Code::kFailedPrecondition, path + " belongs to another user"};
  }
  if (chmod(path.c_str(), 0700) != 0) return Cannot("close " + path + " to others");
  if (account.switch_user && fresh && chown(path.c_str(), account.uid, account.gid) != 0) {
    return Cannot("give " + path + " to the user " + account.name);
  }
  return Done{};
}

bool Ended(int pidfd, int timeout_ms) { return WaitReadable({pidfd}, timeout_ms) == pidfd; }

// Ends a server process: a fast shutdown first, then an immediate one.
Status End(pid_t pid) {
  const int pidfd = OpenPidfd(pid);
  if (pidfd < 0) return Done{};  // the process has ended
  kill(pid, SIGINT);
  bool ended = Ended(pidfd, kEndWaitMs);
  if (!ended) {
    kill(pid, SIGQUIT);
    ended = Ended(pidfd, kEndWaitMs);
  }
  close(pidfd);
  if (ended) return Done{};
  return Error{Code::kFailedPrecondition,
               "a PostgreSQL of an earlier run (pid " + std::to_string(pid) + ") does not end"};
}

}  // namespace

// "postgres (PostgreSQL) 15.18 (Debian ...)" -> 15; 0 if it is something else.
int MajorOf(const std::string& version) {
  const std::size_t at = version.find("(PostgreSQL) ");
  if (at == std::string::npos) return 0;
  int major = 0;
  const char* number = version.c_str() + at + std::strlen("(PostgreSQL) ");
  std::from_chars(number, version.c_str() + version.size(), major);
  return major;
}

// Where Debian, the PostgreSQL project's RPMs and a build from source put the programs.
std::vector<std::string> ProgramDirs() {
  std::vector<std::string> dirs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    dirs.push_back(entry.path().string() + "/bin");
  }
  for (const auto& entry : fs::directory_iterator("/usr", ignored)) {
    if (entry.path().filename().string().rfind("pgsql-", 0) == 0)
      dirs.push_back(entry.path().string() + "/bin");
  }
  for (const char* dir : {"/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"})
    dirs.emplace_back(dir);
  return dirs;
}

// A version is asked for by running the program, because directory names differ between systems.
std::vector<ServerBinaries> FindBinaries(const Account& account) {
  std::vector<ServerBinaries> found;
  for (const std::string& dir : ProgramDirs()) {
    if (access((dir + "/postgres").c_str(), X_OK) != 0 ||
        access((dir + "/initdb").c_str(), X_OK) != 0 || access((dir + "/psql").c_str(), X_OK) != 0)
      continue;
    const Result<std::string> version = RunTool({dir + "/postgres", "--version"}, account);
    const int major = version.ok() ? MajorOf(*version) : 0;
    if (major >= kOldestMajor) found.push_back({dir, major});
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const ServerBinaries& a, const ServerBinaries& b) { return a.major > b.major; });
  return found;
}

Result<ServerBinaries> ChooseBinaries(const std::vector<ServerBinaries>& installed,
                                      const std::string& data) {
  const std::string written_by = ReadFile(data + "/PG_VERSION");
  if (written_by.empty()) {
    if (!installed.empty()) return installed.front();
    return Error{
        Code::kFailedPrecondition,
        "no PostgreSQL 15 or newer is installed; install the package postgresql or use --postgres"};
  }
  int major = 0;
  std::from_chars(written_by.data(), written_by.data() + written_by.size(), major);
  for (const ServerBinaries& binaries : installed) {
    if (binaries.major == major) return binaries;
  }
  return Error{Code::kFailedPrecondition,
               "the database in " + data + " was made by PostgreSQL " + std::to_string(major) +
                   ", which is not installed; install it or upgrade the database with "
                   "pg_upgrade"};
}

// The canonical path is used, so that every run computes the same name in /tmp.
std::string HomeBelow(const std::string& data_dir) { return data_dir + "/postgres"; }

Result<ServerLayout> LayoutFor(const std::string& data_dir) {
  std::error_code failed;
  fs::create_directories(data_dir, failed);
  const fs::path root = fs::canonical(data_dir, failed);
  if (failed)
    return Error{Code::kFailedPrecondition, "cannot make " + data_dir + ": " + failed.message()};
  ServerLayout layout;
  layout.home = HomeBelow(root.string());
  layout.data = layout.home + "/db";
  layout.socket = layout.home + "/socket";
  layout.log = layout.home + "/server.log";
  layout.hba = layout.home + "/pg_hba.conf";
  layout.ident = layout.home + "/pg_ident.conf";
  layout.script = layout.home + "/provision.sql";
  if (layout.socket.size() + std::strlen(kSocketName) > kSocketPathBytes) {
    char name[64];
    std::snprintf(name, sizeof(name), "/tmp/muster-pg-%u-%zx", geteuid(),
                  std::hash<std::string>{}(layout.home));
    // The name is the same in every run. MakeDirectories refuses a directory of another user.
    layout.socket = name;
  }
  return layout;
}

// When the daemon is root, its data directory must let the unprivileged user pass; RunTool checks
// that the user really reaches the home, because a closed directory above it would stop the server.
Status MakeDirectories(const std::string& data_dir, const ServerLayout& layout,
                       const Account& account) {
  for (const std::string& path : {layout.home, layout.socket}) {
    Status made = MakeDirectory(path, account);
    if (!made.ok()) return made;
  }
  if (!account.switch_user) return Done{};
  // Execute permission lets the user pass through the data directory without listing it.
  struct stat status {};
  if (stat(data_dir.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) == 0) {
    if (chmod(data_dir.c_str(), (status.st_mode & 07777) | S_IXOTH) != 0)
      return Cannot("open " + data_dir);
  }
  const Result<std::string> reached = RunTool({"/usr/bin/test", "-w", layout.home}, account);
  if (reached.ok()) return Done{};
  return Error{Code::kFailedPrecondition,
               "the user " + account.name + " cannot reach " + layout.home +
                   "; choose a --data-dir outside closed directories, such as "
                   "/var/lib/muster"};
}

// The options: checksums against silent corruption of pages, and locale C for a fast and stable
// order. The access files that initdb writes are not used (WriteAccessFiles).
Status MakeCluster(const ServerBinaries& binaries, const ServerLayout& layout,
                   const Account& account) {
  std::error_code failed;
  if (fs::exists(layout.data + "/PG_VERSION", failed)) return Done{};
  const std::string fresh = layout.data + ".new";  // renamed when the cluster is complete
  fs::remove_all(fresh, failed);
  const Result<std::string> made =
      RunTool({binaries.dir + "/initdb", "-D", fresh, "-U", "muster", "-A", "peer", "-E", "UTF8",
               "--locale=C", "--data-checksums", "--no-sync", "--no-instructions"},
              account);
  if (!made.ok()) return made.error();
  const int dir = open(fresh.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = dir >= 0 && syncfs(dir) == 0;  // one sync instead of one for each file
  if (dir >= 0) close(dir);
  if (!synced) return Cannot("write the new database to disk");
  fs::rename(fresh, layout.data, failed);
  if (failed)
    return Error{Code::kFailedPrecondition, "cannot name the new database: " + failed.message()};
  return Done{};
}

// In the server's own directory, which belongs to its account, so no link is followed.
Status WriteServerFile(const std::string& path, const std::string& text, const Account& account) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Cannot("write " + path);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       (!account.switch_user || fchown(fd, account.uid, account.gid) == 0);
  close(fd);
  if (!written) return Cannot("write " + path);
  return Done{};
}

Status WriteAccessFiles(const ServerLayout& layout, const Account& account) {
  const Result<std::string> self = AccountName(geteuid());
  if (!self.ok()) return self.error();
  const Result<std::string> server = AccountName(account.uid);
  if (!server.ok()) return server.error();
  const Status hba = WriteServerFile(layout.hba,
                                     "# Written by musterd at each start.\n"
                                     "local all muster peer map=superuser\n"
                                     "local all muster_owner,muster_daemon,muster_read peer "
                                     "map=daemon\n",
                                     account);
  if (!hba.ok()) return hba;
  std::string ident = "# Written by musterd at each start.\nsuperuser " + *server + " muster\n";
  for (const char* role : {"muster_owner", "muster_daemon", "muster_read"})
    ident += "daemon " + *self + " " + role + "\n";
  return WriteServerFile(layout.ident, ident, account);
}

// Processes may end while /proc is read; those are skipped.
std::vector<pid_t> ProcessesIn(const std::string& data) {
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    std::error_code gone;
    const fs::path program = fs::read_symlink(entry.path() / "exe", gone);
    if (gone || program.filename().string().rfind("postgres", 0) != 0) continue;
    const fs::path where = fs::read_symlink(entry.path() / "cwd", gone);
    if (!gone && where == data) found.push_back(pid);
  }
  return found;
}

// The postmaster ends its own children, so it is ended first; processes that still run after that
// are orphans of an earlier crash.
Status CleanLeftovers(const ServerLayout& layout) {
  pid_t postmaster = 0;
  const std::string lock_file = ReadFile(layout.data + "/postmaster.pid");
  std::from_chars(lock_file.data(), lock_file.data() + lock_file.size(), postmaster);
  const std::vector<pid_t> running = ProcessesIn(layout.data);
  if (std::find(running.begin(), running.end(), postmaster) != running.end()) {
    Status ended = End(postmaster);
    if (!ended.ok()) return ended;
  }
  for (const pid_t orphan : ProcessesIn(layout.data)) {
    Status ended = End(orphan);
    if (!ended.ok()) return ended;
  }
  for (const std::string& file : {layout.data + "/postmaster.pid", layout.socket + kSocketName,
                                  layout.socket + kSocketName + ".lock"}) {
    if (unlink(file.c_str()) != 0 && errno != ENOENT) return Cannot("remove " + file);
  }
  return Done{};
}

// Line 1 of postmaster.pid is the process id, line 8 the server's status (PostgreSQL source,
// src/include/utils/pidfile.h).
bool SaysReady(const std::string& data, pid_t pid) {
  std::istringstream lines(ReadFile(data + "/postmaster.pid"));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (number == 1 && line != std::to_string(pid)) return false;
    if (number == 8) return line.rfind("ready", 0) == 0;
  }
  return false;
}

}  // namespace muster::pg
