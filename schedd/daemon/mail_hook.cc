// An address of a user is an argument of the program, so one that the program could take for an
// option is not used. Times of parts of a time limit are kept in memory: when the daemon starts,
// they are made anew from the jobs that run.
#include "schedd/daemon/mail_hook.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>

#include "schedd/telemetry/log.h"

namespace muster {
namespace {

// Events that wait for the program. A program that is as slow as a second drops those beyond.
constexpr std::size_t kMailsWaiting = 10'000;
// A call that takes longer is ended.
constexpr auto kMailWithin = std::chrono::seconds(30);
constexpr auto kMailPoll = std::chrono::milliseconds(20);
constexpr auto kMailIdle = std::chrono::milliseconds(500);
constexpr std::size_t kAddressBytes = 320;

struct LimitPart {
  MailEvent event;
  std::int64_t percent;
};
constexpr LimitPart kParts[] = {
    {MailEvent::kTimeLimit50, 50}, {MailEvent::kTimeLimit80, 80}, {MailEvent::kTimeLimit90, 90}};

bool IsTold(const std::string& event) {
  return event == "JobStarted" || event == "JobSucceeded" || event == "JobFailed" ||
         event == "JobCancelled" || event == "JobRequeued" || event == "JobDependencyChanged";
}

// One word that no program takes for an option.
bool IsAddress(const std::string& user) {
  return !user.empty() && user.size() <= kAddressBytes && user[0] != '-' &&
         std::none_of(user.begin(), user.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

// Starts the program in a process group of its own; its pid, or -1.
pid_t SpawnMail(const std::string& program, const Mail& mail) {
  std::vector<std::string> texts = {program, "-s", mail.subject, mail.user};
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char* const environment[] = {path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -1;
}

}  // namespace

MailHook::MailHook(std::string program, const Clock& clock, std::function<WorldViewPtr()> view)
    : program_(std::move(program)),
      clock_(clock),
      view_(std::move(view)),
      happened_(kMailsWaiting),
      made_(clock_.WallNow()),
      thread_([this](std::stop_token stop) { Run(stop); }) {}

MailHook::~MailHook() { Stop(); }

void MailHook::Stop() {
  thread_.request_stop();
  happened_.Close();
  if (thread_.joinable()) thread_.join();
}

void MailHook::Publish(const std::vector<Event>& events) {
  WorldViewPtr view;
  for (const Event& event : events) {
    if (event.job.value == 0 || !IsTold(event.type)) continue;
    if (view == nullptr) view = view_();
    JobPtr job = view->jobs.Find(event.job);
    if (job == nullptr || job->batch == nullptr || job->batch->mail_events == 0) continue;
    if (!happened_.Push({event.type, std::move(job)}))
      Log(LogLevel::kWarning, "mail", "dropped", {{"job", event.job.value}});
  }
}

void MailHook::Run(std::stop_token stop) {
  view_()->jobs.ForEach(JobId{}, [this](const JobPtr& job) {
    if (job->state == JobState::kRunning) Schedule(*job);
    return true;
  });
  while (!stop.stop_requested()) {
    std::deque<Happened> some;
    happened_.PopAll(&some, kMailIdle);
    for (const Happened& one : some) {
      if (stop.stop_requested()) return;
      if (one.event == "JobStarted") Schedule(*one.job);
      Tell(one, stop);
    }
    TellParts(stop);
  }
}

void MailHook::Tell(const Happened& one, std::stop_token stop) {
  if (MailsWithItsArray(*one.job)) return TellArray(one, stop);
  if (const auto mail = MailOf(one.event, *one.job, clock_.WallNow())) Call(*mail, stop);
}

// A task of it began under a daemon before this one, which has told of it.
bool MailHook::BeganBefore(JobId array) const {
  bool began = false;
  view_()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    began = job->batch != nullptr && job->batch->array_job_id == array && job->start_time.set() &&
            job->start_time < made_;
    return !began;
  });
  return began;
}

// One mail when its first task begins, and one when its last task has ended, about the worst. The
// last one is known by its time, so that it is told once, also by a daemon that saw no other end.
void MailHook::TellArray(const Happened& one, std::stop_token stop) {
  const JobId array = one.job->batch->array_job_id;
  if (one.event == "JobStarted") {
    if (!begun_.insert(array).second || BeganBefore(array)) return;
    if (const auto mail = ArrayMailOf(one.event, *one.job, clock_.WallNow())) Call(*mail, stop);
    return;
  }
  if (!IsTerminal(one.job->state)) return;
  bool last = true;
  JobPtr worst = one.job;
  view_()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    const bool of_array = job->batch != nullptr && (job->batch->array_job_id == array);
    if (!of_array) return true;
    last = IsTerminal(job->state) &&
           std::pair(job->end_time, job->id) <= std::pair(one.job->end_time, one.job->id);
    if (last && job->state > worst->state) worst = job;
    return last;
  });
  if (!last) return;
  begun_.erase(array);
  if (const auto mail = ArrayMailOf(one.event, *worst, clock_.WallNow())) Call(*mail, stop);
}

void MailHook::Schedule(const JobRecord& job) {
  if (job.time_limit_s <= 0 || !job.start_time.set()) return;
  for (const LimitPart& part : kParts) {
    if (!AsksFor(job, part.event)) continue;
    const WallTime due = job.start_time.PlusSeconds(job.time_limit_s * part.percent / 100);
    if (due > clock_.WallNow()) parts_.insert({due, {job.id, job.attempt, part.event}});
  }
}

// A job that has ended, or runs anew, is not told of.
void MailHook::TellParts(std::stop_token stop) {
  const WallTime now = clock_.WallNow();
  while (!parts_.empty() && parts_.begin()->first <= now && !stop.stop_requested()) {
    const Part part = parts_.begin()->second;
    parts_.erase(parts_.begin());
    const JobPtr job = view_()->jobs.Find(part.job);
    if (job == nullptr || job->state != JobState::kRunning || job->attempt != part.attempt)
      continue;
    if (const auto mail = LimitMailOf(part.part, *job, now)) Call(*mail, stop);
  }
}

void MailHook::Call(const Mail& mail, std::stop_token stop) {
  if (!IsAddress(mail.user)) {
    Log(LogLevel::kWarning, "mail", "no_address", {{"subject", mail.subject}});
    return;
  }
  const pid_t pid = SpawnMail(program_, mail);
  if (pid <= 0) {
    Log(LogLevel::kWarning, "mail", "program_not_started", {{"program", program_}});
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kMailWithin;
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) break;
    if (stop.stop_requested() || std::chrono::steady_clock::now() > until) {
      ::kill(-pid, SIGKILL);
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    std::this_thread::sleep_for(kMailPoll);
  }
  if (status != 0)
    Log(LogLevel::kWarning, "mail", "program_failed",
        {{"program", program_}, {"status", std::int64_t{status}}});
}

}  // namespace muster
