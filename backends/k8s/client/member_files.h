// Files that a kubeconfig names: read only below the allowed directories, links resolved at each
// reading, small ones, regular ones.
//
// Thread-safe. Blocks on the disk. Sentences hold no path: they reach users of the API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::k8s {

/// Tells one content of a file from the next without reading it.
struct FileStamp {
  std::int64_t mtime_ns = 0, size = -1;
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

struct FileRead {
  std::string content;
  FileStamp stamp;
};

/// At most 1 MiB. kInvalidArgument, with the end of a sentence whose subject is the field: "does
/// not exist", "lies outside the allowed directory", ...
Result<FileRead> ReadMemberFile(const std::string& path,
                                const std::vector<std::string>& allowed_directories);

/// The stamp of what `path` leads to now; a default one if nothing is there.
FileStamp StampOf(const std::string& path);

/// A directory as ReadMemberFile compares it; "" if it does not exist.
std::string ResolvedDirectory(const std::string& path);

}  // namespace muster::k8s
