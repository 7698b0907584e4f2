#include "api/service/registered_member.h"

#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::api {

std::string KubeconfigSecretOf(const StoredObject& member) {
  const auto manifest = ParseJson(member.manifest);
  return manifest.ok() ? TextAt(*manifest, {"metadata", "annotations", kKubeconfigSecret}) : "";
}

}  // namespace muster::api
