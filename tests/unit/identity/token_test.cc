// Access tokens: what is accepted, what is not, and when one that was good is good no more.
#include "api/auth/token_method.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/fake_clock.h"

namespace muster::test {
namespace {

struct Tokens {
  Tokens() : minted(auth::MintToken("ci_bot")), method([this] { return config; }, clock) {
    Put("ci_bot", minted.sha256);
  }
  void Put(const std::string& name, const std::string& sha256) {
    auto next = std::make_shared<ConfigView>(*config);
    auto table = std::make_shared<AccessTable>(*next->access);
    AccessToken token;
    token.name = name;
    token.user = "bot";
    token.groups = {"ci"};
    token.expires = clock.WallNow().PlusSeconds(60);
    token.sha256 = sha256;
    table->PutToken(token);
    next->access = table;
    config = next;
  }
  Result<auth::Principal> Ask(const std::string& authorization) const {
    const auth::Authorization given(authorization);
    auth::Evidence evidence;
    evidence.authorization = &given;
    return method.Check(evidence);
  }
  FakeClock clock;
  ConfigPtr config = std::make_shared<const ConfigView>();
  auth::MintedToken minted;
  auth::TokenMethod method;
};

TEST(AccessTokens, HaveTheirUserGroupsAndExpiry) {
  const Tokens tokens;
  ASSERT_TRUE(tokens.method.Recognises("Bearer " + tokens.minted.text));
  ASSERT_TRUE(tokens.method.Recognises("bearer " + tokens.minted.text));
  EXPECT_FALSE(tokens.method.Recognises("Basic " + tokens.minted.text));
  EXPECT_FALSE(tokens.method.Recognises("Bearer eyJhbGciOi.a.b"));
  const auto who = tokens.Ask("Bearer " + tokens.minted.text);
  ASSERT_TRUE(who.ok()) << who.error().detail;
  EXPECT_EQ(who->user, "bot");
  EXPECT_EQ(who->groups, std::vector<std::string>{"ci"});
  EXPECT_EQ(who->method, "token");
  EXPECT_EQ(who->credential, "ci_bot");
  EXPECT_FALSE(who->uid.has_value());
}

TEST(AccessTokens, ThatDifferInOneCharacterAreRefused) {
  const Tokens tokens;
  int accepted = 0;
  for (std::size_t i = 0; i < tokens.minted.text.size(); ++i) {
    std::string text = tokens.minted.text;
    text[i] = text[i] == 'A' ? 'B' : 'A';
    if (tokens.Ask("Bearer " + text).ok()) ++accepted;
  }
  for (const std::string& text :
       {std::string("mst_"), std::string("mst__"), tokens.minted.text + "A",
        tokens.minted.text.substr(0, tokens.minted.text.size() - 1), tokens.minted.text + " ",
        "mst_ci_bot_" + tokens.minted.sha256}) {
    if (tokens.Ask("Bearer " + text).ok()) ++accepted;
  }
  EXPECT_EQ(accepted, 0);
}

TEST(AccessTokens, EndByTheClock_ByRevocation_AndWhenMadeAnew) {
  Tokens tokens;
  const std::string header = "Bearer " + tokens.minted.text;
  const auth::Principal who = *tokens.Ask(header);
  EXPECT_TRUE(tokens.method.StillGood(who).ok());
  tokens.clock.Advance(61'000);
  EXPECT_EQ(tokens.Ask(header).error().code, Code::kUnauthenticated);
  EXPECT_FALSE(tokens.method.StillGood(who).ok());
  Tokens revoked;
  const auth::Principal open = *revoked.Ask("Bearer " + revoked.minted.text);
  revoked.config = std::make_shared<const ConfigView>();
  EXPECT_FALSE(revoked.Ask("Bearer " + revoked.minted.text).ok());
  EXPECT_FALSE(revoked.method.StillGood(open).ok());
}

TEST(AccessTokens, AreAllDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(auth::MintToken("a").text + auth::TokenName());
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace muster::test
