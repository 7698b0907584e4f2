// The methods of Request, and the names of methods.
#include "api/rest/http/message.h"

namespace muster::rest {

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "";
}

const std::string* Request::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool Request::IsKubernetesPath() const {
  return !segments.empty() && (segments[0] == "api" || segments[0] == "apis");
}

}  // namespace muster::rest
