// What the handlers of Kubernetes paths share: taking a body for what its path names, answering.
#pragma once

#include <string>

#include "api/rest/kube_handlers.h"
#include "schedd/world/command.h"

namespace muster::rest {

/// An error as metav1.Status.
Response KubeError(const Error& error);
void Refuse(const Responder& respond, const Error& error);
/// The 404 of a path that names nothing.
Response NoSuchPath();

/// A manifest, its apiVersion, kind, namespace and name filled in from the path or agreeing with
/// it.
Result<json::object> ManifestFor(const KubeTarget& target, Result<json::value> document);
/// Posts one change of a configuration object and answers with it.
void ChangeOne(ApiContext& api, const Who& who, ObjectChange change, bool dry_run, int status,
               std::string version, const Responder& respond);

}  // namespace muster::rest
