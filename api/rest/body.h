// Request bodies as JSON values: JSON by default, YAML or, on Kubernetes paths, Kubernetes'
// protobuf if the Content-Type says so, nothing else.
#pragma once

#include <vector>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"
#include "schedd/text/parse_budget.h"

namespace muster::rest {

/// The format that a Content-Type stands for. No Content-Type is JSON, because official Python
/// clients send none with JSON.
enum class Media : std::uint8_t { kJson, kYaml, kProtobuf, kOther };
Media MediaOf(const std::string& content_type);
/// False if the format is not taken on the path of the request: the answer is UnsupportedMedia.
bool TakesMedia(const Request& request);

/// A new budget for the memory that the body may become. The request holds it until it is handled.
ParseBudget* BudgetOf(const Request& request);

/// Exactly one document. Empty bodies, several documents and other formats are refused.
Result<json::value> ReadDocument(const Request& request);

/// All documents of a JSON array, a JSON object, or a YAML stream.
Result<std::vector<json::value>> ReadDocuments(const Request& request);

/// The 415 for a format that is not taken.
Response UnsupportedMedia(const Request& request);

}  // namespace muster::rest
