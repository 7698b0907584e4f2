// The `admission:` section of the configuration file: the switches that change decisions, by
// Kueue's names (rule A2), as AdmissionSettings.
#pragma once

#include "schedd/base/result.h"
#include "schedd/model/admission_settings.h"
#include "schedd/text/json.h"

namespace muster {

/// The settings of a section, Kueue's defaults for what it leaves out. Every unknown key, wrong
/// value and switch that this version cannot act on is an entry of Error.fields.
Result<AdmissionSettings> ReadAdmissionSettings(const json::value& section);

}  // namespace muster
