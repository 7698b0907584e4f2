// Every field of the principal that the audit trail shows; what only decides (uid, expiry) stays
// with the principal.
#include "api/service/actor.h"

namespace muster::api {

Actor ActorOf(const auth::Principal& who) {
  return {who.user, who.method, who.groups, who.impersonator, who.source, who.request_id};
}

}  // namespace muster::api
