// What a batch script asks of nodes, features, licences and devices, checked against the
// configuration and the members (rules B42, B43). The sentences are those of Slurm's controller.
#pragma once

#include <span>

#include "schedd/core/member/cluster_view.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/queue_choice.h"
#include "schedd/shapes/parts/parsed_job.h"

namespace muster::api {

/// Refuses what names nothing that exists: member clusters, nodes, features, licences, generic
/// resources, reservations. Fills in what only the configuration knows: CPUs above the partition's
/// memory per CPU, and the size of whole nodes (--exclusive, --mem=0). Jobs of other kinds pass.
Status CheckBatchScript(const ConfigView& config, std::span<const core::ClusterView> members,
                        const std::string& ns, const shapes::QueueChoice& queue,
                        shapes::ParsedJob* job);

}  // namespace muster::api
