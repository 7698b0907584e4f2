// muster-srun: srun inside a job, and sattach. It runs the command whose name it was called by.
#include <cstdio>
#include <cstring>

#include "clients/steps/srun/commands.h"

int main(int argc, char** argv) {
  for (int shift = 0; shift < 2 && shift < argc; ++shift) {
    const char* slash = std::strrchr(argv[shift], '/');
    const char* name = slash == nullptr ? argv[shift] : slash + 1;
    if (std::strcmp(name, "srun") == 0) return muster::steps::RunSrun(argc - shift, argv + shift);
    if (std::strcmp(name, "sattach") == 0)
      return muster::steps::RunSattach(argc - shift, argv + shift);
  }
  std::fputs("muster-srun: call it as srun or sattach (or give that as first word)\n", stderr);
  return 255;
}
