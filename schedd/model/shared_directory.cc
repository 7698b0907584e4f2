#include "schedd/model/shared_directory.h"

#include <algorithm>

#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/names.h"
#include "schedd/model/member_labels.h"

namespace muster {
namespace {

// Absolute, without empty parts, "." and "..": a path names one place in one way.
bool IsPlainPath(std::string_view path) {
  if (path.size() < 2 || path[0] != '/' || path.size() > limits::kSharedPathBytes) return false;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c != 0x7f; });
}

bool IsAtOrBelow(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

Result<SharedDirectory> ParseOne(std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return InvalidArgument(quoted + " is not CLAIM:/PATH[:ro]");
  SharedDirectory one;
  one.claim = text.substr(0, colon);
  std::string_view path = text.substr(colon + 1);
  if (const std::size_t mode = path.find(':'); mode != std::string_view::npos) {
    if (path.substr(mode) != ":ro") return InvalidArgument(quoted + " may end with :ro alone");
    one.read_only = true;
    path = path.substr(0, mode);
  }
  one.path = path;
  if (!IsDnsSubdomain(one.claim))
    return InvalidArgument(quoted + ": the name of a PersistentVolumeClaim " + kDnsSubdomainRule);
  if (!IsPlainPath(one.path)) return InvalidArgument(quoted + ": /PATH must be absolute and plain");
  for (const std::string_view own : {kToolsPath, kBatchVolumePath}) {
    if (IsAtOrBelow(one.path, own))
      return InvalidArgument(quoted + ": " + std::string(own) + " is Muster's own");
  }
  return one;
}

}  // namespace

Result<std::vector<SharedDirectory>> ParseSharedDirectories(std::string_view text) {
  std::vector<SharedDirectory> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    Result<SharedDirectory> one = ParseOne(text.substr(0, end));
    if (!one.ok()) return one.error();
    for (const SharedDirectory& other : all) {
      if (other.path == one->path) return InvalidArgument(one->path + " is given twice");
    }
    all.push_back(std::move(*one));
    if (all.size() > limits::kSharedDirectories) {
      return InvalidArgument("must have at most " + std::to_string(limits::kSharedDirectories) +
                             " directories");
    }
    // A comma is followed by another directory.
    if (end + 1 == text.size()) return InvalidArgument("must not end with a comma");
    text = end < text.size() ? text.substr(end + 1) : std::string_view();
  }
  return all;
}

}  // namespace muster
