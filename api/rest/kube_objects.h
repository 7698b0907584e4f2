// Handlers of objects of every kind below /api/v1 and /apis/GROUP/VERSION. They answer as a
// Kubernetes API server would, with metav1.Status for errors; watch is refused by name.
#pragma once

#include <string>

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"
#include "api/rest/kube_resources.h"
#include "api/service/resource_refs.h"

namespace muster::rest {

/// What a Kubernetes path names. `resource` is null if nothing is served there.
struct KubeTarget {
  const KubeResource* resource = nullptr;
  std::string ns, name;
  bool status = false;  // the path ends in /status

  api::PathAsk Ask(auth::Verb verb) const {
    return {verb, status ? api::kStatusSubresource : std::string_view()};
  }
};
KubeTarget KubeTargetOf(const Request& request);

/// metav1.Status of a deletion that took effect.
Response KubeDeleted(const KubeTarget& target, const std::string& uid);

Response KubeList(ApiContext& api, const Caller& who, Request& request);
Response KubeGet(ApiContext& api, const Caller& who, Request& request);
void KubeCreate(ApiContext& api, const Caller& who, Request& request, Responder respond);
void KubeDelete(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
