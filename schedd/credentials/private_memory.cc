// Jobs of a daemon without root run as its own user (rule U61), so the user alone does not part
// them from its keys.
#include "schedd/credentials/private_memory.h"

#include <sys/prctl.h>

namespace muster {

void KeepMemoryPrivate() { static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }

}  // namespace muster
