// Registry: brings the running members and their kubeconfig files in line with the declared
// members.
//
// The truth is the MemberCluster object and the Secret that its annotation
// `muster.io/kubeconfig-secret` names. The files (DIRECTORY/NAME/kubeconfig, 0600 below 0700) are
// derived from them: Apply compares each declaration with the one it applied last and carries out
// the difference, in this order:
//
// 1. A member that is no longer declared is removed.
// 2. A new kubeconfig text is written before the member hears of it, so that the member never reads
//    the text of an earlier declaration. A Secret that is gone leaves an empty text; then the file
//    is removed, the member's facts say so, and its attempts run on until the Secret is back.
// 3. Another context or way of dispatch is a removal and an addition. Another heartbeat period or
//    another kubeconfig text is given to the member as it runs.
// 4. Directories of members that are not declared are deleted.
//
// A declaration counts as applied only once its file is written. A failed write is therefore tried
// again with the next call (every second, schedd/daemon/fleet), and a daemon that was killed at any
// point goes on where it was, because its first Apply finds no member applied.
#include "backends/fleet/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "schedd/telemetry/log.h"

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;

// Logs the failure without the text of the kubeconfig, which holds secrets.
void Complain(const std::string& cluster, const std::error_code& why) {
  Log(LogLevel::kWarning, "fleet", "kubeconfig_not_written",
      {{"cluster", cluster}, {"err", why.message()}});
}

std::error_code LastError() { return {errno, std::generic_category()}; }

// Creates a directory that only the daemon's user may enter, whatever the umask is. One that exists
// must belong to that user; with `may_be_link`, `directory` may be a link of that user to it.
std::error_code MakePrivate(const std::string& directory, bool may_be_link) {
  if (::mkdir(directory.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return LastError();
  struct stat info {};
  if (::lstat(directory.c_str(), &info) != 0) return LastError();
  if (may_be_link && S_ISLNK(info.st_mode) && info.st_uid == ::geteuid() &&
      ::stat(directory.c_str(), &info) != 0) {
    return LastError();
  }
  if (!S_ISDIR(info.st_mode)) return std::make_error_code(std::errc::not_a_directory);
  if (info.st_uid != ::geteuid()) return std::make_error_code(std::errc::permission_denied);
  return {};
}

// Replaces the file as a whole or not at all, also across a loss of power: the text is written
// beside it, synced, and renamed into place.
std::error_code WriteWhole(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return LastError();
  std::error_code failed;
  for (std::size_t at = 0; at < text.size() && !failed;) {
    const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
    if (wrote >= 0) {
      at += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      failed = LastError();
    }
  }
  if (!failed && (::fchmod(fd, 0600) != 0 || ::fsync(fd) != 0)) failed = LastError();
  ::close(fd);
  if (!failed && ::rename(fresh.c_str(), path.c_str()) != 0) failed = LastError();
  if (failed) ::unlink(fresh.c_str());
  return failed;
}

}  // namespace

Registry::Registry(std::string directory, Target target)
    : directory_(std::move(directory)), target_(std::move(target)) {}

std::string Registry::DirectoryOf(const std::string& name) const { return directory_ + "/" + name; }

bool Registry::Apply(const std::vector<MemberDeclaration>& members) {
  const auto is_wanted = [&members](const std::string& name) {
    return std::any_of(members.begin(), members.end(),
                       [&name](const MemberDeclaration& one) { return one.name == name; });
  };
  for (auto it = members_.begin(); it != members_.end();) {
    if (is_wanted(it->first)) {
      ++it;
      continue;
    }
    target_.remove(it->first);
    it = members_.erase(it);
  }
  bool done = true;
  for (const MemberDeclaration& member : members) done = Put(member) && done;
  return SweepFiles() && done;
}

// Applies one declaration. False: its kubeconfig could not be written, and nothing has changed.
bool Registry::Put(const MemberDeclaration& member) {
  const auto found = members_.find(member.name);
  if (found != members_.end() && found->second == member) return true;
  const bool runs = found != members_.end();
  const bool same_text = runs && found->second.kubeconfig == member.kubeconfig;
  if (!same_text && !Write(member)) return false;
  const bool as_before =
      runs && found->second.context == member.context && found->second.fast == member.fast;
  const bool paced = runs && found->second.heartbeat_s == member.heartbeat_s;
  members_[member.name] = member;
  if (as_before) {
    if (!paced) target_.pace(member.name, member.heartbeat_s);
    if (!same_text) target_.reload(member.name);
    return true;
  }
  if (runs) target_.remove(member.name);
  k8s::MemberOptions options;
  options.name = member.name;
  options.kubeconfig = DirectoryOf(member.name) + "/kubeconfig";
  options.context = member.context;
  options.fast = member.fast;
  options.registered = true;
  options.heartbeat_s = member.heartbeat_s;
  target_.add(std::move(options));
  return true;
}

// Writes the member's kubeconfig, or removes it if the declaration has none at present.
bool Registry::Write(const MemberDeclaration& member) const {
  std::error_code failed;
  const std::string path = DirectoryOf(member.name) + "/kubeconfig";
  if (member.kubeconfig.empty()) {
    fs::remove(path, failed);
  } else {
    failed = MakePrivate(directory_, true);
    if (!failed) failed = MakePrivate(DirectoryOf(member.name), false);
    if (!failed) failed = WriteWhole(path, member.kubeconfig);
  }
  if (failed) Complain(member.name, failed);
  return !failed;
}

// Deletes the directories of members that are not declared, also those that an earlier daemon left.
bool Registry::SweepFiles() const {
  std::error_code failed;
  std::vector<fs::path> gone;
  for (fs::directory_iterator it(directory_, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (!members_.contains(it->path().filename().string())) gone.push_back(it->path());
  }
  bool done = !failed || failed == std::errc::no_such_file_or_directory;
  for (const fs::path& path : gone) {
    fs::remove_all(path, failed);
    if (failed) Complain(path.filename().string(), failed);
    done = done && !failed;
  }
  return done;
}

}  // namespace muster::fleet
