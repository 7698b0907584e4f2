// The words that srun says while a step waits.
#include "clients/steps/srun/step_create.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

CreateStep RequestOf(const std::vector<Component>& components) {
  CreateStep out;
  const OptionValues& options = components.front().options;
  out.name = StepName(components.front());
  out.time_limit_s = TimeLimitSeconds(options.Get("time")).value_or(0);
  out.immediate = options.Has("immediate");
  for (const Component& component : components) out.parts.push_back(component.plan.request);
  return out;
}

}  // namespace

std::string StepName(const Component& component) {
  const std::string name = component.options.Get("job-name");
  if (!name.empty()) return name;
  const std::string& program = component.options.command.front();
  return program.substr(program.rfind('/') + 1);
}

int CreateStepFor(Channel* channel, const std::string& job,
                  const std::vector<Component>& components, int signals, StepCreated* out) {
  channel->Send(MessageType::kCreateStep, Encode(RequestOf(components)));
  const bool quiet = components.front().options.Has("quiet");
  bool waited = false;
  while (true) {
    pollfd wait[] = {
        {channel->fd(), static_cast<short>(POLLIN | (channel->wants_write() ? POLLOUT : 0)), 0},
        {signals, POLLIN, 0}};
    ::poll(wait, 2, channel->stalled() ? kStalledMs : -1);
    signalfd_siginfo info{};
    if (wait[1].revents != 0 && ::read(signals, &info, sizeof(info)) == sizeof(info) &&
        info.ssi_signo != SIGWINCH) {
      std::fprintf(stderr, "srun: Cancelled pending job step with signal %u\n", info.ssi_signo);
      std::fprintf(stderr,
                   "srun: error: Unable to create step for job %s: Job/step already completing or "
                   "completed\n",
                   job.c_str());
      return 1;
    }
    channel->Flush();
    const bool open = channel->Receive();
    while (const std::optional<Frame> frame = channel->Next()) {
      const auto words = Decode<Words>(frame->payload);
      if (frame->type == MessageType::kPending && words) {
        waited = true;
        if (!quiet)
          std::fprintf(stderr, "srun: Job %s step creation temporarily disabled, retrying (%s)\n",
                       job.c_str(), words->text.c_str());
      } else if (frame->type == MessageType::kRefused && words) {
        std::fprintf(stderr, "srun: error: %s\n", words->text.c_str());
        return 1;
      } else if (frame->type == MessageType::kCreated) {
        const auto created = Decode<StepCreated>(frame->payload);
        if (!created) return 1;
        *out = *created;
        if (waited && !quiet)
          std::fprintf(stderr, "srun: Step created for StepId=%s.%d\n", job.c_str(), out->step);
        return 0;
      }
    }
    if (open && !channel->broken()) continue;
    std::fprintf(stderr,
                 "srun: error: Unable to create step for job %s: the step manager is gone\n",
                 job.c_str());
    return 1;
  }
}

}  // namespace muster::steps
