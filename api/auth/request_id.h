// Request ids: one name per request, in the answer, the log and the audit trail.
#pragma once

#include <string>
#include <string_view>

namespace muster::auth {

/// An id that no other request of any daemon has: 16 random hexadecimal digits of this process, a
/// dash and a number. Thread-safe.
std::string NextRequestId();

/// True if a client's own id may be taken over: 1 to limits::kRequestIdBytes characters of
/// A-Z, a-z, 0-9, '.', '_' and '-'.
bool SaneRequestId(std::string_view id);

}  // namespace muster::auth
