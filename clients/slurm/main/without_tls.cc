// OpenSSL's tables double what a command needs to start, and most commands ask a daemon of their
// own host. So the choice is made before anything is read or sent.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "clients/lib/settings.h"
#include "clients/lib/tls_client.h"
#include "clients/slurm/main/tls_choice.h"

namespace muster::slurm {

void TakeTlsProgram(char** argv) {
  if (!client::AsksByTls(client::ProcessEnv, client::DefaultConfigFile(client::ProcessEnv))) return;
  char own[4096];
  const ssize_t size = ::readlink("/proc/self/exe", own, sizeof own);
  const std::string program =
      std::string(own, size > 0 ? static_cast<std::size_t>(size) : 0) + "-tls";
  ::execv(program.c_str(), argv);
  std::fprintf(stderr, "%s: the server is asked by https, but %s: %s\n", argv[0], program.c_str(),
               std::strerror(errno));
  std::exit(1);
}

}  // namespace muster::slurm

namespace muster::client {

Result<std::unique_ptr<TlsStream>> OpenTls(SocketStream&, const TlsSettings&, const std::string&,
                                           bool* timed_out) {
  *timed_out = false;
  return Unavailable("this program asks no server by https");
}

}  // namespace muster::client
