// muster-slurm: one program with many names. It runs the command whose name it was called by (each
// name is a link to it), or the command that its first argument names.
//
// muster-slurm-tls is the same program with TLS; muster-slurm becomes it where it has to.
#include <csignal>
#include <cstdio>
#include <cstring>

#include "clients/slurm/command.h"
#include "clients/slurm/main/tls_choice.h"
#include "schedd/credentials/private_memory.h"

int main(int argc, char** argv) {
  using Run = int (*)(int, char**);
  struct Name {
    const char* name;
    Run run;
  };
  static constexpr Name kNames[] = {
      {"sbatch", muster::slurm::RunSbatch},     {"squeue", muster::slurm::RunSqueue},
      {"scancel", muster::slurm::RunScancel},   {"sacct", muster::slurm::RunSacct},
      {"sinfo", muster::slurm::RunSinfo},       {"scontrol", muster::slurm::RunScontrol},
      {"sacctmgr", muster::slurm::RunSacctmgr}, {"sstat", muster::slurm::RunSstat},
      {"seff", muster::slurm::RunSeff},         {"salloc", muster::slurm::RunSalloc},
      {"srun", muster::slurm::RunSrun},         {"sbcast", muster::slurm::RunSbcast},
      {"strigger", muster::slurm::RunStrigger},
  };
  muster::slurm::TakeTlsProgram(argv);
  muster::KeepMemoryPrivate();
  // When the reader of a pipe is gone (squeue | head), writes fail instead of killing the process
  // by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  for (int shift = 0; shift < 2 && shift < argc; ++shift) {
    char* slash = std::strrchr(argv[shift], '/');
    char* name = slash == nullptr ? argv[shift] : slash + 1;
    for (const Name& known : kNames) {
      if (std::strcmp(known.name, name) != 0) continue;
      // getopt_long begins its messages with this word.
      argv[shift] = name;
      return known.run(argc - shift, argv + shift);
    }
  }
  std::fputs(
      "muster-slurm: call it as sbatch, squeue, scancel, sacct, sinfo, scontrol, sacctmgr, sstat "
      "or "
      "seff (or give that as first word)\n",
      stderr);
  return 255;
}
