// The keys of an issuer through rotations and absences of its provider, with a provider that is a
// map of documents and a clock that the test moves.
#include "api/auth/jwt/jwks_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "api/auth/jwt/jwt_method.h"
#include "schedd/base/limits.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/auth_jwt/token_maker.h"

namespace muster::auth {
namespace {

using muster::test::FakeClock;
using muster::testing::JwksOf;
using muster::testing::SignedToken;
using muster::testing::SigningKey;

constexpr char kIssuer[] = "https://id.corp.example";

const SigningKey& FirstKey() {
  static const SigningKey key("first", "P-256");
  return key;
}
const SigningKey& SecondKey() {
  static const SigningKey key("second", "P-256");
  return key;
}

KeySetPtr SetOf(std::initializer_list<json::object> keys) { return *KeySet::Parse(JwksOf(keys)); }

// Thread-safe, because the source's thread asks it.
class FakeProvider final : public DocumentFetcher {
 public:
  FakeProvider() { Publish(JwksOf({FirstKey().Jwk()})); }
  void Publish(std::string jwks) {
    const std::lock_guard lock(mutex_);
    jwks_ = std::move(jwks);
  }
  void SetDown(bool down) { down_ = down; }
  int fetches() const { return fetches_; }

  Result<FetchedDocument> Get(const std::string& url, const std::string&,
                              const std::function<bool()>&) override {
    const bool discovery = url.ends_with("/.well-known/openid-configuration");
    if (discovery) ++fetches_;
    if (down_) return Unavailable("nobody answers");
    if (discovery) {
      return FetchedDocument{
          WriteJson(json::object{{"issuer", kIssuer}, {"jwks_uri", "https://id.corp.example/k"}}),
          60};
    }
    const std::lock_guard lock(mutex_);
    return FetchedDocument{jwks_, std::nullopt};
  }

 private:
  std::mutex mutex_;
  std::string jwks_;
  std::atomic<bool> down_ = false;
  std::atomic<int> fetches_ = 0;
};

IssuerConfig CorpIssuer() {
  IssuerConfig out;
  out.name = "corp";
  out.issuer = kIssuer;
  out.audiences = {"muster"};
  return out;
}

std::string TokenOf(const SigningKey& key, const FakeClock& clock, std::int64_t life_s = 300) {
  const std::int64_t now = clock.WallNow().us / kMicrosPerSecond;
  return "Bearer " + SignedToken(key, "ES256",
                                 {{"iss", kIssuer},
                                  {"aud", "muster"},
                                  {"sub", "alice"},
                                  {"iat", now},
                                  {"exp", now + life_s}});
}

class JwtMethodRuleU54 : public ::testing::Test {
 protected:
  JwtMethod& method() {
    if (method_ == nullptr)
      method_ = std::make_unique<JwtMethod>(std::vector{CorpIssuer()}, &provider_, &clock_);
    return *method_;
  }
  Result<Principal> Ask(const std::string& authorization) {
    const Authorization given(authorization);
    Evidence evidence;
    evidence.authorization = &given;
    return method().Check(evidence);
  }
  Code CodeOf(const std::string& authorization) {
    const auto answer = Ask(authorization);
    return answer.ok() ? Code::kOk : answer.error().code;
  }

  FakeClock clock_;
  FakeProvider provider_;
  std::unique_ptr<JwtMethod> method_;
};

TEST_F(JwtMethodRuleU54, NamesWhomTheTokenNames) {
  const auto who = Ask(TokenOf(FirstKey(), clock_));
  ASSERT_TRUE(who.ok()) << who.error().detail;
  EXPECT_EQ(who->user, "alice");
  EXPECT_EQ(who->method, "jwt");
  EXPECT_EQ(who->credential, "corp/first");
  EXPECT_EQ(who->uid, std::nullopt);
  EXPECT_TRUE(method().StillGood(*who).ok());
  clock_.Advance(361'000);
  EXPECT_FALSE(method().StillGood(*who).ok());
}

TEST_F(JwtMethodRuleU54, RecognisesBearerTokensWithADot) {
  EXPECT_TRUE(method().Recognises("Bearer a.b.c"));
  EXPECT_TRUE(method().Recognises("bearer a.b"));
  EXPECT_FALSE(method().Recognises("Bearer abc"));
  EXPECT_FALSE(method().Recognises("Bearer mst_a.b.c_d"));
  EXPECT_FALSE(method().Recognises("Basic a.b.c"));
  EXPECT_FALSE(method().Recognises("Bearer"));
  EXPECT_TRUE(method().MayBlock("Bearer a.b.c")) << "its key may have to be fetched";
  EXPECT_FALSE(method().Recognises(""));
}

TEST_F(JwtMethodRuleU54, FollowsARotation) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  provider_.Publish(JwksOf({SecondKey().Jwk()}));
  const std::string old_token = TokenOf(FirstKey(), clock_);
  clock_.Advance(11'000);
  EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kOk);
  // The first key is gone, also for tokens that were accepted before.
  EXPECT_EQ(CodeOf(old_token), Code::kUnauthenticated);
}

TEST_F(JwtMethodRuleU54, WhoMayNotWaitIsToldToComeAgain) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  provider_.Publish(JwksOf({SecondKey().Jwk()}));
  clock_.Advance(11'000);
  const Authorization given(TokenOf(SecondKey(), clock_));
  Evidence evidence;
  evidence.authorization = &given;
  evidence.may_wait = false;
  const auto first = method().Check(evidence);
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().code, Code::kUnavailable);
  EXPECT_GT(first.error().retry_after_ms, 0);
  bool known = false;
  for (int i = 0; i < 500 && !known; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    known = method().Check(evidence).ok();
  }
  EXPECT_TRUE(known);
}

TEST_F(JwtMethodRuleU54, AsksForUnknownKeysOnlyEveryTenSeconds) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  EXPECT_EQ(provider_.fetches(), 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  }
  EXPECT_EQ(provider_.fetches(), 1) << "the keys were fetched less than 10 s ago";
  clock_.Advance(10'000);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  }
  EXPECT_EQ(provider_.fetches(), 2);
}

TEST_F(JwtMethodRuleU54, KeepsKnownKeysWhileTheProviderIsDown) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  provider_.SetDown(true);
  clock_.Advance(600'000);
  EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  EXPECT_EQ(method().Warnings().size(), 1u);
  clock_.Advance(24 * 3'600'000);
  EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kUnavailable);
  provider_.SetDown(false);
  clock_.Advance(11'000);
  EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  EXPECT_TRUE(method().Warnings().empty());
}

// The provider changes its keys, and is gone before anybody has asked for the new ones.
TEST_F(JwtMethodRuleU54, ARotationThatNobodySaw_ChangesNothingUntilTheProviderIsBack) {
  const std::string old_token = TokenOf(FirstKey(), clock_, 3600);
  const auto stream = Ask(old_token);
  ASSERT_TRUE(stream.ok());
  provider_.Publish(JwksOf({SecondKey().Jwk()}));
  provider_.SetDown(true);
  for (int minute = 0; minute < 10; ++minute) {
    clock_.Advance(60'000);
    EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated) << minute;
    EXPECT_EQ(CodeOf(old_token), Code::kOk) << minute;
    EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk) << minute;
  }
  provider_.SetDown(false);
  clock_.Advance(11'000);
  EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kOk);
  EXPECT_EQ(CodeOf(old_token), Code::kUnauthenticated) << "the key is gone";
  EXPECT_TRUE(method().StillGood(*stream).ok()) << "the token was good when the stream began";
}

// The set of keys names a key as before whose numbers are others.
TEST_F(JwtMethodRuleU54, AKeyThatIsReplacedUnderItsName_IsTheNewOne) {
  const SigningKey again("first", "P-256");
  const std::string old_token = TokenOf(FirstKey(), clock_, 7200);
  ASSERT_EQ(CodeOf(old_token), Code::kOk);
  EXPECT_EQ(CodeOf(TokenOf(again, clock_)), Code::kUnauthenticated);
  provider_.Publish(JwksOf({again.Jwk()}));
  clock_.Advance(limits::kKeysFreshS * 1000 + 1000);
  // A name that nobody has makes the keys be fetched, if the thread has not done so yet.
  EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf(TokenOf(again, clock_)), Code::kOk);
  EXPECT_EQ(CodeOf(old_token), Code::kUnauthenticated);
}

TEST_F(JwtMethodRuleU54, IsNotAvailableBeforeThereWereKeys) {
  provider_.SetDown(true);
  EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kUnavailable);
  // What needs no key is refused all the same.
  EXPECT_EQ(CodeOf("Bearer a.b.c"), Code::kUnauthenticated);
}

TEST_F(JwtMethodRuleU54, KeepsTheOldKeysIfTheNewSetIsUnusable) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  provider_.Publish(R"({"keys":[]})");
  clock_.Advance(11'000);
  EXPECT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
}

TEST_F(JwtMethodRuleU54, RefusesUnknownIssuersWithoutAsking) {
  ASSERT_EQ(CodeOf(TokenOf(FirstKey(), clock_)), Code::kOk);
  const std::string token =
      "Bearer " +
      SignedToken(SecondKey(), "ES256", {{"iss", "https://evil.example"}, {"sub", "a"}});
  clock_.Advance(60'000);
  EXPECT_EQ(CodeOf(token), Code::kUnauthenticated);
  EXPECT_EQ(provider_.fetches(), 1);
}

TEST_F(JwtMethodRuleU54, RefusesARememberedTokenOnceItHasEnded) {
  const std::string token = TokenOf(FirstKey(), clock_, 10);
  EXPECT_EQ(CodeOf(token), Code::kOk);
  EXPECT_EQ(CodeOf(token), Code::kOk);
  clock_.Advance(69'000);
  EXPECT_EQ(CodeOf(token), Code::kOk);
  clock_.Advance(1'000);
  EXPECT_EQ(CodeOf(token), Code::kUnauthenticated);
}

TEST_F(JwtMethodRuleU54, NobodyWaitsForATokenThatIsRemembered) {
  const std::string token = TokenOf(FirstKey(), clock_, 10);
  EXPECT_TRUE(method().MayBlock(token)) << "it was never seen";
  ASSERT_EQ(CodeOf(token), Code::kOk);
  EXPECT_FALSE(method().MayBlock(token));
  EXPECT_TRUE(method().MayBlock(TokenOf(FirstKey(), clock_, 20))) << "it is another token";
  clock_.Advance(11'000);
  ASSERT_EQ(CodeOf(TokenOf(SecondKey(), clock_)), Code::kUnauthenticated);
  EXPECT_TRUE(method().MayBlock(token)) << "the keys were fetched again";
  ASSERT_EQ(CodeOf(token), Code::kOk);
  EXPECT_FALSE(method().MayBlock(token));
  clock_.Advance(59'000);
  EXPECT_TRUE(method().MayBlock(token)) << "it has ended";
}

// The cache alone: no thread, no provider.
class KeyCacheRuleU54 : public ::testing::Test {
 protected:
  static Monotonic At(std::int64_t s) { return {SecondsToNanos(1000 + s)}; }
  KeySetPtr keys_ = SetOf({FirstKey().Jwk()});
  KeyCache cache_;
};

TEST_F(KeyCacheRuleU54, IsDueWhenTheProviderSaysWithinBounds) {
  cache_.Took(keys_, 7200, At(0));
  EXPECT_EQ(cache_.DueAt(), At(7200));
  cache_.Took(keys_, 1, At(0));
  EXPECT_EQ(cache_.DueAt(), At(limits::kKeysFreshMinS));
  cache_.Took(keys_, 1'000'000'000, At(0));
  EXPECT_EQ(cache_.DueAt(), At(limits::kKeysFreshMaxS));
  cache_.Took(keys_, std::nullopt, At(0));
  EXPECT_EQ(cache_.DueAt(), At(limits::kKeysFreshS));
}

TEST_F(KeyCacheRuleU54, WaitsLongerAfterEachFailure) {
  for (const std::int64_t wait_s : {10, 20, 40, 80, 160, 300, 300}) {
    cache_.Failed(At(0));
    EXPECT_EQ(cache_.DueAt(), At(wait_s));
  }
  cache_.Took(keys_, 3600, At(0));
  cache_.Failed(At(3600));
  EXPECT_EQ(cache_.DueAt(), At(3610));
}

TEST_F(KeyCacheRuleU54, ForgetsKeysThatAreADayOld) {
  EXPECT_EQ(cache_.Current(At(0)), nullptr);
  cache_.Took(keys_, 3600, At(0));
  EXPECT_EQ(cache_.Current(At(limits::kKeysStaleS - 1)), keys_);
  EXPECT_EQ(cache_.Current(At(limits::kKeysStaleS)), nullptr);
}

}  // namespace
}  // namespace muster::auth
