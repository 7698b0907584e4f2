// A World in the terms of schedd/model, for the tests that hold schedd/core against the oracle.
#pragma once

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "tests/property/oracle/flavors.h"

namespace muster::oracle {

ConfigPtr ConfigOf(const World& world);
AdmissionSettingsPtr SettingsOf(const World& world);

/// The record of a workload: pending, or holding what the world says it holds. Job ids are indices
/// plus one.
JobPtr RecordOf(const World& world, int workload);
inline int WorkloadOf(const JobRecord& job) { return static_cast<int>(job.id.value) - 1; }

/// What an admission gave, in the oracle's terms.
Holding HoldingOf(const World& world, int workload, const Admission& admission);

Reason ReasonOf(Cause cause);
Reason ReasonOf(Why why);

}  // namespace muster::oracle
