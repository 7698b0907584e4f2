// salloc: an allocation for as long as a command runs on this host (rule B47).
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clients/slurm/allocation/allocation.h"
#include "clients/slurm/command.h"
#include "clients/steps/words.h"

namespace muster::slurm {
namespace {

std::vector<std::string> CommandOf(const std::vector<steps::OptionValues>& components) {
  if (!components.back().command.empty()) return components.back().command;
  const std::string shell = client::ProcessEnv("SHELL");
  return {shell.empty() ? "/bin/sh" : shell};
}

[[noreturn]] void BecomeCommand(std::vector<std::string> words) {
  ForgetAllocationSignals();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  std::fprintf(stderr, "salloc: error: Unable to exec command \"%s\": %s\n", argv[0],
               std::strerror(errno));
  ::_exit(127);
}

// Waits for the command. If the allocation ends first, says so and sends the command a signal.
int WaitForCommand(pid_t child, const steps::OptionValues& options, int signals,
                   Allocation* allocation) {
  const auto given = steps::SignalNumber(options.Get("kill-command"));
  const int signal = given ? *given : options.Has("kill-command") ? SIGTERM : SIGHUP;
  bool revoked = false;
  while (true) {
    int status = 0;
    const pid_t got = ::waitpid(child, &status, WNOHANG);
    if (got == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (got < 0 && errno != EINTR) return 1;
    pollfd fds[] = {{revoked ? -1 : allocation->agent->fd(), POLLIN, 0}, {signals, POLLIN, 0}};
    ::poll(fds, 2, 20);
    // Ctrl-C reaches the command by the terminal; what is sent to salloc alone is passed on.
    signalfd_siginfo info{};
    if (fds[1].revents != 0 && ::read(signals, &info, sizeof(info)) == sizeof(info) &&
        info.ssi_signo != SIGINT && info.ssi_signo != SIGQUIT)
      ::kill(child, static_cast<int>(info.ssi_signo));
    if (fds[0].revents == 0 || allocation->agent->Receive()) continue;
    revoked = true;
    std::fprintf(stderr, "salloc: Job allocation %lld has been revoked.\n",
                 static_cast<long long>(allocation->job));
    ::kill(child, signal);
  }
}

}  // namespace

int RunSalloc(int argc, char** argv) {
  std::vector<steps::OptionValues> components;
  if (const auto exit = ReadAllocationOptions(steps::Tool::kSalloc, argc, argv, &components))
    return *exit;
  const steps::OptionValues& options = components.front();
  if (options.Has("help") || options.Has("usage"))
    return WriteOut(steps::OptionHelp(steps::Tool::kSalloc)), 0;
  if (options.Has("version")) return WriteOut(kVersionLine), 0;
  if (!client::ProcessEnv("SLURM_JOB_ID").empty() &&
      !client::ProcessEnv("MUSTER_STEPS_DIR").empty())
    std::fputs("salloc: warning: this is already inside a job\n", stderr);
  const steps::Descriptor signals = WatchAllocationSignals();
  int exit = 0;
  std::optional<Allocation> allocation =
      Allocate("salloc", components, "salloc", signals.get(), &exit);
  if (!allocation) return exit;
  const bool quiet = options.Has("quiet");
  const auto job = static_cast<long long>(allocation->job);
  if (!quiet) std::fprintf(stderr, "salloc: Granted job allocation %lld\n", job);
  if (options.Has("bell") && ::isatty(1) != 0) WriteOut("\a");
  steps::StepSignal last{};
  if (options.Has("no-shell")) {
    last.step = steps::kDetach;
    allocation->agent->Send(steps::MessageType::kRelinquish, steps::Encode(last));
    return 0;
  }
  EnterAllocation(*allocation);
  const pid_t child = ::fork();
  if (child == 0) BecomeCommand(CommandOf(components));
  if (child < 0) return Fail("salloc", std::string("fork: ") + std::strerror(errno));
  const int status = WaitForCommand(child, options, signals.get(), &*allocation);
  if (!quiet) std::fprintf(stderr, "salloc: Relinquishing job allocation %lld\n", job);
  last.signal = status;
  allocation->agent->Send(steps::MessageType::kRelinquish, steps::Encode(last));
  return status;
}

}  // namespace muster::slurm
