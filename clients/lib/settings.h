// What a client needs before its first request: the server, the user and the namespace.
//
// Precedence (rule C3): flag, environment, ~/.config/muster/config.yaml, default.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "clients/lib/endpoint.h"
#include "schedd/base/result.h"

namespace muster::client {

struct Settings {
  Endpoint server;
  std::string grpc;   // HOST:PORT of the gRPC API, from MUSTER_GRPC, `grpc:` or 127.0.0.1:8687
  std::string token;  // sent as a bearer token if not empty
  std::string ns = "default";  // default namespace
  std::string user;            // the name that the server takes for loopback callers
};

/// The flags of the command line; empty means "not given".
struct SettingFlags {
  std::string server, ns;
};

/// Looks up an environment variable; "" if unset. A parameter, so that tests need no process
/// environment.
using EnvLookup = std::function<std::string(const char* name)>;

/// The process environment.
std::string ProcessEnv(const char* name);

/// Reads `config_file` only if it exists. Errors name the source: a bad URL, a file that is no
/// mapping of server, grpc, token and namespace, a file others may read although it holds a token.
Result<Settings> LoadSettings(const SettingFlags& flags, const EnvLookup& env,
                              const std::string& config_file);

/// $XDG_CONFIG_HOME/muster/config.yaml, else $HOME/.config/muster/config.yaml; "" if neither is
/// set.
std::string DefaultConfigFile(const EnvLookup& env);

/// The login name of the effective user, else its number.
std::string CurrentUser();

}  // namespace muster::client
