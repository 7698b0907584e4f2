// What a change of configuration objects asks for (rules U20, U25, U26): the verb on the object, no
// grant of what the caller has not, and no quota taken from a cohort that is not the caller's.
//
// Pure over the authorizer; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "schedd/base/clock.h"
#include "schedd/model/config.h"
#include "schedd/world/object_change.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// What a put without a precondition of its own must be bound to, so that who may only create never
/// overwrites an object that comes meanwhile, and who may only update never makes one again that
/// goes.
enum class PutFence : std::uint8_t { kNone, kMustNotExist, kMustExist };

/// Whether `who` may put this object: create if there is none, else update. Only what the put turns
/// out to be is asked for, so the audit trail has no refusal of what is permitted. Who may do
/// neither learns nothing about the object's existence.
Result<PutFence> MayPut(const auth::Authorizer& authorizer, const auth::Principal& who,
                        const ObjectTable& objects, ObjectKind kind, const std::string& ns,
                        const std::string& name);
/// Binds the change, which was normalised, to the fence.
void SetFence(PutFence fence, ObjectChange* change);

/// True if the object is an access token of `who` itself.
bool OwnsToken(const ConfigView& config, const auth::Principal& who, ObjectKind kind,
               const std::string& name);
/// True if the object is an access token of `who` itself, and `who` has the verb on
/// accesstokens/own.
bool MayOwnToken(const auth::Authorizer& authorizer, const auth::Principal& who, auth::Verb verb,
                 const ConfigView& config, ObjectKind kind, const std::string& name);

/// Whether `who` may make this change; `replace` is what a change of an object that must exist
/// asks. A token of its own `who` may remove by accesstokens/own. The fence is that of MayPut.
Result<PutFence> MayChange(const auth::Authorizer& authorizer, const auth::Principal& who,
                           const ConfigView& config, const ObjectTable& objects,
                           const ObjectChange& change, auth::Verb replace);

/// For roles, bindings and access tokens among the changes, which lead from `before` to `after`:
/// kPermissionDenied if one would give rights that `who` has not (auth::CheckGrant). The same for a
/// ClusterQueue whose Pod Security level becomes weaker, which needs the verb escalate on it (rule
/// U71), and for a LocalQueue that is pointed at a ClusterQueue on which `who` has neither use nor
/// update (rule U27). kInvalidArgument for a token that, as seen at `now`, has no end or lives too
/// long (rule U12). Names the document if there are several.
Status JudgeGrants(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const ConfigView& before, const ConfigView& after,
                   const std::vector<ObjectChange>& changes, WallTime now);

/// The rule about quotas (quota_rights.h) for changes that lead from `before` to `after`. Changes
/// of a caller to whom it applies are fenced with the versions in `objects`, so that no other
/// change comes between the comparison and the commit.
Status JudgeQuotas(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const ConfigView& before, const ConfigView& after, const ObjectTable& objects,
                   std::vector<ObjectChange>* changes);

}  // namespace muster::api
