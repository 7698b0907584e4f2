// ReadMemberFile: reads the files that a kubeconfig names, only below the allowed directories, only
// regular files, only small ones. The links of both are resolved at each reading, because rotated
// credentials often come as a link that leads to another directory.
//
// Thread-safe. Blocks on the disk. Error sentences hold no path, because they reach users of the
// API.
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

/// A file's text with the stamp that it had when it was read.
struct FileContent {
  std::string content;
  FileStamp stamp;
};

/// Reads at most 1 MiB. kInvalidArgument, with the end of a sentence whose subject is the field:
/// "does not exist", "lies outside the allowed directory", ...
Result<FileContent> ReadMemberFile(const std::string& path,
                                   const std::vector<std::string>& allowed_directories);

/// The stamp of the file that `path` leads to now; a default one if there is none.
FileStamp StampOf(const std::string& path);

}  // namespace muster::k8s
