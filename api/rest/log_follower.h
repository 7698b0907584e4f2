// LogFollower: one followed log. Reads on the pool; looks again after a pause only when there was
// nothing new, and only once the reader has taken what there was. Ends with the container or the
// reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"
#include "api/service/scheduler_service.h"

namespace muster::rest {

class LogFollower : public std::enable_shared_from_this<LogFollower> {
 public:
  /// `query.offset` is where to begin. `service` and `workers` outlive the server's streams.
  LogFollower(const api::SchedulerService& service, Workers& workers, auth::Principal who,
              std::string job, LogQuery query)
      : service_(service),
        workers_(workers),
        who_(std::move(who)),
        job_(std::move(job)),
        query_(std::move(query)) {}
  /// `slot` is held while it follows.
  void Start(std::shared_ptr<StreamSink> sink, std::shared_ptr<void> slot);

 private:
  void Read();
  void Pause();
  /// A job that has not started has no log yet.
  bool MayStillCome() const;

  const api::SchedulerService& service_;
  Workers& workers_;
  const auth::Principal who_;
  const std::string job_;
  LogQuery query_;
  std::shared_ptr<StreamSink> sink_;
  std::shared_ptr<void> slot_;
};

}  // namespace muster::rest
