// Small files of the local backend: whole reads, writes that a reader never sees half done,
// directory trees.
//
// Used by the backend and by the supervisor. Thread-safe (no state). A write is a rename without an
// fsync: a host that goes down takes every pod with it, so files must be whole only after crashes
// of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster::local {

/// The whole file, or its first `most` bytes. kNotFound if it is absent; kUnavailable for other
/// errors.
Result<std::string> ReadWholeFile(const std::string& path, std::size_t most = SIZE_MAX);
/// Replaces `path` in one step (a temporary file in the same directory, then a rename). The file
/// gets exactly `mode`, whatever the umask is.
Status WriteWholeFile(const std::string& path, std::string_view data, unsigned mode = 0644);
/// mkdir -p. The last directory gets `mode` if it is created here.
Status MakeDirectories(const std::string& path, unsigned mode = 0755);
/// rm -r, which does not follow links out of the tree. An absent path is no error.
Status RemoveTree(const std::string& path);
/// Names in a directory, sorted, without . and ..; empty if it cannot be read.
std::vector<std::string> ListDirectory(const std::string& path);
/// As ListDirectory, of the directories alone. Files are not asked about where the listing tells
/// what they are; in a control group, asking costs more than all the rest.
std::vector<std::string> ListDirectories(const std::string& path);
bool PathExists(const std::string& path);
bool IsDirectory(const std::string& path);

}  // namespace muster::local
