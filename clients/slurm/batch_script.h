// The script that a job was submitted with.
#pragma once

#include <cstdint>
#include <string>

#include "clients/lib/api_client.h"

namespace muster::slurm {

struct ScriptText {
  std::string script;
  std::string environment;  // NAME=value, one a line
};

/// GET /v1/jobs/{id}/script.
client::Outcome<ScriptText> FetchScript(client::ApiClient& api, std::int64_t job);

}  // namespace muster::slurm
