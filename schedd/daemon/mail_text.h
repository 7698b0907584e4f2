// Mails about batch scripts (--mail-type; rule B38): who gets one, and in Slurm's words of what.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/model/job.h"

namespace muster {

struct Mail {
  std::string user;     // --mail-user, else the job's user
  std::string subject;  // "Slurm Job_id=7 Name=x Ended, Run time 00:00:02, COMPLETED, ExitCode 0"
};

/// What is told of the job at an event of this type ("JobStarted", "JobSucceeded", "JobFailed",
/// "JobCancelled", "JobRequeued", "JobDependencyChanged") if its --mail-type asks for it. Of an
/// array's task nothing unless ARRAY_TASKS is among the types (ArrayMailOf).
std::optional<Mail> MailOf(const std::string& event, const JobRecord& job, WallTime now);
/// The mail about a part of the time limit that is over: kTimeLimit90, 80 or 50.
std::optional<Mail> LimitMailOf(MailEvent part, const JobRecord& job, WallTime now);
/// The one mail about an array whose first task has begun, or whose last task has ended; nullopt if
/// its type does not ask for it. `worst`: the task that is told of.
std::optional<Mail> ArrayMailOf(const std::string& event, const JobRecord& worst, WallTime now);
/// True if the type asks for this event.
bool AsksFor(const JobRecord& job, MailEvent event);
/// True for a task of an array that sends no mails of its own.
bool MailsWithItsArray(const JobRecord& job);

/// How an ended job's state is called in Slurm: "COMPLETED", "TIMEOUT", ...
std::string_view SlurmEndName(const JobRecord& job);

}  // namespace muster
