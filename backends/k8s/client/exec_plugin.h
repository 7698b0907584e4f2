// Exec plugins: programs that print credentials, run as kubectl runs them
// (client.authentication.k8s.io), bounded in time and output, and with little of this daemon's
// environment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/k8s/client/kubeconfig.h"
#include "schedd/base/clock.h"
#include "schedd/base/result.h"
#include "schedd/credentials/exec_credential.h"

namespace muster::k8s {

/// The longest run; plugins of cloud providers ask the network.
inline constexpr std::int64_t kExecMs = 30'000;
/// The longest output: a token and a chain of certificates.
inline constexpr std::size_t kExecBytes = 256u << 10;

/// Ends a running plugin from another thread. Thread-safe.
class ExecStop {
 public:
  ExecStop();
  ~ExecStop();
  ExecStop(const ExecStop&) = delete;
  ExecStop& operator=(const ExecStop&) = delete;
  void Stop();
  int fd() const { return fd_; }  // readable once stopped

 private:
  const int fd_;
};

/// Runs the plugin and waits for at most `limit_ms`; then it and its children are killed. `info` is
/// KUBERNETES_EXEC_INFO. Errors are kUnauthenticated with one sentence, which never holds what the
/// plugin printed.
Result<ExecCredentials> RunExecPlugin(const ExecPlugin& plugin, const std::string& info,
                                      const Clock& clock, const ExecStop& stop,
                                      std::int64_t limit_ms = kExecMs);

/// The value of KUBERNETES_EXEC_INFO; with provideClusterInfo the cluster too.
std::string ExecInfo(const MemberAccess& access, const std::string& ca_pem);

}  // namespace muster::k8s
