// The query parameter fieldValidation of writes on Kubernetes paths, and Warning headers.
#pragma once

#include <string>
#include <vector>

#include "api/rest/http/message.h"
#include "api/rest/kube_resources.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// What happens to fields of a job's manifest that Kubernetes does not know. Unknown fields of
/// configuration kinds are always refused (rule C6).
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };
/// The query parameter `fieldValidation`; Warn if absent, as in Kubernetes.
Result<FieldValidation> ReadFieldValidation(const Request& request);

/// The warnings for a job's manifest; none with kIgnore. With kStrict unknown fields are
/// kInvalidArgument in the words of an API server.
Result<std::vector<std::string>> CheckFields(FieldValidation validation,
                                             const KubeResource& resource,
                                             const json::value& manifest);

/// Adds a header `Warning: 299 - "TEXT"` for each, up to limits::kWarningHeaderBytes in all.
void AddWarnings(const std::vector<std::string>& warnings, Response* response);

}  // namespace muster::rest
