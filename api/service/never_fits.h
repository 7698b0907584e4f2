// Whether a submission that no member can ever hold is refused (schedd/core/member/never_fits.h).
#pragma once

#include "schedd/base/result.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// kInvalidArgument on `resources`, in Slurm's words, if no member can ever hold the job and its
/// ClusterQueue does not let such jobs wait. The queue's annotation `muster.io/never-fits` says
/// refuse or wait. By default batch scripts are refused, as Slurm does, and other kinds wait, as
/// pods do under Kubernetes until a machine joins.
Status RefuseNeverFits(const WorldView& view, const JobRecord& draft);

}  // namespace muster::api
