// What a credential plugin prints: Kubernetes' ExecCredential (client.authentication.k8s.io).
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/base/time.h"

namespace muster {

struct ExecCredentials {
  std::string token;
  std::string certificate_pem, key_pem;
  WallTime expires;  // not set: they do not expire
};

/// True if the text has no blank, control character or byte beyond ASCII: any of them would end the
/// header that carries it, or change what it says. Pure, thread-safe.
bool FitsBearerHeader(std::string_view token);

/// Reads an ExecCredential of this apiVersion. kUnauthenticated with one sentence, which never
/// holds what the plugin printed. Pure, thread-safe.
Result<ExecCredentials> ParseExecCredential(std::string_view text, const std::string& api_version);

}  // namespace muster
