// ReadProc: what /proc tells of a process.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster::steps {

/// At most 4 MiB of the file `name` ("environ", "stat") of a process; "" if it cannot be read.
std::string ReadProc(pid_t pid, const char* name);

}  // namespace muster::steps
