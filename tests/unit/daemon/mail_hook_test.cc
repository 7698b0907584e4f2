// The hook calls a real program, with the subject and the user as its arguments, and never one
// whose user could be an option.
#include "schedd/daemon/mail_hook.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace muster
