#include "schedd/daemon/mail_text.h"

#include <algorithm>
#include <cstdio>

namespace muster {
namespace {

constexpr std::size_t kMailNameBytes = 200;

// "00:00:02", "1-00:00:00".
std::string Span(WallTime from, WallTime to) {
  const std::int64_t all =
      from.set() ? std::max<std::int64_t>(0, (to.us - from.us) / kMicrosPerSecond) : 0;
  const std::int64_t days = all / 86'400;
  char text[64];
  std::snprintf(text, sizeof(text), "%02d:%02d:%02d", static_cast<int>(all / 3600 % 24),
                static_cast<int>(all / 60 % 60), static_cast<int>(all % 60));
  return (days > 0 ? std::to_string(days) + "-" : "") + text;
}

// A job's name is free text: a subject is one line.
std::string OneLine(const std::string& text) {
  std::string out = text.substr(0, kMailNameBytes);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

std::string HeadOf(const JobRecord& job) {
  const std::string id = std::to_string(job.id.value);
  const BatchDetails& batch = *job.batch;
  const std::string name = " Name=" + OneLine(job.display_name);
  if (batch.array_task_id < 0) return "Slurm Job_id=" + id + name;
  return "Slurm Array Task Job_id=" + std::to_string(batch.array_job_id.value) + "_" +
         std::to_string(batch.array_task_id) + " (" + id + ")" + name;
}

std::string EndOf(const JobRecord& job) {
  std::string text = ", Run time " + Span(job.start_time, job.end_time) + ", ";
  text += SlurmEndName(job);
  if (job.exit_signal != 0) return text + ", TermSignal " + std::to_string(job.exit_signal);
  return text + ", ExitCode " + std::to_string(job.exit_code.value_or(0));
}

std::optional<Mail> MailWith(const JobRecord& job, std::string head, const std::string& rest) {
  const std::string& user = job.batch->mail_user.empty() ? job.user : job.batch->mail_user;
  return Mail{user, std::move(head) + rest};
}

// The text after the head; "" if nothing is told.
std::string RestOf(const std::string& event, const JobRecord& job, WallTime now) {
  if (event == "JobStarted" && AsksFor(job, MailEvent::kBegin))
    return " Began, Queued time " + Span(job.submit_time, job.start_time);
  if (event == "JobRequeued" && AsksFor(job, MailEvent::kRequeue)) return " Requeued";
  if (event == "JobDependencyChanged" && job.reason == Reason::kDependencyNeverSatisfied &&
      AsksFor(job, MailEvent::kInvalidDependency))
    return " Invalid dependency";
  if (!IsTerminal(job.state)) return "";
  const bool good = job.state == JobState::kSucceeded;
  const bool timed_out = SlurmEndName(job) == "TIMEOUT";
  if (timed_out && AsksFor(job, MailEvent::kTimeLimit))
    return " Reached time limit, Run time " + Span(job.start_time, now);
  if (!good && AsksFor(job, MailEvent::kFail)) return " Failed" + EndOf(job);
  return AsksFor(job, MailEvent::kEnd) ? " Ended" + EndOf(job) : "";
}

}  // namespace

bool AsksFor(const JobRecord& job, MailEvent event) {
  return job.batch != nullptr && (job.batch->mail_events & static_cast<std::uint32_t>(event)) != 0;
}

bool MailsWithItsArray(const JobRecord& job) {
  return job.batch != nullptr && job.batch->array_task_id >= 0 &&
         !AsksFor(job, MailEvent::kArrayTasks);
}

std::string_view SlurmEndName(const JobRecord& job) {
  if (job.reason == Reason::kOutOfMemory) return "OUT_OF_MEMORY";
  switch (job.reason) {
    case Reason::kDeadlineExceeded:
    case Reason::kMaximumExecutionTimeExceeded:
      return "TIMEOUT";
    case Reason::kPreempted:
      return "PREEMPTED";
    case Reason::kLost:
    case Reason::kNodeFailures:
    case Reason::kEvictedOnMember:
      return "NODE_FAIL";
    case Reason::kFailedToStart:
      return "BOOT_FAIL";
    case Reason::kDeadlineMissed:
      return "DEADLINE";
    default:
      break;
  }
  if (job.state == JobState::kSucceeded) return "COMPLETED";
  return job.state == JobState::kFailed ? "FAILED" : "CANCELLED";
}

std::optional<Mail> MailOf(const std::string& event, const JobRecord& job, WallTime now) {
  if (job.batch == nullptr || job.batch->mail_events == 0 || MailsWithItsArray(job))
    return std::nullopt;
  const std::string rest = RestOf(event, job, now);
  if (rest.empty()) return std::nullopt;
  return MailWith(job, HeadOf(job), rest);
}

std::optional<Mail> LimitMailOf(MailEvent part, const JobRecord& job, WallTime now) {
  if (!AsksFor(job, part)) return std::nullopt;
  const char* percent = part == MailEvent::kTimeLimit90   ? "90"
                        : part == MailEvent::kTimeLimit80 ? "80"
                                                          : "50";
  return MailWith(job, HeadOf(job),
                  std::string(" Reached ") + percent + "% of time limit, Run time " +
                      Span(job.start_time, now));
}

std::optional<Mail> ArrayMailOf(const std::string& event, const JobRecord& worst, WallTime now) {
  const std::string rest = RestOf(event, worst, now);
  if (rest.empty()) return std::nullopt;
  const std::string id = std::to_string(worst.batch->array_job_id.value);
  return MailWith(
      worst,
      "Slurm Array Summary Job_id=" + id + "_* (" + id + ") Name=" + OneLine(worst.display_name),
      rest);
}

}  // namespace muster
