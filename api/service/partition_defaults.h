// What a partition gives to scripts that do not ask for it themselves: its default time and its
// default memory per CPU (rule B29). Pure.
#pragma once

#include "schedd/base/result.h"
#include "schedd/model/queues.h"
#include "schedd/shapes/parts/parsed_job.h"

namespace muster::api {

/// Writes the defaults into the script's manifest and reads it anew, so that everything follows
/// from it; no effect if the job is no script or asks for both. Without a default time the longest
/// time of the partition is the default, as in Slurm.
Status ApplyPartitionDefaults(const PartitionProperties& partition, shapes::ParsedJob* job);

}  // namespace muster::api
