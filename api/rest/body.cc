// A body is small but may become large in memory: YAML aliases and deep JSON grow when they are
// parsed. So every parse charges a ParseBudget. The budget lives in the request, since the parsed
// values live as long as the request does.
#include "api/rest/body.h"

#include <boost/beast/core/string.hpp>
#include <memory>
#include <utility>

#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_protobuf.h"
#include "schedd/text/yaml.h"

namespace muster::rest {
namespace {

Error EmptyBody() { return InvalidArgument("the request has no body"); }

// White space alone counts as no body.
bool Blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

// Parameters such as charset are ignored.
Media MediaOf(const std::string& content_type) {
  std::string type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  const auto is = [&](const char* other) { return boost::beast::iequals(type, other); };
  if (type.empty() || is("application/json")) return Media::kJson;
  if (is("application/yaml") || is("application/x-yaml") || is("text/yaml")) return Media::kYaml;
  if (is("application/vnd.kubernetes.protobuf")) return Media::kProtobuf;
  return Media::kOther;
}

bool TakesMedia(const Request& request) {
  const Media media = MediaOf(request.content_type);
  return media != Media::kOther && (media != Media::kProtobuf || request.IsKubernetesPath());
}

ParseBudget* BudgetOf(const Request& request) {
  auto budget = std::make_shared<ParseBudget>(ParseBudget::ForRequest());
  request.held = budget;
  return budget.get();
}

Result<json::value> ReadDocument(const Request& request) {
  if (Blank(request.body)) return EmptyBody();
  ParseBudget* budget = BudgetOf(request);
  const Media media = MediaOf(request.content_type);
  if (media == Media::kJson) return ParseJson(request.body, budget);
  if (media == Media::kProtobuf) return ParseKubeProtobuf(request.body, budget);
  Result<std::vector<json::value>> documents = ParseYaml(request.body, budget);
  if (!documents.ok()) return documents.error();
  if (documents->empty()) return EmptyBody();
  if (documents->size() > 1) {
    return InvalidArgument("the body holds " + std::to_string(documents->size()) +
                           " documents and this path takes one: send them to /v1/apply");
  }
  return std::move(documents->front());
}

Result<std::vector<json::value>> ReadDocuments(const Request& request) {
  if (Blank(request.body)) return EmptyBody();
  ParseBudget* budget = BudgetOf(request);
  if (MediaOf(request.content_type) == Media::kYaml) return ParseYaml(request.body, budget);
  Result<json::value> document = ParseJson(request.body, budget);
  if (!document.ok()) return document.error();
  std::vector<json::value> documents;
  // A JSON array is a list of documents; a single value is one document.
  if (json::array* array = document->if_array()) {
    for (json::value& item : *array) documents.push_back(std::move(item));
  } else {
    documents.push_back(std::move(*document));
  }
  return documents;
}

Response UnsupportedMedia(const Request& request) {
  return PlainProblem(request.IsKubernetesPath(), 415,
                      "the Content-Type is not taken: send application/json or application/yaml "
                      "(curl: -H 'Content-Type: application/json')");
}

}  // namespace muster::rest
