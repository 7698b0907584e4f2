// Which mails a job asks for, and their subjects in Slurm's words.
#include "schedd/daemon/mail_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr WallTime kSubmitted{1'700'000'000'000'000};
constexpr std::uint32_t kAll = 0x1ff;

JobRecord JobOf(JobState state, Reason reason, std::uint32_t events = kAll) {
  JobRecord job;
  job.id = JobId{7};
  job.display_name = "x";
  job.user = "alice";
  job.state = state;
  job.reason = reason;
  job.submit_time = kSubmitted;
  job.start_time = kSubmitted.PlusSeconds(1);
  job.end_time = kSubmitted.PlusSeconds(3);
  job.exit_code = state == JobState::kSucceeded ? 0 : 1;
  auto batch = std::make_shared<BatchDetails>();
  batch->mail_events = events;
  job.batch = batch;
  return job;
}

std::string Subject(const std::string& event, const JobRecord& job) {
  const auto mail = MailOf(event, job, kSubmitted.PlusSeconds(3));
  return mail ? mail->subject : "";
}

TEST(Mail, SaysWhatHappenedInSlurmsWords) {
  EXPECT_EQ(Subject("JobStarted", JobOf(JobState::kRunning, Reason::kRunning)),
            "Slurm Job_id=7 Name=x Began, Queued time 00:00:01");
  EXPECT_EQ(Subject("JobSucceeded", JobOf(JobState::kSucceeded, Reason::kSucceeded)),
            "Slurm Job_id=7 Name=x Ended, Run time 00:00:02, COMPLETED, ExitCode 0");
  EXPECT_EQ(Subject("JobFailed", JobOf(JobState::kFailed, Reason::kFailed)),
            "Slurm Job_id=7 Name=x Failed, Run time 00:00:02, FAILED, ExitCode 1");
  EXPECT_EQ(Subject("JobFailed", JobOf(JobState::kFailed, Reason::kDeadlineExceeded)),
            "Slurm Job_id=7 Name=x Reached time limit, Run time 00:00:02");
  EXPECT_EQ(
      Subject("JobDependencyChanged", JobOf(JobState::kPending, Reason::kDependencyNeverSatisfied)),
      "Slurm Job_id=7 Name=x Invalid dependency");
}

TEST(Mail, IsSentForTheTypesThatWereAskedForAlone) {
  const auto only = [](MailEvent event) { return static_cast<std::uint32_t>(event); };
  const JobRecord failed = JobOf(JobState::kFailed, Reason::kFailed, only(MailEvent::kEnd));
  EXPECT_EQ(Subject("JobFailed", failed),
            "Slurm Job_id=7 Name=x Ended, Run time 00:00:02, FAILED, ExitCode 1");
  const JobRecord good = JobOf(JobState::kSucceeded, Reason::kSucceeded, only(MailEvent::kFail));
  EXPECT_EQ(Subject("JobSucceeded", good), "");
  EXPECT_EQ(Subject("JobStarted", JobOf(JobState::kRunning, Reason::kRunning, 0)), "");
}

TEST(Mail, OfAnArray_IsOneForAll_UnlessItsTasksAreAskedFor) {
  JobRecord task = JobOf(JobState::kSucceeded, Reason::kSucceeded);
  auto batch = std::make_shared<BatchDetails>(*task.batch);
  batch->array_job_id = JobId{5};
  batch->array_task_id = 2;
  task.batch = batch;
  EXPECT_EQ(Subject("JobSucceeded", task), "");
  EXPECT_EQ(ArrayMailOf("JobSucceeded", task, kSubmitted)->subject,
            "Slurm Array Summary Job_id=5_* (5) Name=x Ended, Run time 00:00:02, COMPLETED, "
            "ExitCode 0");
  batch = std::make_shared<BatchDetails>(*batch);
  batch->mail_events |= static_cast<std::uint32_t>(MailEvent::kArrayTasks);
  task.batch = batch;
  EXPECT_EQ(Subject("JobSucceeded", task),
            "Slurm Array Task Job_id=5_2 (7) Name=x Ended, Run time 00:00:02, COMPLETED, ExitCode "
            "0");
}

TEST(Mail, StatesFollowFromFields) {
  const std::tuple<JobState, Reason, const char*> rows[] = {
      {JobState::kFailed, Reason::kOutOfMemory, "OUT_OF_MEMORY"},
      {JobState::kFailed, Reason::kMaximumExecutionTimeExceeded, "TIMEOUT"},
      {JobState::kFailed, Reason::kLost, "NODE_FAIL"},
      {JobState::kFailed, Reason::kFailedToStart, "BOOT_FAIL"},
      {JobState::kCancelled, Reason::kPreempted, "PREEMPTED"},
      {JobState::kCancelled, Reason::kDeadlineMissed, "DEADLINE"},
      {JobState::kCancelled, Reason::kCancelled, "CANCELLED"},
  };
  for (const auto& [state, reason, wanted] : rows)
    EXPECT_EQ(SlurmEndName(JobOf(state, reason)), wanted);
}

TEST(Mail, ANameIsOneLineOfTheSubject) {
  JobRecord job = JobOf(JobState::kSucceeded, Reason::kSucceeded);
  job.display_name = "a\nBcc: all";
  EXPECT_EQ(Subject("JobSucceeded", job).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster
