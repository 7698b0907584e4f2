// The hook calls a real program, with the subject and the user as its arguments, and never one
// whose user could be an option.
#include "schedd/daemon/mail_hook.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

class SystemTime final : public Clock {
 public:
  WallTime WallNow() const override { return {1'700'000'010'000'000}; }
  Monotonic Now() const override { return {}; }
};

class MailHookTest : public ::testing::Test {
 protected:
  MailHookTest() {
    char place[] = "/tmp/muster-mail-XXXXXX";
    directory = ::mkdtemp(place);
    program = directory + "/mail";
    std::ofstream(program) << "#!/bin/sh\nprintf '%s|%s|%s\\n' \"$1\" \"$2\" \"$3\" >> "
                           << directory << "/sent\n";
    ::chmod(program.c_str(), 0700);
  }
  JobPtr Ended(std::int64_t id, const std::string& user) {
    auto job = std::make_shared<JobRecord>();
    job->id = JobId{id};
    job->display_name = "x";
    job->user = user;
    job->state = JobState::kSucceeded;
    job->reason = Reason::kSucceeded;
    auto batch = std::make_shared<BatchDetails>();
    batch->mail_events = static_cast<std::uint32_t>(MailEvent::kEnd);
    job->batch = batch;
    return job;
  }
  std::string Sent() {
    std::stringstream text;
    text << std::ifstream(directory + "/sent").rdbuf();
    return text.str();
  }

  std::string directory, program;
  SystemTime clock;
};

TEST_F(MailHookTest, CallsTheProgramForEachMail) {
  auto view = std::make_shared<WorldView>();
  view->jobs.Put(Ended(7, "alice"));
  view->jobs.Put(Ended(8, "-S sendmail=/bin/sh"));
  view->jobs.Put(Ended(9, "-f"));
  view->jobs.Put(Ended(10, "bob@example.org"));
  MailHook hook(program, clock, [view] { return WorldViewPtr(view); });
  std::vector<Event> events;
  for (const std::int64_t id : {7, 8, 9, 10})
    events.push_back({id, {}, "JobSucceeded", JobId{id}, "", "", ""});
  events.push_back({11, {}, "JobPending", JobId{7}, "", "", ""});
  hook.Publish(events);
  const std::string wanted =
      "-s|Slurm Job_id=7 Name=x Ended, Run time 00:00:00, COMPLETED, ExitCode 0|alice\n"
      "-s|Slurm Job_id=10 Name=x Ended, Run time 00:00:00, COMPLETED, ExitCode 0|bob@example.org\n";
  for (int i = 0; i < 500 && Sent() != wanted; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(Sent(), wanted);
  hook.Stop();
}

// A task of array 20, which wants mails about its first begin and its last end.
JobPtr TaskOf20(std::int64_t id, JobState state, WallTime start, WallTime end = {}) {
  auto job = std::make_shared<JobRecord>();
  job->id = JobId{id};
  job->display_name = "a";
  job->user = "ann";
  job->state = state;
  job->start_time = start;
  job->end_time = end;
  auto batch = std::make_shared<BatchDetails>();
  batch->array_job_id = JobId{20};
  batch->array_spec = "0-2";
  batch->array_task_id = static_cast<std::int32_t>(id - 20);
  batch->mail_events =
      static_cast<std::uint32_t>(MailEvent::kBegin) | static_cast<std::uint32_t>(MailEvent::kEnd);
  job->batch = batch;
  return job;
}

TEST_F(MailHookTest, AfterARestart_AnArrayDoesNotBeginAgain_AndEndsOnce) {
  const WallTime before{1'700'000'000'000'000}, after{1'700'000'020'000'000},
      end{1'700'000'030'000'000};
  auto view = std::make_shared<WorldView>();
  view->jobs.Put(TaskOf20(20, JobState::kRunning, before));
  view->jobs.Put(TaskOf20(21, JobState::kRunning, after));
  view->jobs.Put(Ended(7, "alice"));
  auto ended = std::make_shared<WorldView>();
  ended->jobs.Put(TaskOf20(20, JobState::kSucceeded, before, end));
  ended->jobs.Put(TaskOf20(21, JobState::kSucceeded, after, end));
  ended->jobs.Put(Ended(7, "alice"));
  std::atomic<bool> is_over{false};
  MailHook hook(program, clock,
                [&, view, ended]() -> WorldViewPtr { return is_over ? ended : view; });
  hook.Publish({{1, {}, "JobStarted", JobId{21}, "", "", ""},
                {2, {}, "JobSucceeded", JobId{7}, "", "", ""}});
  const auto lines = [this] {
    const std::string text = Sent();
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto wait_for = [&](std::ptrdiff_t some) {
    for (int i = 0; i < 500 && lines() < some; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(lines(), some) << Sent();
  };
  wait_for(1);
  EXPECT_EQ(Sent().find("ann"), std::string::npos) << "task 0 began before the daemon did";
  is_over = true;
  hook.Publish({{3, {}, "JobSucceeded", JobId{21}, "", "", ""},
                {4, {}, "JobSucceeded", JobId{20}, "", "", ""},
                {5, {}, "JobSucceeded", JobId{7}, "", "", ""}});
  wait_for(3);
  EXPECT_NE(Sent().find("Ended"), std::string::npos);
  EXPECT_NE(Sent().find("ann"), std::string::npos);
  hook.Stop();
}

}  // namespace
}  // namespace muster
