// login, logout: the tokens of a provider, kept for later commands (clients/lib/oidc_session.h).
#include <unistd.h>

#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/lib/visible_text.h"
#include "clients/login/login_renewal.h"
#include "clients/login/oidc_login.h"
#include "schedd/base/time.h"

namespace muster::cli {
namespace {

// The prompt goes to stderr, and is shown at once: the user must read it while the command waits.
void ShowPrompt(const client::DevicePrompt& prompt) {
  const std::string& address =
      prompt.complete_address.empty() ? prompt.address : prompt.complete_address;
  std::fprintf(stderr, "Open %s in a browser and check or enter the code %s\n",
               client::VisibleText(address).c_str(), client::VisibleText(prompt.code).c_str());
  std::fflush(stderr);
}

}  // namespace

int Login(Session& session, const LoginOptions& options) {
  client::OidcClient provider = session.api.settings().oidc;
  if (!options.issuer.empty()) provider.issuer = options.issuer;
  if (!options.client_id.empty()) provider.client_id = options.client_id;
  if (!options.scopes.empty()) provider.scopes = options.scopes;
  const std::string file = client::LoginFile(client::ProcessEnv);
  if (file.empty()) return PrintError("neither HOME nor XDG_CACHE_HOME is set"), kBadUsage;
  if (options.renew) {
    const Status renewed = client::RenewStoredLogin(file);
    if (renewed.ok()) return 0;
    PrintError(renewed.error().detail);
    return renewed.error().code == Code::kUnavailable ? kNotReached : kRefused;
  }
  const client::LoginHandlers handlers = {
      &ShowPrompt, [](int seconds) { ::sleep(static_cast<unsigned>(seconds)); }};
  const std::string server = session.api.settings().server.ToString();
  auto login = client::LogIn(provider, server, handlers);
  if (!login.ok()) return PrintFailure(login.failure());
  const Status written = client::WriteLogin(file, *login);
  if (!written.ok()) return PrintError(written.error().detail), kRefused;
  const WallTime ends = WallTime{}.PlusSeconds(login->expires_s);
  std::printf("Logged in for %s until %s%s\n", server.c_str(), FormatRfc3339(ends).c_str(),
              login->refresh_token.empty() ? "" : ", and renewed after that");
  return 0;
}

int Logout() {
  const std::string file = client::LoginFile(client::ProcessEnv);
  if (file.empty()) return 0;
  const Status forgotten = client::ForgetLogin(file);
  return forgotten.ok() ? 0 : (PrintError(forgotten.error().detail), kRefused);
}

}  // namespace muster::cli
