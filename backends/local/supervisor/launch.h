// Launch: starts one container: pipes for its output, the child's set-up, exec.
#pragma once

#include <sys/types.h>

#include <string>

#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

/// The started process with the ends of its pipes, or the reason why it was not started.
struct LaunchedContainer {
  pid_t pid = 0;    // 0: not started
  int output = -1;  // read end of stdout (and stderr, unless it has a file of its own)
  int errors = -1;  // read end of stderr, -1 if it shares output
  int output_file = -1, error_file = -1;  // files of the pod's annotations, if they were opened
  std::string problem;                    // why it was not started, one sentence
};

/// The path of argv[0] by the container's own PATH; "" if there is no such program. argv must not
/// be empty.
std::string FindProgram(const ContainerSpec& container);

/// Forks and execs; returns when the exec has happened or failed. The child leads its own session.
/// It opens the files that the pod names (working directory, input and, with `open_files`, output
/// files) as the container's user and in the container's view. Output files are passed back, also
/// if the start fails after that.
LaunchedContainer Launch(const SupervisedPod& pod, const ContainerSpec& container,
                         const PodCgroups& cgroups, bool open_files);

}  // namespace muster::local
