// Passwords that were given on the command line, where every user of the host sees them.
#pragma once

namespace muster {

/// Overwrites, in the process's own command line as ps(1) shows it, each database URL (--postgres,
/// --postgres-owner) of which `may_have_password` is true. True if there was one. Call it after the
/// command line was read, before there is another thread; until then the URL can be seen.
bool HideDatabasePasswords(int argc, char** argv, bool (*may_have_password)(const char* url));

}  // namespace muster
