// Namespaces and mounts of one container, set up in the child between fork and exec.
#pragma once

#include <string>

#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

/// Gives the calling process its own mount and host-name view as the pod's isolation says, and puts
/// the container's volumes at their places there. What the job names (paths of the host, parts of
/// volumes) is looked up as the container's user; the process itself changes its user later.
/// Returns "" or a sentence that says what could not be done.
///
/// A mount point that the host lacks is made without touching the host's own directories where that
/// matters: below / and the system's directories a private tmpfs with binds of what was there takes
/// the directory's place, as it does in a directory that the container's user may not write;
/// elsewhere an empty directory is made, as the container itself could. With Isolation::kNone a
/// volume becomes a symbolic link at a path that does not exist yet, or is refused.
std::string Isolate(const SupervisedPod& pod, const ContainerSpec& container);

/// True if this process may make mount and host-name namespaces (in a user namespace of its own if
/// asked).
bool CanIsolate(bool user_namespace);

}  // namespace muster::local
