// AllowAll and FixedAuthenticator: for tests that are about something else than identity.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "api/auth/authenticator.h"
#include "api/auth/authorizer.h"
#include "schedd/model/access.h"

namespace muster::test {

/// Everybody may do everything.
class AllowAll final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal&, auth::Verb, const auth::ResourceRef&) const override {
    return true;
  }
  bool AllowsPath(const auth::Principal&, auth::Verb, std::string_view) const override {
    return true;
  }
};

/// A principal that may do everything under any authorizer.
inline auth::Principal Tester(std::string user = "tester") {
  auth::Principal who;
  who.user = std::move(user);
  who.groups = {kMastersGroup, kAuthenticatedGroup};
  who.method = "unix";
  who.uid = 0;
  who.credential = "uid:0";
  who.source = "unix:0";
  who.request_id = "test";
  return who;
}

/// Every caller is Tester(), or, if the request wants to act as another user, that user. Any
/// Authorization header is refused. Thread-safe.
class FixedAuthenticator final : public auth::Authenticator {
 public:
  explicit FixedAuthenticator(auth::Principal who = Tester()) : who_(std::move(who)) {}
  Result<auth::Principal> Authenticate(const auth::Evidence& evidence) const override {
    if (evidence.authorization != nullptr && !evidence.authorization->empty())
      return Error{Code::kUnauthenticated, "the server does not know this kind of credentials"};
    auth::Principal who = who_;
    if (!evidence.as_user.empty()) who.user = std::string(evidence.as_user);
    who.request_id = evidence.request_id;
    return who;
  }
  Status StillGood(const auth::Principal&) const override {
    if (good) return Done{};
    return Error{Code::kUnauthenticated, "the credentials were revoked"};
  }
  std::atomic<bool> good{true};

 private:
  const auth::Principal who_;
};

}  // namespace muster::test
