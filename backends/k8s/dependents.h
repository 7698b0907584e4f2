// The ConfigMaps and Secrets of an attempt on its member (rule D10): there before
// its pods, and gone with the object that they belong to. Runs on the session's strand.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Makes each of `dependents` exist with its content and, unless `owner_uid` is "", belong to
/// `owner`. Those of ours that exist are brought up to date; another's with the same content is
/// taken as it is, with other content it is kAlreadyExists. A namespace that is missing is made.
/// `done` is called on the strand.
void EnsureDependents(const SessionPtr& session, std::vector<ManifestText> dependents,
                      const RemoteObject& owner, const std::string& owner_uid, Callback<Done> done);

/// Makes the namespace; one that exists is fine.
void EnsureNamespace(const SessionPtr& session, const std::string& ns, Callback<Done> done);

/// True if an answer says that the namespace of what was to be made does not exist.
bool LacksNamespace(const ApiResponse& response);

}  // namespace muster::k8s
