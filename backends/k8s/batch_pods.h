// AddBatchParts: what pods of batch scripts get from their queue on a Kubernetes member: the Slurm
// commands, and directories that they share (annotations muster.io/tools-image and
// muster.io/shared-directories of the LocalQueue or ClusterQueue, rule B37). Pure.
#pragma once

#include "schedd/text/json.h"

namespace muster::k8s {

/// For each pod template of the rendered object that has one of the annotations: an init container
/// that copies the programs of the tools image to kToolsPath (model/member_labels.h), and the
/// claims as volumes, all mounted in the script's container. Templates without them are left alone.
void AddBatchParts(json::value* rendered);

}  // namespace muster::k8s
