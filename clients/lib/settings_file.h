// ~/.config/muster/config.yaml as plain values.
#pragma once

#include <string>

#include "clients/lib/credential_source.h"
#include "clients/lib/oidc_session.h"
#include "schedd/base/result.h"

namespace muster::client {

struct FileSettings {
  std::string server, grpc, token, ns;
  std::string ca, certificate, key;  // PEM files
  bool skip_verify = false;          // insecure-skip-tls-verify
  std::string token_file;
  ExecCommand exec;  // `command` is "" without `exec:`
  std::string auth, munge_socket;
  OidcClient oidc;
};

/// An absent file gives empty settings. Paths are relative to the file's directory. Errors name the
/// file and the key; one is a file that holds a token and that others may read.
Result<FileSettings> ReadSettingsFile(const std::string& path);

}  // namespace muster::client
