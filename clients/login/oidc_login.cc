#include "clients/login/oidc_login.h"

#include <algorithm>

#include "clients/login/provider_call.h"
#include "schedd/text/lenient.h"
#include "schedd/text/provider_url.h"

namespace muster::client {
namespace {

constexpr const char* kDeviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
// RFC 8628, section 3.2 (the interval without one in the answer) and 3.5 (slow_down).
constexpr std::int64_t kPollS = 5, kSlowDownS = 5;
// Bounds for what a provider says.
constexpr std::int64_t kPollMaxS = 60, kCodeLifeMaxS = 1800;

// A refusal of the provider as a sentence (RFC 6749, section 5.2).
Failure ProviderRefused(const std::string& what, const ProviderAnswer& answer) {
  std::string why = TextAt(answer.body, "error_description");
  if (why.empty()) why = TextAt(answer.body, "error");
  if (why.empty()) why = "status " + std::to_string(answer.status);
  return LocalFailure("the provider refused " + what + ": " + why);
}

// The provider's addresses. Only an answer of the very issuer counts.
Outcome<json::object> Discover(const OidcClient& client) {
  auto answer = CallProvider(DiscoveryUrl(client.issuer), client.ca, nullptr);
  if (!answer.ok()) return answer.failure();
  if (answer->status != 200) return ProviderRefused("discovery", *answer);
  if (TextAt(answer->body, "issuer") != client.issuer) {
    return BadAnswer("the provider says that it is another issuer, \"" +
                     TextAt(answer->body, "issuer") + "\"");
  }
  for (const char* name : {"device_authorization_endpoint", "token_endpoint"}) {
    if (TextAt(answer->body, name).empty()) {
      return BadAnswer(std::string("the provider has no ") + name +
                       ": it does not offer logins from a terminal");
    }
    if (client.issuer.starts_with("https://") &&
        !TextAt(answer->body, name).starts_with("https://")) {
      return BadAnswer(std::string("the provider's ") + name + " is not https, as its issuer is");
    }
  }
  return std::move(answer.value().body);
}

// Polls until the provider gives tokens, an error that is final, or the code has expired.
Outcome<json::object> AwaitTokens(const OidcClient& client, const std::string& token_endpoint,
                                  const json::object& device, const LoginHandlers& handlers) {
  const FormFields form = {{"grant_type", kDeviceGrant},
                           {"device_code", TextAt(device, "device_code")},
                           {"client_id", client.client_id}};
  std::int64_t interval_s =
      std::clamp<std::int64_t>(IntegerAt(device, "interval").value_or(kPollS), 1, kPollMaxS);
  std::int64_t left_s = std::clamp<std::int64_t>(
      IntegerAt(device, "expires_in").value_or(kCodeLifeMaxS), 1, kCodeLifeMaxS);
  while (left_s > 0) {
    handlers.wait(static_cast<int>(interval_s));
    left_s -= interval_s;
    auto answer = CallProvider(token_endpoint, client.ca, &form);
    // A connection that breaks is tried again at the next turn, as section 3.5 asks.
    if (!answer.ok() && answer.failure().kind == Failure::Kind::kUnreachable) continue;
    if (!answer.ok()) return answer.failure();
    if (answer->away()) continue;
    if (answer->status == 200) return std::move(answer.value().body);
    const std::string error = TextAt(answer->body, "error");
    if (error == "slow_down") interval_s = std::min(interval_s + kSlowDownS, kPollMaxS);
    if (error != "slow_down" && error != "authorization_pending") {
      return ProviderRefused("the login", *answer);
    }
  }
  return LocalFailure("the code has expired; run muster login again");
}

}  // namespace

Outcome<StoredLogin> LogIn(const OidcClient& client, const std::string& server,
                           const LoginHandlers& handlers) {
  if (client.issuer.empty() || client.client_id.empty()) {
    return LocalFailure(
        "no provider is known: give --issuer and --client-id, or oidc: {issuer: URL, client-id: "
        "ID} in ~/.config/muster/config.yaml");
  }
  const std::string problem = IssuerUrlProblem(client.issuer);
  if (!problem.empty()) return LocalFailure("issuer \"" + client.issuer + "\": " + problem);
  auto addresses = Discover(client);
  if (!addresses.ok()) return addresses.failure();
  const FormFields form = {{"client_id", client.client_id}, {"scope", client.scopes}};
  auto device = CallProvider(TextAt(*addresses, "device_authorization_endpoint"), client.ca, &form);
  if (!device.ok()) return device.failure();
  if (device->status != 200) return ProviderRefused("the login", *device);
  const DevicePrompt prompt = {TextAt(device->body, "verification_uri"),
                               TextAt(device->body, "user_code"),
                               TextAt(device->body, "verification_uri_complete")};
  if (prompt.address.empty() || prompt.code.empty() ||
      TextAt(device->body, "device_code").empty()) {
    return BadAnswer("the provider gives no code for the login");
  }
  handlers.prompt(prompt);
  StoredLogin out;
  out.server = server;
  out.client = client;
  out.token_endpoint = TextAt(*addresses, "token_endpoint");
  auto tokens = AwaitTokens(client, out.token_endpoint, device->body, handlers);
  if (!tokens.ok()) return tokens.failure();
  const Status taken = TakeTokens(*tokens, WallSeconds(), &out);
  if (!taken.ok()) return LocalFailure(taken.error().detail);
  return out;
}

}  // namespace muster::client
