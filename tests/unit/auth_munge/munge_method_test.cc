// Credentials with a munged that is a map from credentials to what they say.
#include "api/auth/munge/munge_method.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/text/base64.h"
#include "schedd/text/request_digest.h"
#include "tests/support/fake_clock.h"

namespace muster::auth {
namespace {

class FakeMunged final : public MungeDecoder {
 public:
  Result<DecodedCredential> Decode(const std::string& credential) override {
    ++asked;
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    if (down) return Unavailable("munged does not answer");
    const auto found = credentials.find(credential);
    if (found == credentials.end()) return Error{Code::kUnauthenticated, "invalid credential"};
    return found->second;
  }
  std::map<std::string, DecodedCredential> credentials;
  std::function<void()> meanwhile;  // called once, while munged is asked
  bool down = false;
  int asked = 0;
};

// As munge_encode writes these bytes.
std::string Armored(const std::string& bytes) { return "MUNGE:" + EncodeBase64(bytes) + ":"; }

class MungeRuleU55 : public ::testing::Test {
 protected:
  // A credential that uid 1000 has made for a request.
  std::string Made(std::string_view http_method, std::string_view target, std::string_view body,
                   std::uint32_t uid = 1000) {
    const std::string name = Armored(std::to_string(++made_));
    munged_.credentials[name] = {uid, RequestDigest(http_method, target, body),
                                 clock_.WallNow().us / kMicrosPerSecond + 300};
    return name;
  }
  Result<Principal> Ask(const std::string& credential, std::string_view http_method,
                        std::string_view target, std::string_view body) {
    const Authorization header("Munge " + credential);
    Evidence evidence;
    evidence.authorization = &header;
    evidence.method = http_method;
    evidence.target = target;
    evidence.body = body;
    return method_.Check(evidence);
  }
  Code CodeOf(const std::string& credential, std::string_view http_method = "GET",
              std::string_view target = "/v1/jobs", std::string_view body = "") {
    const auto answer = Ask(credential, http_method, target, body);
    return answer.ok() ? Code::kOk : answer.error().code;
  }

  test::FakeClock clock_;
  FakeMunged munged_;
  int made_ = 0;
  std::map<std::uint32_t, std::string> accounts_ = {{1000, "alice"}};
  bool name_service_away_ = false;
  Result<Principal> AccountOf(std::uint32_t uid) const {
    if (name_service_away_) return Unavailable("the name service does not answer");
    const auto found = accounts_.find(uid);
    if (found == accounts_.end()) return NotFound("no such account");
    Principal who;
    who.user = found->second;
    who.groups = {"staff"};
    return who;
  }
  MungeMethod method_{&munged_, [this](std::uint32_t uid) { return AccountOf(uid); }, &clock_};
};

TEST_F(MungeRuleU55, NamesTheAccountThatMadeTheCredential) {
  const auto who = Ask(Made("POST", "/v1/jobs", "{}"), "POST", "/v1/jobs", "{}");
  ASSERT_TRUE(who.ok()) << who.error().detail;
  EXPECT_EQ(who->user, "alice");
  EXPECT_EQ(who->groups, std::vector<std::string>{"staff"});
  EXPECT_EQ(who->method, "munge");
  EXPECT_EQ(who->uid, 1000u);
  EXPECT_EQ(who->credential, "uid:1000");
}

TEST_F(MungeRuleU55, CountsForOneRequestOnly) {
  const struct {
    const char *sentence, *method, *target, *body;
  } others[] = {{"another method", "DELETE", "/v1/jobs/7", ""},
                {"another target", "POST", "/v1/jobs/8", ""},
                {"another query", "POST", "/v1/jobs/7?force=true", ""},
                {"another body", "POST", "/v1/jobs/7", "{}"},
                {"the parts cut elsewhere", "POST\n/v1/jobs/7", "", ""}};
  for (const auto& other : others) {
    EXPECT_EQ(CodeOf(Made("POST", "/v1/jobs/7", ""), other.method, other.target, other.body),
              Code::kUnauthenticated)
        << other.sentence;
  }
}

TEST_F(MungeRuleU55, CountsOnce) {
  const std::string credential = Made("GET", "/v1/jobs", "");
  EXPECT_EQ(CodeOf(credential), Code::kOk);
  // This munged has forgotten it, as one that was started anew.
  EXPECT_EQ(CodeOf(credential), Code::kUnauthenticated);
  clock_.Advance(250'000);
  EXPECT_EQ(CodeOf(credential), Code::kUnauthenticated);
}

// munged reads a credential in other spellings too; a used one must not count in any of them, also
// once munged has forgotten it.
TEST_F(MungeRuleU55, HasOneSpelling) {
  const DecodedCredential says = {1000, RequestDigest("GET", "/v1/jobs", ""),
                                  clock_.WallNow().us / kMicrosPerSecond + 300};
  const std::string good = "MUNGE:YWI=:";
  for (const char* spelling : {"MUNGE:YWI=:x", "MUNGE:YWI=::", "MUNGE:YWJ=:", "MUNGE:Y WI=:",
                               "MUNGE:YWI\t=:", "MUNGE: YWI=:", "MUNGE:=YWI:", "MUNGE:YWI:",
                               "MUNGE:YWI=\n:", "MUNGE:YWI=", "MUNGE:", "MUNGE::"}) {
    munged_.credentials[spelling] = says;
    EXPECT_EQ(CodeOf(spelling), Code::kUnauthenticated) << spelling;
  }
  EXPECT_EQ(munged_.asked, 0);
  munged_.credentials[good] = says;
  EXPECT_EQ(CodeOf(good), Code::kOk);
}

TEST_F(MungeRuleU55, IsUsedUpByAnotherRequest) {
  const std::string credential = Made("GET", "/v1/jobs", "");
  EXPECT_EQ(CodeOf(credential, "GET", "/v1/events"), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf(credential), Code::kUnauthenticated);
}

TEST_F(MungeRuleU55, RefusesWhatMungedRefusesAndWhatIsNoCredential) {
  EXPECT_EQ(CodeOf(Armored("forged")), Code::kUnauthenticated);
  const int asked = munged_.asked;
  for (const std::string& text : {std::string(), std::string("x"), std::string("munge:1:"),
                                  Armored(std::string(limits::kMungeBytes, 'A')),
                                  "MUNGE:YWI=" + std::string(1, '\0') + ":"}) {
    EXPECT_EQ(CodeOf(text), Code::kUnauthenticated);
  }
  EXPECT_EQ(munged_.asked, asked) << "munged was bothered with what is no credential";
}

TEST_F(MungeRuleU55, RefusesAnAccountThatThisHostDoesNotHave) {
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "", 4711)), Code::kUnauthenticated);
}

TEST_F(MungeRuleU55, IsNotAvailableWithoutMunged_OrTheNameService) {
  munged_.down = true;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kUnavailable);
  munged_.down = false;
  name_service_away_ = true;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kUnavailable);
}

// munged takes ten seconds to be found away; the threads of all other requests must not wait too.
TEST_F(MungeRuleU55, OneRequestAtATimeWaitsForAMungedThatIsAway) {
  Code other = Code::kOk;
  const auto ask_another = [&] { other = CodeOf(Made("GET", "/v1/jobs", "")); };
  munged_.down = true;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kUnavailable);
  munged_.meanwhile = ask_another;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kUnavailable);
  EXPECT_EQ(other, Code::kUnavailable);
  EXPECT_EQ(munged_.asked, 2) << "the other one was not told at once";
  // The next one finds it back, and then all of them ask.
  munged_.down = false;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kOk);
  munged_.meanwhile = ask_another;
  EXPECT_EQ(CodeOf(Made("GET", "/v1/jobs", "")), Code::kOk);
  EXPECT_EQ(other, Code::kOk);
  EXPECT_EQ(munged_.asked, 5);
}

TEST_F(MungeRuleU55, RefusesAnEmptyPayload) {
  munged_.credentials[Armored("e")] = {1000, "", 1'900'000'000};
  EXPECT_EQ(CodeOf(Armored("e")), Code::kUnauthenticated);
}

TEST_F(MungeRuleU55, RecognisesItsScheme) {
  EXPECT_TRUE(method_.Recognises("Munge MUNGE:x:"));
  EXPECT_TRUE(method_.Recognises("munge x"));
  EXPECT_FALSE(method_.Recognises("Munge"));
  EXPECT_FALSE(method_.Recognises("Bearer x"));
}

TEST(SeenCredentialsRuleU55, ForgetsWhatMungedRefusesItself) {
  SeenCredentials seen;
  EXPECT_TRUE(seen.Take("a", 100, 10));
  EXPECT_FALSE(seen.Take("a", 100, 100));
  EXPECT_FALSE(seen.Take("a", 100, 160));
  EXPECT_TRUE(seen.Take("a", 100, 161));
}

// Known values, by `printf 'POST\n/v1/jobs\n%s' "$(printf '{}' | sha256sum | cut -c-64)" |
// sha256sum`.
TEST(RequestDigest, IsWhatShellToolsCompute) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(RequestDigest("POST", "/v1/jobs", "{}"),
            "689d9a4d6259908c34f8d8506765f44e67a19247e3cca6317c5661c5d0a0799b");
}

}  // namespace
}  // namespace muster::auth
