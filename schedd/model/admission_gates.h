// The gates of AdmissionSettings by the names that Kueue's configuration gives them (rule
// A2).
#pragma once

#include <string_view>

#include "schedd/model/admission_settings.h"

namespace muster {

/// The switch of a gate in `settings`, to read or to set; null if no decision depends on a gate of
/// that name.
bool* FindGate(AdmissionSettings* settings, std::string_view name);

}  // namespace muster
