// Commands of Slurm that Muster has nothing for. They say so, instead of "command not found".
#include "clients/slurm/command.h"

namespace muster::slurm {

int RunSbcast(int, char**) {
  return Fail("sbcast",
              "files are not copied to nodes by this version: put them into a directory that the "
              "job's nodes share");
}

int RunStrigger(int, char**) {
  return Fail(
      "strigger",
      "triggers are not supported by this version: follow events with `muster get jobs -w`");
}

}  // namespace muster::slurm
