// Starting one container: pipes for its output, the child's set-up, exec.
#pragma once

#include <sys/types.h>

#include <string>

#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

struct Launched {
  pid_t pid = 0;    // 0: not started
  int output = -1;  // read end of stdout (and stderr, unless it has a file of its own)
  int errors = -1;  // read end of stderr, -1 if it shares output
  int output_file = -1, error_file = -1;  // the files that the pod names, if they were opened
  std::string problem;                    // why it was not started, one sentence
};

/// What argv[0] means on the container's own PATH; "" if nothing there can be run. argv must not be
/// empty.
std::string FindProgram(const ContainerSpec& container);

/// Forks and execs; returns once the exec has happened or failed. The child leads its own session.
/// It opens whatever the pod names (working directory, input, and with `open_files` its output
/// files) as the container's user and in the container's view; the output files are handed back,
/// also if the start fails after that.
Launched Launch(const SupervisedPod& pod, const ContainerSpec& container, const PodCgroups& cgroups,
                bool open_files);

}  // namespace muster::local
