// Isolate: namespaces and mounts of one container, set up in the child between fork and exec.
#pragma once

#include <string>

#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

/// Gives the calling process its own view of mounts and host name, as the pod's isolation says, and
/// mounts the container's volumes in it. Paths that the job names (of the host, or parts of
/// volumes) are looked up as the container's user; the process itself changes its user later.
/// Returns "" or a sentence that says what failed. The working directory is another one afterwards.
///
/// A missing mount point is created without changing the host's own directories: below / and system
/// directories, and in directories that the container's user may not write, a private tmpfs with
/// binds of the old entries takes the directory's place; elsewhere an empty directory is created,
/// as the container could do itself. With Isolation::kNone a volume becomes a symbolic link at a
/// path that does not exist yet, or is refused.
std::string Isolate(const SupervisedPod& pod, const ContainerSpec& container);

/// True if this process may create mount and host-name namespaces; with `user_namespace` in a user
/// namespace of its own.
bool CanIsolate(bool user_namespace);

}  // namespace muster::local
