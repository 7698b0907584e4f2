// muster login against a provider that is a small server on loopback, and the login that is kept.
#include "clients/login/oidc_login.h"
#include "clients/login/login_renewal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "clients/lib/munge_credential.h"
#include "clients/lib/settings.h"
#include "schedd/text/base64.h"
#include "tests/unit/clients/fake_server.h"

namespace muster::client {
namespace {

using muster::testing::FakeAnswer;
using muster::testing::FakeRequest;
using muster::testing::FakeServer;

constexpr char kServer[] = "http://127.0.0.1:8686";

// A token whose `exp` is so many seconds away. Nobody checks its signature here.
std::string TokenEndingIn(std::int64_t seconds, const std::string& name) {
  const std::string claims = WriteJson(
      json::object{{"exp", std::int64_t{::time(nullptr)} + seconds}, {"sub", json::string(name)}});
  std::string payload = EncodeBase64(claims);
  while (payload.ends_with('=')) payload.pop_back();
  return "e30." + payload + ".c2ln";
}

// The provider: discovery, device codes, and tokens after `pending` refusals to wait.
class OidcLoginRuleU57 : public ::testing::Test {
 protected:
  OidcLoginRuleU57() : provider_([this](const FakeRequest& r) { return Answer(r); }) {
    directory_ = ::testing::TempDir() + "muster-login-" + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    file_ = directory_ + "/muster/login.json";
    client_.issuer = provider_.url();
    client_.client_id = "muster-cli";
  }
  ~OidcLoginRuleU57() override { std::filesystem::remove_all(directory_); }

  FakeAnswer Answer(const FakeRequest& request) {
    const std::string url = "http://" + request.Header("host");
    if (request.target == "/.well-known/openid-configuration") {
      return {200, WriteJson(json::object{
                       {"issuer", json::string(url + wrong_issuer_.load())},
                       {"device_authorization_endpoint", json::string(url + "/device")},
                       {"token_endpoint", json::string(url + "/token")}})};
    }
    if (request.target == "/device") {
      return {200, R"({"device_code":"dev","user_code":"AB-CD","verification_uri":"https://id/d",)"
                   R"("expires_in":100,"interval":1})"};
    }
    if (failing_-- > 0) return {503, R"({"error":"temporarily_unavailable"})"};
    const std::string refusal = refusal_.load();
    if (!refusal.empty()) return {400, R"({"error":")" + refusal + R"("})"};
    if (pending_-- > 0) return {400, R"({"error":"authorization_pending"})"};
    return {200, WriteJson(json::object{{"id_token", json::string(TokenEndingIn(life_s_, "a"))},
                                        {"access_token", "opaque"},
                                        {"refresh_token", "again"},
                                        {"expires_in", 60}})};
  }
  Outcome<StoredLogin> Run() {
    return LogIn(client_, kServer,
                 {[this](const DevicePrompt& prompt) { shown_ = prompt; },
                  [this](int seconds) { waited_s_ += seconds; }});
  }
  Result<std::string> Sign(const std::string& server = kServer) {
    return LoginSigner(file_, server, &RenewStoredLogin)(HttpRequest{});
  }

  std::string directory_, file_;
  // The server's threads read them.
  std::atomic<const char*> refusal_ = "", wrong_issuer_ = "";
  std::atomic<int> pending_ = 2, failing_ = 0;
  std::atomic<std::int64_t> life_s_ = 3600;
  OidcClient client_;
  DevicePrompt shown_;
  int waited_s_ = 0;
  FakeServer provider_;
};

TEST_F(OidcLoginRuleU57, ShowsTheCodeAndWaitsForTheUser) {
  const auto login = Run();
  ASSERT_TRUE(login.ok()) << login.failure().detail;
  EXPECT_EQ(shown_.address, "https://id/d");
  EXPECT_EQ(shown_.code, "AB-CD");
  EXPECT_EQ(waited_s_, 3);
  EXPECT_EQ(login->refresh_token, "again");
  EXPECT_EQ(login->server, kServer);
  const std::vector<FakeRequest> requests = provider_.requests();
  EXPECT_EQ(requests[1].body,
            "client_id=muster-cli&scope=openid%20profile%20groups%20offline_access");
  EXPECT_NE(requests[2].body.find("device_code=dev"), std::string::npos);
}

TEST_F(OidcLoginRuleU57, EndsWhenTheProviderRefuses) {
  refusal_ = "access_denied";
  EXPECT_FALSE(Run().ok());
  refusal_ = "expired_token";
  EXPECT_FALSE(Run().ok());
}

TEST_F(OidcLoginRuleU57, EndsWhenTheCodeHasExpired) {
  pending_ = 1'000'000;
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(waited_s_, 100);
}

TEST_F(OidcLoginRuleU57, RefusesAProviderThatIsAnotherIssuer) {
  wrong_issuer_ = "/other";
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(provider_.requests().size(), 1u);
}

TEST_F(OidcLoginRuleU57, RefusesHttpBeyondLoopback) {
  client_.issuer = "http://id.example";
  EXPECT_FALSE(Run().ok());
  client_.issuer = "";
  EXPECT_FALSE(Run().ok());
}

TEST_F(OidcLoginRuleU57, SaysThatTheProviderGivesNoSuchToken) {
  client_.token = "access";
  auto login = Run();
  ASSERT_TRUE(login.ok());
  EXPECT_EQ(login->bearer, "opaque");
  EXPECT_LE(login->expires_s, ::time(nullptr) + 60);
  EXPECT_FALSE(TakeTokens(json::object{{"id_token", "x"}}, 0, &login.value()).ok());
}

TEST_F(OidcLoginRuleU57, SendsTheTokenToItsServerAlone) {
  EXPECT_EQ(*Sign(), "") << "there is no login";
  auto login = Run();
  ASSERT_TRUE(login.ok());
  ASSERT_TRUE(WriteLogin(file_, *login).ok());
  EXPECT_EQ(*Sign(), "Bearer " + login->bearer);
  EXPECT_EQ(*Sign("http://evil.example:8686"), "");
  StoredLogin afar = *login;
  afar.server = "http://far.example:8686";
  ASSERT_TRUE(WriteLogin(file_, afar).ok());
  EXPECT_FALSE(Sign(afar.server).ok()) << "a token in plain text on a network";
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ::chmod(file_.c_str(), 0644);
  EXPECT_FALSE(Sign().ok()) << "others may have read it";
}

TEST_F(OidcLoginRuleU57, RenewsATokenThatIsAboutToEnd) {
  life_s_ = 10;
  auto login = Run();
  ASSERT_TRUE(login.ok());
  ASSERT_TRUE(WriteLogin(file_, *login).ok());
  life_s_ = 3600;
  const auto renewed = Sign();
  ASSERT_TRUE(renewed.ok()) << renewed.error().detail;
  EXPECT_NE(*renewed, "Bearer " + login->bearer);
  EXPECT_NE(provider_.requests().back().body.find("grant_type=refresh_token&refresh_token=again"),
            std::string::npos);
  const std::size_t asked = provider_.requests().size();
  EXPECT_EQ(*Sign(), *renewed);
  EXPECT_EQ(provider_.requests().size(), asked) << "the renewed token was kept";
}

TEST_F(OidcLoginRuleU57, SaysThatTheProviderHasEndedTheLogin) {
  life_s_ = 10;
  auto login = Run();
  ASSERT_TRUE(login.ok());
  ASSERT_TRUE(WriteLogin(file_, *login).ok());
  refusal_ = "invalid_grant";
  const auto signed_request = Sign();
  ASSERT_FALSE(signed_request.ok());
  EXPECT_NE(signed_request.error().detail.find("muster login"), std::string::npos);
}

TEST_F(OidcLoginRuleU57, SendsATokenThatStillLasts_WhileTheProviderIsAway) {
  const auto signed_with = [&](std::int64_t life_s, Code code) {
    StoredLogin login;
    login.server = kServer;
    login.bearer = TokenEndingIn(life_s, "a");
    login.expires_s = ::time(nullptr) + life_s;
    EXPECT_TRUE(WriteLogin(file_, login).ok());
    const LoginRenewal renew = [code](const std::string&) -> Status {
      return Error{code, "no new token"};
    };
    return LoginSigner(file_, kServer, renew)(HttpRequest{}).ok();
  };
  EXPECT_TRUE(signed_with(25, Code::kUnavailable));
  EXPECT_FALSE(signed_with(25, Code::kUnauthenticated)) << "the provider has ended the login";
  EXPECT_FALSE(signed_with(-1, Code::kUnavailable)) << "the token has ended";
}

TEST_F(OidcLoginRuleU57, AProviderThatHasFailedHasNotEndedTheLogin) {
  life_s_ = 20;
  auto login = Run();
  ASSERT_TRUE(login.ok());
  ASSERT_TRUE(WriteLogin(file_, *login).ok());
  failing_ = 3;
  EXPECT_EQ(RenewStoredLogin(file_).error().code, Code::kUnavailable);
  EXPECT_EQ(*Sign(), "Bearer " + login->bearer) << "it still lasts";
  failing_ = 1;
  EXPECT_TRUE(Run().ok()) << "a new login asks again";
}

TEST_F(OidcLoginRuleU57, ALogoutWaitsForARenewalAndStays) {
  EXPECT_TRUE(ForgetLogin(file_).ok()) << "there is none";
  EXPECT_TRUE(RenewStoredLogin(file_).ok()) << "there is none";
  life_s_ = 10;
  auto login = Run();
  ASSERT_TRUE(login.ok());
  ASSERT_TRUE(WriteLogin(file_, *login).ok());
  std::thread logout;
  const Status renewed = RenewOnce(file_, [&](StoredLogin* stored) -> Status {
    logout = std::thread([&] { EXPECT_TRUE(ForgetLogin(file_).ok()); });
    stored->bearer = "new";
    return Done{};
  });
  logout.join();
  EXPECT_TRUE(renewed.ok());
  EXPECT_FALSE(std::filesystem::exists(file_)) << "the renewed token came back after the logout";
}

TEST_F(OidcLoginRuleU57, TokensOfOneServerDoNotGoToAnother_WhenALoginCameMeanwhile) {
  StoredLogin login;
  login.server = kServer;
  login.bearer = "old";
  ASSERT_TRUE(WriteLogin(file_, login).ok());
  const LoginRenewal elsewhere = [](const std::string& file) -> Status {
    StoredLogin other;
    other.server = "https://other.example:8686";
    other.bearer = "other";
    return WriteLogin(file, other);
  };
  EXPECT_EQ(*LoginSigner(file_, kServer, elsewhere)(HttpRequest{}), "");
}

TEST_F(OidcLoginRuleU57, WhatAProviderSaysIsBounded) {
  StoredLogin login;
  login.client.token = "access";
  EXPECT_FALSE(
      TakeTokens(json::object{{"access_token", "a\r\nX-Muster-User: root"}}, 0, &login).ok());
  ASSERT_TRUE(TakeTokens(json::object{{"access_token", "opaque"}, {"expires_in", INT64_MAX}},
                         WallSeconds(), &login)
                  .ok());
  EXPECT_LT(login.expires_s, WallSeconds() + 2 * 366 * 86'400);
}

TEST_F(OidcLoginRuleU57, ReadsTheProviderFromTheConfigurationFile) {
  OidcClient out;
  const json::object good = {
      {"issuer", "https://id.example"}, {"client-id", "m"}, {"token", "access"}};
  EXPECT_TRUE(TakeOidcClient(good, "file", &out).ok());
  EXPECT_EQ(out.client_id, "m");
  EXPECT_EQ(out.token, "access");
  EXPECT_FALSE(TakeOidcClient(json::object{{"isuer", "x"}}, "file", &out).ok());
  EXPECT_FALSE(TakeOidcClient(json::object{{"token", "both"}}, "file", &out).ok());
  EXPECT_FALSE(TakeOidcClient(json::object{{"issuer", 7}}, "file", &out).ok());
  EXPECT_FALSE(TakeOidcClient("x", "file", &out).ok());
}

// A request that is sent again is signed again: a munge credential counts once.
TEST(RequestSigning, SignsEachSendingOfARequest) {
  std::atomic<int> answers = 0;
  FakeServer server([&](const FakeRequest&) {
    FakeAnswer out;
    out.drop = answers++ == 0;
    return out;
  });
  HttpClient http(*ParseServerUrl(server.url()));
  int signatures = 0;
  HttpRequest request;
  request.target = "/x";
  request.repeatable = true;
  request.signer = [&](const HttpRequest&) -> Result<std::string> {
    return "Test " + std::to_string(++signatures);
  };
  ASSERT_TRUE(http.Send(request, 0).ok());
  const std::vector<FakeRequest> requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].Header("authorization"), "Test 1");
  EXPECT_EQ(requests[1].Header("authorization"), "Test 2");
}

TEST(RequestSigning, SendsNothingThatCannotBeSigned) {
  FakeServer server([](const FakeRequest&) { return FakeAnswer{}; });
  HttpClient http(*ParseServerUrl(server.url()));
  HttpRequest request;
  request.signer = [](const HttpRequest&) -> Result<std::string> {
    return Unavailable("no munged");
  };
  const auto answer = http.Send(request, 0);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().detail, "no munged");
  EXPECT_TRUE(server.requests().empty());
}

TEST(RequestSigning, IsChosenByTheSettings) {
  std::map<std::string, std::string> env = {{"MUSTER_AUTH", "munge"},
                                            {"MUSTER_AUTH_SOCKET", "/nonexistent"}};
  const auto lookup = [&](const char* name) { return env[name]; };
  auto settings = LoadSettings({}, lookup, "");
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->signer(HttpRequest{}).ok()) << "there is no such munged";
  env["MUSTER_AUTH"] = "kerberos";
  EXPECT_FALSE(LoadSettings({}, lookup, "").ok());
  env.clear();
  settings = LoadSettings({}, lookup, "");
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->signer) << "without a home there is no login";
}

TEST(RequestSigning, SaysThatMungedDoesNotRun) {
  const auto given = MungeAuthorization("GET", "/x", "", "/nonexistent/munge.socket");
  ASSERT_FALSE(given.ok());
  EXPECT_NE(given.error().detail.find("munge"), std::string::npos);
}

}  // namespace
}  // namespace muster::client
