#include "clients/slurm/batch_script.h"

#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {

client::Outcome<ScriptText> FetchScript(client::ApiClient& api, std::int64_t job) {
  const client::Outcome<json::value> answer =
      api.Get(client::JobPath(std::to_string(job)) + "/script");
  if (!answer.ok()) return answer.failure();
  ScriptText out;
  out.script = client::PathText(*answer, "script");
  for (const json::key_value_pair& variable : ObjectOrEmpty(*answer, "environment")) {
    if (variable.value().is_string())
      out.environment +=
          std::string(variable.key()) + "=" + std::string(variable.value().get_string()) + "\n";
  }
  return out;
}

}  // namespace muster::slurm
