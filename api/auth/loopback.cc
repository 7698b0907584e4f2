// The user name is taken as the client gives it. A malformed name is refused and not replaced by
// "anonymous": a typing error must not act as somebody else. Credentials are refused whatever they
// are, because a client that sends a token must not believe that it was checked.
#include "api/auth/loopback.h"

namespace muster::auth {
namespace {

constexpr std::size_t kUserBytes = 64;

bool UserCharacter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '@' || c == '-';
}

}  // namespace

Status LoopbackAuthorizer::Authorize(const Principal&, Verb, const ResourceRef&) const {
  return Done{};
}

Result<Principal> LoopbackPrincipal(std::string_view claimed_user, bool credentials) {
  if (credentials) {
    return Error{
        Code::kUnauthenticated,
        "authentication is not set up on this server, so it cannot check the credentials "
        "of this request: leave the Authorization header out (muster: unset MUSTER_TOKEN)"};
  }
  Principal principal;
  if (claimed_user.empty()) return principal;
  bool valid = claimed_user.size() <= kUserBytes;
  for (const char c : claimed_user) valid = valid && UserCharacter(c);
  if (!valid) {
    return Error{
        Code::kUnauthenticated,
        "the user name must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_', '@' and '-'"};
  }
  principal.user = std::string(claimed_user);
  return principal;
}

}  // namespace muster::auth
