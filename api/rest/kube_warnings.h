// fieldValidation of writes on Kubernetes paths, and Warning headers.
#pragma once

#include <string>
#include <vector>

#include "api/rest/http/message.h"
#include "api/rest/kube_resources.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

/// What is to become of fields that nobody knows. Of configuration kinds they are refused in any
/// case (rule C6).
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };
/// The query parameter `fieldValidation`; Warn if absent, as in Kubernetes.
Result<FieldValidation> ReadFieldValidation(const Request& request);

/// The warnings that a job's manifest earns; none with kIgnore. With kStrict, unknown fields are
/// kInvalidArgument in the words of an API server.
Result<std::vector<std::string>> CheckFields(FieldValidation validation,
                                             const KubeResource& resource,
                                             const json::value& manifest);

/// Adds a header `Warning: 299 - "TEXT"` for each, up to limits::kWarningHeaderBytes together.
void AddWarnings(const std::vector<std::string>& warnings, Response* response);

}  // namespace muster::rest
