// A World as values of schedd/model, for the tests that compare schedd/core with the oracle.
#pragma once

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "tests/property/oracle/flavors.h"

namespace muster::oracle {

ConfigPtr ConfigOf(const World& world);
AdmissionSettingsPtr SettingsOf(const World& world);

/// The record of a workload: pending, or with the admission of its holding. Job ids are indices
/// plus one.
JobPtr RecordOf(const World& world, int workload);
inline int WorkloadOf(const JobRecord& job) { return static_cast<int>(job.id.value) - 1; }

/// An admission as a holding of the world.
Holding HoldingOf(const World& world, int workload, const Admission& admission);

Reason ReasonOf(Cause cause);
Reason ReasonOf(WaitReason why);

}  // namespace muster::oracle
