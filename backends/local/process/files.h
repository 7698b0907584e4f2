// Small files of the local backend: whole reads, writes that are never seen half done, directory
// trees.
//
// Used by the backend and by the supervisor. Thread-safe (no state). A write is a rename, not an
// fsync: a host that goes down takes every pod with it, so only crashes of processes must leave
// whole files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster::local {

/// The whole file. kNotFound if absent; kUnavailable otherwise.
Result<std::string> ReadWholeFile(const std::string& path);
/// Replaces `path` at once (temporary file in the same directory, then rename). `mode` as for open.
Status WriteWholeFile(const std::string& path, std::string_view data, unsigned mode = 0644);
/// mkdir -p. The last directory gets `mode` when it is made here.
Status MakeDirectories(const std::string& path, unsigned mode = 0755);
/// rm -r without following links out of the tree; absent is fine.
Status RemoveTree(const std::string& path);
/// Names in a directory, sorted, without . and ..; empty if it cannot be read.
std::vector<std::string> ListDirectory(const std::string& path);
bool PathExists(const std::string& path);
bool IsDirectory(const std::string& path);

}  // namespace muster::local
