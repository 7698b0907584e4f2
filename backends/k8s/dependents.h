// EnsureDependents: the ConfigMaps and Secrets of an attempt on its member (rule D10). They exist
// before the pods, and the member deletes them with the object that owns them. Runs on the
// session's strand.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Makes each of `dependents` exist with its content and, unless `owner_uid` is "", be owned by
/// `owner`. An existing one that is Muster's is brought up to date. A foreign one with the same
/// content is used as it is; with other content it is kAlreadyExists. A missing namespace is
/// created. `done` is called on the strand.
void EnsureDependents(const SessionPtr& session, std::vector<ManifestText> dependents,
                      const RemoteObject& owner, const std::string& owner_uid, Callback<Done> done);

/// Creates the namespace; an existing one is no error.
void EnsureNamespace(const SessionPtr& session, const std::string& ns, Callback<Done> done);

/// True if an answer says that the namespace of the object to be created does not exist.
bool LacksNamespace(const ApiResponse& response);

}  // namespace muster::k8s
