// The objects that a start of the daemon puts: the namespace `default`, a MemberCluster for each
// member that the configuration declares, and the default roles, if there are no roles yet; and
// what it says of members that it does not declare.
#pragma once

#include <stop_token>

#include "schedd/base/clock.h"
#include "schedd/base/result.h"
#include "schedd/daemon/config.h"
#include "schedd/dispatch/dispatcher.h"
#include "schedd/engine/engine.h"

namespace muster {

/// Puts the objects; blocks for up to a minute. Meanwhile the lead may be lost and won again, and
/// the database may go away and come back: that is no reason to give up a start. kCancelled after a
/// request to stop.
Status DeclareObjects(Engine& engine, const Clock& clock, const DaemonConfig& config,
                      const std::stop_token& stop);

/// Reports members as away that were declared to an earlier daemon and are not declared to this
/// one: no new job goes there, and the jobs that run there are waited for.
void TellUnserved(Engine& engine, const dispatch::Dispatcher& dispatcher);

}  // namespace muster
