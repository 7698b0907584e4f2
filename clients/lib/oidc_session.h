// The login of a user at an OpenID Connect provider: where it is kept, and the token of a request
// (rule U57).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "clients/lib/http_client.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::client {

/// `oidc:` of the client's configuration file.
struct OidcClient {
  std::string issuer, client_id;
  std::string scopes = "openid profile groups offline_access";
  /// Which of the provider's tokens is sent: "id" or "access".
  std::string token = "id";
  std::string ca;  // file of certificates; "": the system's
};

/// Reads the mapping {issuer, client-id, scopes, token, ca}; `path` names the file in errors.
Status TakeOidcClient(const json::value& section, const std::string& path, OidcClient* out);

/// A login that has succeeded.
struct StoredLogin {
  std::string server;  // the tokens are sent to this server alone
  OidcClient client;
  std::string token_endpoint;
  std::string bearer, refresh_token;
  std::int64_t expires_s = 0;  // of `bearer`, seconds since 1970
};

/// $XDG_CACHE_HOME/muster/login.json, else $HOME/.cache/muster/login.json; "" if neither is set.
std::string LoginFile(const std::function<std::string(const char*)>& env);

/// Unset if there is no file. An error: it cannot be read, or others may read it.
Result<std::optional<StoredLogin>> ReadLogin(const std::string& file);
/// Writes the file with mode 0600 in a directory of mode 0700, as a whole or not at all. It waits
/// for a renewal that is under way, as ForgetLogin does: that one's tokens must not come back.
Status WriteLogin(const std::string& file, const StoredLogin& login);
/// Removes the file. Done also if there is none.
Status ForgetLogin(const std::string& file);

/// Takes the tokens of a provider's answer into `login`. An error: the kind of token that is to be
/// sent is not among them.
Status TakeTokens(const json::object& answer, std::int64_t now_s, StoredLogin* login);

/// Seconds since 1970.
std::int64_t WallSeconds();

/// Has `ask` fill in new tokens and replaces the file, under a lock beside it, so that two commands
/// do not use the same refresh token. Done without asking if there is no login, or if its token
/// lasts for a while yet.
Status RenewOnce(const std::string& file, const std::function<Status(StoredLogin*)>& ask);

/// Renews the login of a file.
using LoginRenewal = std::function<Status(const std::string& file)>;

/// A signer that sends the token of the login as bearer token, and has it renewed shortly before it
/// ends: by `renew`, or if that is null by the program `muster login --renew`. It gives "" where
/// there is no login for this server, and an error where the provider has ended the login.
RequestSigner LoginSigner(std::string file, std::string server, LoginRenewal renew = nullptr);

}  // namespace muster::client
