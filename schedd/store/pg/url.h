// Completes the database's URL with the settings that a client needs when the database may hang or
// move to another server.
//
// Pure apart from the environment; thread-safe.
#pragma once

#include <string>

namespace muster::pg {

/// Adds `target_session_attrs=read-write`, a connect timeout, keepalives and a TCP user timeout to
/// `url` (a URL or connection string of libpq) unless `url` sets them. The first two are also left
/// alone if libpq's environment variables set them. A text that libpq cannot parse is returned
/// unchanged: connecting then fails with libpq's reason.
std::string CompleteUrl(const std::string& url);

}  // namespace muster::pg
