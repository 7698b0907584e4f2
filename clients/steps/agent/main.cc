// muster-step-agent: runs the tasks of srun on one node of a job (README.md).
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "clients/steps/agent/agent.h"
#include "clients/steps/words.h"

namespace {

using muster::steps::Agent;
using muster::steps::Descriptor;

constexpr char kUsage[] =
    "usage: muster-step-agent serve [--ready-fd N] | allocation\n"
    "Runs the tasks of srun on one node of a job. MUSTER_STEPS_DIR names the directory of the\n"
    "job's agents.\n";

// Descriptors 0 to 2 must be open, or a task's pipe would get such a number.
void OpenStandardDescriptors() {
  int fd = 0;
  while (fd >= 0 && fd < 3) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd >= 3) ::close(fd);
}

// The client of an allocation waits at the socket that the job's environment names.
Descriptor ConnectToClient(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return {};
  return socket;
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "muster-step-agent: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  Descriptor ready;
  if (argc == 4 && std::string_view(argv[2]) == "--ready-fd") {
    ready.reset(static_cast<int>(muster::steps::WholeNumber(argv[3]).value_or(0)));
    if (ready.get() > 2) ::fcntl(ready.get(), F_SETFD, FD_CLOEXEC);
  } else if (argc != 2) {
    return std::fputs(kUsage, stderr), 2;
  }
  if (mode != "serve" && mode != "allocation") return std::fputs(kUsage, stderr), 2;
  OpenStandardDescriptors();
  muster::steps::JobFacts facts;
  if (const std::string error = ReadJobFacts(&facts); !error.empty()) return Fail(error);
  const std::string client = muster::steps::OwnVariable("MUSTER_CLIENT_SOCKET");
  Agent agent(std::move(facts));
  std::string error;
  switch (agent.Start(&error)) {
    case Agent::Begin::kTaken:
      return 0;
    case Agent::Begin::kFailed:
      return Fail(error);
    case Agent::Begin::kServes:
      break;
  }
  if (mode == "allocation") {
    Descriptor socket = ConnectToClient(client);
    if (!socket) return Fail("the client of this allocation is gone");
    agent.KeepAllocation(std::move(socket));
  }
  // Whoever started this agent reads the end of the file now.
  if (ready) {
    [[maybe_unused]] const ssize_t written = ::write(ready.get(), "1", 1);
    ready.reset();
  }
  return agent.Run();
}
