// Exec plugins: a program run for credentials, as kubectl does it (client.authentication.k8s.io),
// bounded in time and output, with little of this daemon's environment (README.md, "Exec plugins").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/k8s/client/kubeconfig.h"
#include "schedd/base/clock.h"
#include "schedd/base/result.h"

namespace muster::k8s {

inline constexpr std::int64_t kExecMs = 30'000;  // cloud plugins ask the network, seldom twice
inline constexpr std::size_t kExecBytes = 256u << 10;  // a token and a chain of certificates

struct ExecCredentials {
  std::string token;
  std::string certificate_pem, key_pem;
  WallTime expires;  // not set: they do not
};

/// Ends a plugin that runs, from another thread. Thread-safe.
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

/// Runs it and waits: at most `limit_ms`, then it and its children are killed. `info` is
/// KUBERNETES_EXEC_INFO. kUnauthenticated with one sentence, which never holds what it printed.
Result<ExecCredentials> RunExecPlugin(const ExecPlugin& plugin, const std::string& info,
                                      const Clock& clock, const ExecStop& stop,
                                      std::int64_t limit_ms = kExecMs);

/// What is put into KUBERNETES_EXEC_INFO; with provideClusterInfo the cluster too.
std::string ExecInfo(const MemberAccess& access, const std::string& ca_pem);

/// Reads an ExecCredential.
Result<ExecCredentials> ParseExecCredential(std::string_view text, const std::string& api_version);

}  // namespace muster::k8s
