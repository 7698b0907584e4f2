// AskAgain: whether a stream that was opened earlier may go on (rule U25). Each kind of stream asks
// every limits::kAskAgainMs.
#pragma once

#include "api/auth/authenticator.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

/// Of a stream of events: kUnauthenticated if its caller's credential is not good any more,
/// kPermissionDenied if the caller may list no events any more. Thread-safe; does not block.
inline Status MayKeepFollowing(const auth::Authenticator& authenticator,
                               const SchedulerService& service, const auth::Principal& who) {
  const Status good = authenticator.StillGood(who);
  return good.ok() ? service.MayFollowEvents(who) : good;
}

}  // namespace muster::api
