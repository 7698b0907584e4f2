// What becomes of a submission that no member can ever hold (schedd/core/never_fits.h).
#pragma once

#include "schedd/base/result.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// kInvalidArgument on `resources`, in Slurm's words, if no member can ever hold it and its
/// ClusterQueue does not let such jobs wait: annotation `muster.io/never-fits` refuse or wait; by
/// default batch scripts are refused, as Slurm does, and other kinds wait, as under Kubernetes.
Status RefuseNeverFits(const WorldView& view, const JobRecord& draft);

}  // namespace muster::api
