// Credentials that are not written down in the configuration: a token in a file that others renew,
// or what a plugin prints (Kubernetes' client.authentication.k8s.io).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "clients/lib/outcome.h"
#include "schedd/base/time.h"

namespace muster::client {

/// What a request shows of its sender; each may be "".
struct Credential {
  std::string token;
  std::string certificate_pem, key_pem;
};

/// A plugin, as `exec:` of config.yaml and of a kubeconfig declare it.
struct ExecCommand {
  std::string command;  // found by PATH if it has no slash
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env = {};
  std::string api_version = "client.authentication.k8s.io/v1";
};

/// Not thread-safe.
class CredentialSource {
 public:
  static CredentialSource OfFile(std::string path);
  static CredentialSource OfPlugin(ExecCommand plugin);
  /// The credential to use now. A plugin is run at the first call and again when what it gave
  /// expires; a file is read again after a minute. Waits for a plugin for at most a minute. Errors
  /// are kLocal and never show what a plugin printed.
  Outcome<Credential> Get();

 private:
  Outcome<Credential> ReadFile();
  Outcome<Credential> RunPlugin();

  std::string file_;
  ExecCommand plugin_;
  bool have_ = false;
  Credential kept_;
  WallTime expires_;          // of what a plugin gave; not set: it does not
  std::int64_t read_ms_ = 0;  // when the file was read
};

}  // namespace muster::client
