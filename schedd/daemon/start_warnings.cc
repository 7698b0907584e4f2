// Each warning has a stable word and a sentence that says what to do about it.
#include "schedd/daemon/start_warnings.h"

#include <string_view>

#include "schedd/daemon/data_directory.h"
#include "schedd/daemon/local_members.h"
#include "schedd/telemetry/log.h"

namespace muster {

std::vector<api::ServerWarning> WarningsOf(const DaemonConfig& config) {
  std::vector<api::ServerWarning> warnings;
  if (auto root_jobs = WarningOfRootJobs(config)) warnings.push_back(std::move(*root_jobs));
  if (config.password_on_command_line) {
    warnings.push_back(
        {"PasswordOnCommandLine",
         "the password of the database was on the command line, where other users could read it "
         "at the start and scripts keep it: give the URL by postgres: in the file of --config or "
         "by MUSTER_POSTGRES, or the password in the file that passfile= or PGPASSFILE names"});
  }
  if (auto root_daemon = WarningOfRootDaemon(config)) warnings.push_back(std::move(*root_daemon));
  for (const api::ServerWarning& one : warnings)
    Log(LogLevel::kWarning, "daemon", "start_warning", {{"type", one.type}, {"msg", one.message}});
  return warnings;
}

}  // namespace muster
