// The accounts of this host, one look-up each, as its name service (NSS) tells them. An account
// that does not exist and a name service that does not answer are two different things: no caller
// may take the second for the first.
//
// Thread-safe. Each call may go to a directory server and take seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schedd/base/result.h"

namespace muster {

/// What passwd(5) says of one account.
struct PasswdEntry {
  std::uint32_t uid = 0, gid = 0;
  std::string name, home, shell;
};

/// nullopt: there is no such account. kUnavailable: the name service does not answer.
Result<std::optional<PasswdEntry>> PasswdByUid(std::uint32_t uid);
Result<std::optional<PasswdEntry>> PasswdByName(const std::string& name);

/// The name of a group; the same errors.
Result<std::optional<std::string>> GroupNameOf(std::uint32_t gid);

/// Calls one of libc's *_r functions with a buffer that grows while it returns ERANGE, up to 1 MiB,
/// and again after EINTR. Returns 0 if it was answered, also if there is no such entry; else its
/// error.
int WithEntryBuffer(const std::function<int(char* buffer, std::size_t size)>& ask);

}  // namespace muster
