// sattach JOB.STEP: shows what a running step writes from now on.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "clients/steps/messages.h"
#include "clients/steps/srun/commands.h"
#include "clients/steps/srun/connect.h"
#include "clients/steps/srun/other_job.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

int SattachFail(const std::string& text) {
  std::fprintf(stderr, "sattach: error: %s\n", text.c_str());
  return 1;
}

// Copies what the step writes until it has ended and nothing is left.
int Follow(Channel* channel, int out, int err) {
  bool ended = false, attached = false;
  bool open_out = true, open_err = true;
  while (!ended || open_out || open_err) {
    pollfd fds[] = {{ended ? -1 : channel->fd(), POLLIN, 0},
                    {open_out ? out : -1, POLLIN, 0},
                    {open_err ? err : -1, POLLIN, 0}};
    ::poll(fds, 3, -1);
    for (int i = 1; i < 3; ++i) {
      if (fds[i].revents == 0) continue;
      char buffer[64 << 10];
      const ssize_t got = ::read(fds[i].fd, buffer, sizeof(buffer));
      if (got <= 0) (i == 1 ? open_out : open_err) = false;
      if (got > 0 && ::write(i, buffer, static_cast<std::size_t>(got)) < 0) return 1;
    }
    if (fds[0].revents == 0) continue;
    const bool open = channel->Receive();
    while (const std::optional<Frame> frame = channel->Next()) {
      attached = attached || frame->type == MessageType::kCreated;
      ended = ended || frame->type == MessageType::kEnded;
      const auto words = Decode<Words>(frame->payload);
      if (frame->type == MessageType::kRefused && words) return SattachFail(words->text);
    }
    if (!open) ended = true;
  }
  return attached ? 0 : SattachFail("the step manager is gone");
}

}  // namespace

int RunSattach(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[argc - 1] : "";
  const auto dot = what.find('.');
  const std::string job = what.substr(0, dot);
  const std::int64_t step = dot == std::string::npos
                                ? -1
                                : WholeNumber(std::string_view(what).substr(dot + 1)).value_or(-1);
  if (what == "--version" || what == "-V")
    return std::fputs("slurm 25.05.0 (muster 0.1.0)\n", stdout), 0;
  if (what == "--help" || what == "-h" || what == "--usage")
    return std::fputs("Usage: sattach JOBID.STEPID\n", stdout), 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "-Q") != 0 && std::strcmp(argv[i], "--quiet") != 0 &&
        std::strcmp(argv[i], "-v") != 0 && std::strcmp(argv[i], "--verbose") != 0)
      return SattachFail(std::string(argv[i]) +
                         ": not supported by this version: sattach shows the output of all tasks");
  }
  if (!WholeNumber(job) || step < 0 || step > 1'000'000'000)
    return SattachFail("Invalid job step: " + what + "; use JOBID.STEPID");
  const bool own = IsOwnJob(job);
  const std::optional<std::string> attempt = TakeAnswer(job);
  if (!own && !attempt) return SattachFail(AskDaemon("sattach", job, argv));
  std::vector<std::string> environment;
  const JobPlace place = own ? OwnJobPlace() : OtherJobPlace(job, *attempt, &environment);
  if (!place.error.empty()) return SattachFail(place.error);
  std::string error;
  const std::unique_ptr<Channel> channel = ConnectManager(place, false, &error);
  if (channel == nullptr) return SattachFail(error);
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    return SattachFail(std::string("pipe: ") + std::strerror(errno));
  const Descriptor from_out(out[0]), from_err(err[0]);
  std::vector<Descriptor> writers;
  writers.emplace_back(out[1]);
  writers.emplace_back(err[1]);
  channel->Send(MessageType::kAttach, Encode(ShareNumber{static_cast<std::int32_t>(step), 0}),
                std::move(writers));
  return Follow(channel.get(), from_out.get(), from_err.get());
}

}  // namespace muster::steps
