// The section `limits:` of the configuration file (rules U74, U75): what one tenant may take of the
// daemon. There are no flags for it.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/base/tenant_limits.h"
#include "schedd/text/json.h"

namespace muster {

/// The limits of a section, with their defaults for keys that it leaves out. Error.fields has an
/// entry for every unknown key and every wrong value.
Result<TenantLimits> ReadTenantLimits(const json::value& section);

/// Reads the section of the file at `path` into `limits`, or adds its problems.
void TakeTenantLimits(const std::string& path, const json::value& section, TenantLimits* limits,
                      std::vector<FieldError>* problems);

}  // namespace muster
