// Use cases that send something to the processes of a running job: a signal, a line of text.
//
// Thread-safe. The callback runs on a thread of the member's backend, or inside the call.
#pragma once

#include <string>

#include "api/service/scheduler_service.h"

namespace muster::api {

/// Sends a signal to processes of a running job; asks what cancelling it asks. kFailedPrecondition
/// if it does not run; kUnimplemented where its member has no such call. Answers with the job.
void SignalJob(const SchedulerService& service, const auth::Principal& who, const std::string& id,
               const SignalOrder& order, Callback<JobPtr> done);
/// Writes a line of at most limits::kNotifyMessageBytes to the standard error of a running job;
/// asks for update. Errors as those of SignalJob.
void NotifyJob(const SchedulerService& service, const auth::Principal& who, const std::string& id,
               std::string message, Callback<JobPtr> done);

}  // namespace muster::api
