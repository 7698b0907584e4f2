#include "clients/slurm/main/tls_choice.h"

namespace muster::slurm {

void TakeTlsProgram(char**) {}

}  // namespace muster::slurm
