// muster-pod-supervisor POD_DIR: keeps one pod of a local member cluster running, whatever happens
// to the daemon.
//
// The caller passes, as descriptor 3, the pod's file `alive`, open for writing and locked. The lock
// lives as long as this process; its end closes the file, which inotify reports to the backend.
// Started by musterd, not by users.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "backends/local/supervisor/isolate.h"
#include "backends/local/supervisor/pod_runner.h"

namespace {

constexpr int kAliveFd = 3;

// Leaves the caller's session and terminal, and closes every descriptor but the lock.
bool BecomeDaemon() {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child > 0) ::_exit(0);
  ::setsid();
  ::umask(022);
  // Orphans of the pod become children of this process, not of init.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return false;
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return false;
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(null, fd) < 0) return false;
  }
  ::close_range(kAliveFd + 1, ~0U, 0);
  // All of them stay pending until the runner reads them.
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigaddset(&waiting, SIGTERM);
  ::sigaddset(&waiting, SIGCHLD);
  ::sigaddset(&waiting, SIGUSR1);
  ::sigprocmask(SIG_SETMASK, &waiting, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  return ::fcntl(kAliveFd, F_SETFD, FD_CLOEXEC) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  // The backend asks once which isolation this host allows: --probe mount, --probe user.
  if (argc == 3 && std::strcmp(argv[1], "--probe") == 0) {
    return muster::local::CanIsolate(std::strcmp(argv[2], "user") == 0) ? 0 : 1;
  }
  struct stat alive {};
  if (argc != 2 || std::strcmp(argv[1], "--help") == 0 || ::fstat(kAliveFd, &alive) != 0) {
    std::fputs(
        "usage: muster-pod-supervisor POD_DIR, with the pod's lock file open as descriptor 3; "
        "musterd starts it\n",
        stderr);
    return 2;
  }
  if (::chdir(argv[1]) != 0) return 1;
  muster::Result<muster::local::SupervisedPod> pod = muster::local::ReadSpecFile("spec.json");
  if (!pod.ok()) {
    std::fprintf(stderr, "muster-pod-supervisor: %s\n", pod.error().detail.c_str());
    return 1;
  }
  if (!BecomeDaemon()) return 1;
  muster::local::PodRunner(std::move(pod).value()).Run();
  return 0;
}
