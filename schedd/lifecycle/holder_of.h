// HolderOf: what a search for victims sees of a job that holds quota. Pure.
#pragma once

#include "schedd/core/quota/holders.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/job.h"

namespace muster {

/// One that is being stopped for good is on its way out already.
core::HolderPtr HolderOf(const core::QuotaTree& tree, const AdmissionSettings& settings,
                         const JobPtr& job);

}  // namespace muster
