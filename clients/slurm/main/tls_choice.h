// Which of the two programs runs: muster-slurm, which starts without OpenSSL, or muster-slurm-tls.
#pragma once

namespace muster::slurm {

/// In muster-slurm: becomes muster-slurm-tls beside it with the same arguments, if the environment
/// or the configuration file names a server that is asked by https. Prints why and exits with 1 if
/// that fails. Does nothing in muster-slurm-tls.
void TakeTlsProgram(char** argv);

}  // namespace muster::slurm
