// The connection that keeps an allocation of srun alive: muster-slurm leaves it open for the srun
// that it becomes.
#pragma once

#include "clients/steps/wire.h"

namespace muster::steps {

class AllocationEnd {
 public:
  /// Takes the descriptor that MUSTER_ALLOCATION_FD names, and the variable away.
  AllocationEnd();
  /// Ends the allocation; its job ends with `status`.
  void GiveBack(int status);

 private:
  Descriptor socket_;
};

}  // namespace muster::steps
