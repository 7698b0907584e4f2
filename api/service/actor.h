// The Actor of a command: what the audit trail and the engine know of the caller.
#pragma once

#include "api/auth/principal.h"
#include "schedd/world/command.h"

namespace muster::api {

Actor ActorOf(const auth::Principal& who);

}  // namespace muster::api
