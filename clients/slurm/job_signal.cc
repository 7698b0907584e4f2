#include "clients/slurm/job_signal.h"

#include <poll.h>

#include <optional>

#include "clients/slurm/job_list.h"
#include "clients/slurm/signals.h"

namespace muster::slurm {
namespace {

constexpr int kConflict = 409, kTooEarly = 425;
constexpr int kTries = 100, kPauseMs = 100;

// Nothing if the job is gone or cannot be read.
std::optional<State> StateOf(client::ApiClient& api, const std::string& id) {
  JobList list;
  const client::Outcome<bool> found = FetchJob(api, id, &list);
  if (!found.ok() || !*found || list.rows().empty()) return std::nullopt;
  return list.rows().front().state;
}

}  // namespace

client::Outcome<json::value> SendSignal(client::ApiClient& api, const std::string& id, int signal,
                                        const char* target, std::int64_t step) {
  json::object body{{"signal", SignalText(signal)}, {"target", target}};
  if (step >= 0) body["step"] = step;
  client::Call call;
  call.target = client::JobPath(id) + ":signal";
  call.body = json::serialize(body);
  bool once_more = true;  // its start may have become known since it was refused
  for (int tries = 0; tries < kTries; ++tries) {
    auto answer = api.Send(call);
    if (answer.ok() || answer.failure().status != kConflict) return answer;
    const std::optional<State> state = StateOf(api, id);
    if (state == State::kRunning && once_more) {
      once_more = false;
      continue;
    }
    if (state != State::kConfiguring) return answer;
    ::poll(nullptr, 0, kPauseMs);
  }
  return client::Failure{client::Failure::Kind::kRefused, kTooEarly, "Job is pending execution"};
}

}  // namespace muster::slurm
