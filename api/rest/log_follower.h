// LogFollower: one followed log. It reads on the pool and sends to the client; it reads again when
// the client has taken what was sent, and after a pause if there was nothing new. It ends with the
// container or with the client.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/auth/authenticator.h"
#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"
#include "api/service/scheduler_service.h"

namespace muster::rest {

class LogFollower : public std::enable_shared_from_this<LogFollower> {
 public:
  /// `query.offset` is where the log begins. `service` and `workers` outlive the server's streams.
  LogFollower(const api::SchedulerService& service, const auth::Authenticator& authenticator,
              Workers& workers, auth::Principal who, std::string job, LogQuery query)
      : service_(service),
        authenticator_(authenticator),
        workers_(workers),
        who_(std::move(who)),
        job_(std::move(job)),
        query_(std::move(query)) {}
  /// `slot` is held as long as the log is followed.
  void Start(std::shared_ptr<StreamSink> sink, std::shared_ptr<void> slot);

 private:
  void Read();
  void Pause();
  /// Asks every limits::kAskAgainMs whether the caller may go on, also while its client is slow.
  void AskAgain();
  /// Ends the log with a line that says why there is no more of it.
  void EndBecause(const Error& error);

  const api::SchedulerService& service_;
  const auth::Authenticator& authenticator_;
  Workers& workers_;
  const auth::Principal who_;
  const std::string job_;
  LogQuery query_;
  std::shared_ptr<StreamSink> sink_;
  std::shared_ptr<void> slot_;
};

}  // namespace muster::rest
