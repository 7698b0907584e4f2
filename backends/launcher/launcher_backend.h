// The daemon's end: a Backend whose members another process of this host serves, muster-launcher.
// Who has the rights that members made of processes need is then that process alone.
//
// One connection to a Unix socket. Callbacks and reports come on the thread that reads it. While
// there is no connection, calls are answered kUnavailable and the members are reported as not
// healthy; it is connected to again after a pause. When it breaks, what the launcher may have done
// is answered kUnknown, what it was only asked kUnavailable. The members of a launcher that has
// said nothing for some seconds while it was asked are reported as not healthy too; if it does not
// answer in time, its connection is broken from this side. After each connection the sink hears
// OnGap for every member.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/limits_launcher.h"

namespace muster {

struct LauncherOptions {
  /// The path of muster-launcher's socket. Only a launcher that runs as root or as the daemon's own
  /// user is spoken to.
  std::string socket;
  /// The members, by name. A launcher that lacks one of them is not spoken to.
  std::vector<std::string> clusters;
  /// Without an answer for so long to Ensure, List or Facts the connection is given up.
  std::int64_t answer_within_ms = limits::kLauncherAnswerWithinMs;
};

/// Connects at Start; never fails, because a launcher may start later.
std::unique_ptr<Backend> MakeLauncherBackend(LauncherOptions options);

}  // namespace muster
