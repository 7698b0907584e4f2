// What a client needs before its first request: the server, the credentials and the namespace.
//
// Precedence (rule C3): flag, environment, ~/.config/muster/config.yaml, default.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/credential_source.h"
#include "clients/lib/endpoint.h"
#include "clients/lib/http_client.h"
#include "clients/lib/oidc_session.h"
#include "clients/lib/tls_client.h"
#include "schedd/base/result.h"

namespace muster::client {

struct Settings {
  Endpoint server;
  /// Further servers of the same installation, in the order in which they are tried.
  std::vector<Endpoint> more_servers;
  /// Where commands remember which of several servers do not answer (away_servers.h); "": nowhere.
  std::string away_file;
  /// HOST:PORT or unix:PATH of the gRPC API, from MUSTER_GRPC or `grpc:`; else the socket beside
  /// that of the server, else port 8687 of 127.0.0.1, or of the server's host if that is asked by
  /// https.
  std::string grpc;
  bool grpc_tls = false;
  /// Further ones, of the same installation: both may list several addresses, separated by commas,
  /// and the default has one for each server.
  struct GrpcAddress {
    std::string address;
    bool tls = false;
  };
  std::vector<GrpcAddress> more_grpc;
  TlsSettings tls;
  std::string token;                         // sent as a bearer token if not empty
  std::shared_ptr<CredentialSource> source;  // gives the token instead; may be null
  std::string warning;                       // for the user, with every command; "": none
  /// Tells the user something while a command runs, such as the age of an answer; may be null.
  std::function<void(const std::string&)> warn;
  std::string ns = "default";                // default namespace
  /// Whom to act as (--as, --as-group); "": nobody else. The server asks whether the caller may.
  std::string as_user;
  std::vector<std::string> as_groups;
  /// The provider that `muster login` asks, from `oidc:`.
  OidcClient oidc;
  /// Signs requests that have neither a token nor a source: a munge credential (`auth: munge`,
  /// MUSTER_AUTH), else the token of `muster login`, if there is one for this server.
  RequestSigner signer;
};

/// The flags of the command line; empty means "not given".
struct SettingFlags {
  std::string server = {}, ns = {}, as_user = {};
  std::vector<std::string> as_groups = {};
  std::string ca = {}, certificate = {}, key = {};  // PEM files
};

/// Looks up an environment variable; "" if unset. A parameter, so that tests need no process
/// environment.
using EnvLookup = std::function<std::string(const char* name)>;

/// The process environment.
std::string ProcessEnv(const char* name);

/// The Unix sockets of a daemon with a default data directory, in the order in which a client looks
/// for one (rule U16): that of MUSTER_DATA_DIR, for other users than root that below the home
/// directory, and /var/lib/muster/run/muster.sock.
std::vector<std::string> DefaultSockets(const EnvLookup& env, bool root);

/// The same as LoadSettings of the process's environment would have without a server from anywhere:
/// the first of `sockets` that somebody answers at, else 127.0.0.1:8686.
Endpoint DefaultServer(const std::vector<std::string>& sockets);

/// Reads `config_file` only if it exists. Errors name the source: a bad URL, a file with unknown
/// keys, a file others may read although it holds a token, and a token for a server that is asked
/// in plain text beyond this host (rule U44).
Result<Settings> LoadSettings(const SettingFlags& flags, const EnvLookup& env,
                              const std::string& config_file);

/// True if a server that LoadSettings would find in the environment or the file is asked by https.
/// False for a file that cannot be read: LoadSettings says why.
bool AsksByTls(const EnvLookup& env, const std::string& config_file);

/// $XDG_CONFIG_HOME/muster/config.yaml, else $HOME/.config/muster/config.yaml; "" if neither is
/// set.
std::string DefaultConfigFile(const EnvLookup& env);

/// The login name of the effective user, else its number.
std::string CurrentUser();

}  // namespace muster::client
