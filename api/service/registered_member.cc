#include "api/service/registered_member.h"

#include "schedd/text/json.h"

namespace muster::api {

std::string KubeconfigSecretOf(const StoredObject& member) {
  const auto manifest = ParseJson(member.manifest);
  if (!manifest.ok()) return "";
  const json::value* at = &*manifest;
  for (const char* key : {"metadata", "annotations", kKubeconfigSecret}) {
    at = at->is_object() ? at->get_object().if_contains(key) : nullptr;
    if (at == nullptr) return "";
  }
  return at->is_string() ? std::string(at->get_string()) : "";
}

}  // namespace muster::api
