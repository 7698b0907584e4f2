// The database's URL, with what a client of a database that may hang or move needs.
//
// Pure apart from the environment; thread-safe.
#pragma once

#include <string>

namespace muster::pg {

/// `url` (a URL or a connection string of libpq) with `target_session_attrs=read-write`, a connect
/// timeout, keepalives and a TCP user timeout where it does not say them itself (nor, for the first
/// two, libpq's environment). A text that libpq cannot read is returned as it is: connecting says
/// why.
std::string CompleteUrl(const std::string& url);

}  // namespace muster::pg
