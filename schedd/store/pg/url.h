// Completes the database's URL with the settings that a client needs when the database may hang or
// move to another server.
//
// Pure apart from the environment; thread-safe.
#pragma once

#include <string>

#include "schedd/base/result.h"

namespace muster::pg {

/// Adds `target_session_attrs=read-write`, a connect timeout, keepalives and a TCP user timeout to
/// `url` (a URL or connection string of libpq) unless `url` sets them. The first two are also left
/// alone if libpq's environment variables set them. kInvalidArgument if libpq cannot parse it; the
/// error does not repeat it, because it may have a password (S25).
Result<std::string> CompleteUrl(const std::string& url);

/// Whether the URL or connection string has a password of its own; also true for a text that libpq
/// cannot parse, of which nobody knows. One that comes from PGPASSWORD or a password file does not
/// count.
bool MayHavePassword(const char* url);

}  // namespace muster::pg
