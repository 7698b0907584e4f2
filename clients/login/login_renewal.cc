#include "clients/login/login_renewal.h"

#include "clients/login/provider_call.h"
#include "schedd/text/lenient.h"

namespace muster::client {
namespace {

// RFC 6749, section 6.
Status AskForTokens(StoredLogin* login) {
  const std::string again = "; run muster login, or muster logout to go on without";
  if (login->refresh_token.empty()) {
    return Error{Code::kUnauthenticated, "the login has expired" + again};
  }
  const FormFields form = {{"grant_type", "refresh_token"},
                           {"refresh_token", login->refresh_token},
                           {"client_id", login->client.client_id}};
  auto answer = CallProvider(login->token_endpoint, login->client.ca, &form);
  if (!answer.ok()) return Unavailable(answer.failure().detail);
  if (answer->away())
    return Unavailable("the provider answered with status " + std::to_string(answer->status));
  if (answer->status != 200) {
    const std::string why = TextAt(answer->body, "error");
    return Error{Code::kUnauthenticated, "the provider has ended the login (" + why + ")" + again};
  }
  return TakeTokens(answer->body, WallSeconds(), login);
}

}  // namespace

Status RenewStoredLogin(const std::string& file) { return RenewOnce(file, &AskForTokens); }

}  // namespace muster::client
