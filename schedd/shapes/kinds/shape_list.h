// The list of the kinds of jobs: one line per ShapeOps, and the declaration of each. The file that
// defines one includes this file. Internal to schedd/shapes.
//
// The list is explicit because a static library drops a source that nothing refers to: kinds that
// registered themselves could be missing from a program.
#pragma once

#include "schedd/shapes/kinds/shape_ops.h"

#define MUSTER_JOB_SHAPES(ENTRY) \
  ENTRY(kJobOps)                 \
  ENTRY(kJobSetOps)              \
  ENTRY(kRayJobOps)              \
  ENTRY(kRayClusterOps)          \
  ENTRY(kPyTorchJobOps)          \
  ENTRY(kLeaderWorkerSetOps)     \
  ENTRY(kBatchScriptOps)         \
  ENTRY(kWorkloadOps)

namespace muster::shapes {

#define MUSTER_DECLARE_SHAPE(entry) extern const ShapeOps entry;
MUSTER_JOB_SHAPES(MUSTER_DECLARE_SHAPE)
#undef MUSTER_DECLARE_SHAPE

}  // namespace muster::shapes
