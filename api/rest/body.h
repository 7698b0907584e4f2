// Request bodies as JSON values: JSON by default, YAML where the Content-Type says so, nothing
// else.
#pragma once

#include <vector>

#include "api/rest/http/message.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"
#include "schedd/text/parse_budget.h"

namespace muster::rest {

/// What a Content-Type stands for. Official Python clients send none with JSON, so none is JSON.
enum class Media : std::uint8_t { kJson, kYaml, kOther };
Media MediaOf(const std::string& content_type);

/// A fresh budget for what the body becomes; the request holds it until it has been handled.
ParseBudget* BudgetOf(const Request& request);

/// Exactly one document. Empty bodies, several documents and other media types are refused.
Result<json::value> ReadDocument(const Request& request);

/// Every document of a JSON array, one JSON object, or a YAML stream.
Result<std::vector<json::value>> ReadDocuments(const Request& request);

/// The 415 for Media::kOther.
Response UnsupportedMedia(const Request& request);

}  // namespace muster::rest
