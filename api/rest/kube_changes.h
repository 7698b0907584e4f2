// PUT and PATCH on Kubernetes paths, and what all handlers of Kubernetes paths share: errors,
// checking a body against its path, posting a change.
#pragma once

#include <string>

#include "api/rest/kube_objects.h"
#include "schedd/world/command.h"

namespace muster::rest {

/// PUT and PATCH of an object, and of its status.
void KubeWrite(ApiContext& api, const Caller& who, Request& request, Responder respond);
void KubeWriteStatus(ApiContext& api, const Caller& who, Request& request, Responder respond);

/// An error as metav1.Status.
Response KubeError(const Error& error);
void Refuse(const Responder& respond, const Error& error);
/// The 404 of a path that names no served resource.
Response NoSuchPath(const Request& request);

/// A manifest whose apiVersion, kind, namespace and name are those of the path: absent ones are
/// filled in, others must agree.
Result<json::object> ManifestFor(const KubeTarget& target, Result<json::value> document);
/// Posts one change of a configuration object and answers with the changed object. `replace` is
/// what a change of an object that must exist asks for: update or patch.
void ChangeOne(ApiContext& api, const Caller& who, ObjectChange change, bool dry_run, int status,
               std::string version, const Responder& respond,
               auth::Verb replace = auth::Verb::kUpdate);

}  // namespace muster::rest
