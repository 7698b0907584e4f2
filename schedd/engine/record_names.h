// How commands, objects and attempts are told apart and called, in events and in logs.
#pragma once

#include <string>

#include "schedd/engine/command.h"

namespace muster {

/// True for what members say of attempts: it may wait, in order, for room in a commit.
bool IsReport(const Command& command);
/// "job/NAMESPACE/NAME", as events name it.
std::string ObjectName(const JobRecord& job);
/// "clusterqueue/NAME" or "localqueue/NAMESPACE/NAME".
std::string ObjectName(const StoredObject& object);
DispatchKey CurrentKey(const JobRecord& job);

}  // namespace muster
