// ClientCore: whether the member answers, as its last exchanges show.
//
// Exchanges report Succeeded (any answer) or Failed (none). Five failures in a row open the
// circuit: all waiting requests fail with the reason, new ones are answered at once, and only
// `/readyz` is sent, after 0.5 s, doubling to 5 s, until an answer closes the circuit. This keeps a
// dead member from holding requests until each of them has timed out.
#include <utility>

#include "backends/k8s/client/client_core.h"
#include "schedd/base/mutex.h"
#include "schedd/telemetry/log.h"

namespace muster::k8s {

void ClientCore::Succeeded() {
  if (!circuit_.Succeeded()) return;
  deadlines_->Drop(&probe_timer_);
  Log(LogLevel::kInfo, "k8s", "member_reached", {{"cluster", options_.member}});
  Tell();
}

// Remembers the reason and opens the circuit if it is the last failure that is needed.
void ClientCore::Failed(const Error& error) {
  trouble_ = error;
  // Later requests are answered with this error; for them nothing was sent.
  if (trouble_.code != Code::kUnauthenticated) trouble_.code = Code::kUnavailable;
  if (!circuit_.Failed()) return;
  Log(LogLevel::kWarning, "k8s", "member_unreachable",
      {{"cluster", options_.member}, {"err", trouble_.detail}});
  ProbeLater();
  Tell();
  FailWaiting(trouble_);
}

// Schedules the next probe; the pause is also the retry time in the error.
void ClientCore::ProbeLater() {
  if (stopped_) return;
  const std::int64_t pause = circuit_.NextPauseMs(environment_.random);
  trouble_.retry_after_ms = pause;
  probe_timer_ = deadlines_->After(pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Probe();
  });
}

// Asks /readyz on a connection of its own. A probe passes neither the queue nor the count of
// requests.
void ClientCore::Probe() {
  if (stopped_ || !circuit_.open()) return;
  const auto auth = credentials_->Current();
  if (!auth || *auth == nullptr) return ProbeLater();
  auto exchange = std::make_shared<Exchange>();
  exchange->probe = exchange->fresh = true;
  exchange->request = {"GET", "/readyz", "", "", Urgency::kRelease, options_.connect_timeout_ms};
  exchange->done = [weak = weak_from_this()](const Result<ApiResponse>& answer) {
    const auto self = weak.lock();
    if (self == nullptr || self->stopped_ || !self->circuit_.open()) return;
    if (answer) self->trouble_ = self->Named(Unavailable("it is not ready to serve"));
    if (!answer) self->Failed(answer.error());
    self->Tell();
    self->ProbeLater();
  };
  exchange->timer =
      deadlines_->After(exchange->request.timeout_ms, [weak = weak_from_this(), exchange] {
        if (const auto self = weak.lock()) self->TimedOut(exchange);
      });
  Start(exchange, **auth);
}

ApiHealth ClientCore::Health() const {
  MutexLock lock(health_mutex_);
  return health_;
}

// Publishes the health, and calls on_health if it has changed.
void ClientCore::Tell() {
  ApiHealth now;
  if (circuit_.open()) now = {false, trouble_.detail, trouble_.code};
  {
    MutexLock lock(health_mutex_);
    if (health_.reachable == now.reachable && health_.trouble == now.trouble) return;
    health_ = now;
  }
  if (options_.on_health) options_.on_health(now);
}

}  // namespace muster::k8s
