// The configuration of muster-launcher: flags over the file of musterd, of which it reads the keys
// that it shares with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/daemon/config.h"

namespace muster {

struct LauncherConfig {
  /// Where musterd connects to.
  std::string socket = "/run/muster-launcher/launcher.sock";
  /// Of the members: attempts, their pods and logs.
  std::string state_dir = "/var/lib/muster-launcher";
  /// Without one there is one named "local", of the host's size.
  std::vector<DeclaredCluster> clusters;
  /// The account that musterd runs as.
  std::string daemon_user = "muster";
  /// The file that was read; "": none.
  std::string file;
};

struct ParsedLauncher {
  LauncherConfig config;
  /// For --help or --version: print this text and exit with 0.
  std::optional<std::string> print_and_exit;
};

/// The environment is not read: what it says need not be root's. The error has every problem in
/// Error.fields.
Result<ParsedLauncher> ParseLauncherLine(int argc, const char* const* argv);

}  // namespace muster
