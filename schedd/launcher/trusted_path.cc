// Walks the path from the root down: when a directory is in order, nobody but root can have changed
// what the next name in it means.
#include "schedd/launcher/trusted_path.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace muster {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
// Users whose jobs run below it pass through, but need not list it.
constexpr mode_t kPassOnly = 0711;

Error Untrusted(const std::string& place, const std::string& why) {
  return {Code::kFailedPrecondition, place + ": " + why};
}

Status CheckOne(const std::string& place, bool above) {
  struct stat info {};
  if (::lstat(place.c_str(), &info) != 0) return Untrusted(place, std::strerror(errno));
  if (S_ISLNK(info.st_mode)) return Untrusted(place, "is a link; give the path that it leads to");
  if (info.st_uid != 0) return Untrusted(place, "must belong to root");
  const bool sticky = above && S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & kOthersWrite) != 0 && !sticky)
    return Untrusted(place, "others than root may write to it");
  return Done{};
}

// Without a slash at its end.
std::filesystem::path Whole(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

// `above`: `whole` is only on the way to the place that is used.
Status CheckAll(const std::filesystem::path& whole, bool above) {
  if (!whole.is_absolute()) return Untrusted(whole.string(), "must be an absolute path");
  std::filesystem::path place;
  for (const std::filesystem::path& part : whole) {
    place /= part;
    if (Status sound = CheckOne(place.string(), above || place != whole); !sound.ok()) return sound;
  }
  return Done{};
}

}  // namespace

Status CheckTrusted(const std::string& path) { return CheckAll(Whole(path), false); }

// If another user is quicker to make it in a sticky directory, it is that user's, and is refused.
Status MakeTrustedDirectory(const std::string& path) {
  const std::filesystem::path whole = Whole(path);
  if (Status sound = CheckAll(whole.parent_path(), true); !sound.ok()) return sound;
  if (::mkdir(whole.c_str(), kPassOnly) == 0) {
    if (::chmod(whole.c_str(), kPassOnly) != 0) return Untrusted(path, std::strerror(errno));
  } else if (errno != EEXIST) {
    return Untrusted(path, std::strerror(errno));
  }
  return CheckTrusted(path);
}

}  // namespace muster
