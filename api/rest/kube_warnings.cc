// What an API server does with unknown fields: ignore them, warn, or refuse them, as the client
// asks. The unknown fields and other warnings of a manifest are found by schedd/shapes. Headers are
// bounded, since a proxy refuses a response with too many of them; the warnings that do not fit are
// dropped.
#include "api/rest/kube_warnings.h"

#include "api/rest/query_reader.h"
#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/parts/manifest_warnings.h"

namespace muster::rest {
namespace {

// A quoted-string of RFC 9110. Control characters, which would end the header, become '?'.
std::string QuotedString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  }
  return out + "\"";
}

}  // namespace

Result<FieldValidation> ReadFieldValidation(const Request& request) {
  const std::string text = QueryReader(request).Text("fieldValidation");
  if (text.empty() || text == "Warn") return FieldValidation::kWarn;
  if (text == "Ignore") return FieldValidation::kIgnore;
  if (text == "Strict") return FieldValidation::kStrict;
  return InvalidField("fieldValidation",
                      "Unsupported value: " + Quoted(text) +
                          ": supported values: \"Ignore\", \"Strict\", \"Warn\"");
}

Result<std::vector<std::string>> CheckFields(FieldValidation validation,
                                             const KubeResource& resource,
                                             const json::value& manifest) {
  if (validation == FieldValidation::kIgnore) return std::vector<std::string>();
  const shapes::ManifestWarnings warnings = shapes::WarningsOf(manifest);
  if (validation == FieldValidation::kWarn || warnings.unknown_fields.empty())
    return warnings.All();
  std::string all;
  for (const std::string& one : warnings.unknown_fields) all += (all.empty() ? "" : ", ") + one;
  return InvalidArgument(resource.kind + " in version \"" + resource.version +
                         "\" cannot be handled as a " + resource.kind +
                         ": strict decoding error: " + all);
}

void AddWarnings(const std::vector<std::string>& warnings, Response* response) {
  std::size_t bytes = 0;
  for (const std::string& warning : warnings) {
    std::string value = "299 - " + QuotedString(warning);
    bytes += value.size();
    if (bytes > limits::kWarningHeaderBytes) return;
    response->headers.emplace_back("Warning", std::move(value));
  }
}

}  // namespace muster::rest
