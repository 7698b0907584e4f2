// The `admission:` section of the configuration file: the switches that change decisions, by
// Kueue's names (rule A2), as AdmissionSettings.
#pragma once

#include "schedd/base/result.h"
#include "schedd/model/admission_settings.h"
#include "schedd/text/json.h"

namespace muster {

/// The settings of a section, with Kueue's defaults for keys that it leaves out. Error.fields has
/// an entry for every unknown key, every wrong value and every switch that this version does not
/// carry out.
Result<AdmissionSettings> ReadAdmissionSettings(const json::value& section);

}  // namespace muster
