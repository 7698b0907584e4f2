// Kubernetes' questions about identity and rights (authentication.k8s.io/v1 and
// authorization.k8s.io/v1): objects that are created, answered in their status, and not kept.
#pragma once

#include <span>

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// For discovery, and for the check of a body's kind.
struct ReviewResource {
  const char* group;
  const char* plural;
  const char* kind;
  bool namespaced;
};
std::span<const ReviewResource> ReviewResources();

Response ReviewToken(ApiContext& api, const Caller& who, Request& request);
Response ReviewSelf(ApiContext& api, const Caller& who, Request& request);
Response ReviewSelfAccess(ApiContext& api, const Caller& who, Request& request);
/// SubjectAccessReview, and LocalSubjectAccessReview below a namespace.
Response ReviewAccess(ApiContext& api, const Caller& who, Request& request);
Response ReviewSelfRules(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
