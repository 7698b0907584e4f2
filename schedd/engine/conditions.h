// Conditions: the list of metav1.Condition that a record carries, edited by value.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster {

/// Sets one condition; its transition time moves only if the status does. The record gets a list of
/// its own.
void SetCondition(JobRecord* job, const std::string& type, bool status, const std::string& reason,
                  const std::string& message, WallTime now);

/// Null if the record has none of this type.
const Condition* FindCondition(const JobRecord& job, const std::string& type);

}  // namespace muster
