#include "api/auth/jwt/key_set.h"

#include <gtest/gtest.h>

#include "api/auth/jwt/base64url.h"
#include "api/auth/jwt/discovery.h"
#include "api/auth/jwt/document_fetcher.h"
#include "schedd/text/provider_url.h"
#include "tests/unit/auth_jwt/token_maker.h"

namespace muster::auth {
namespace {

using muster::testing::Base64Url;
using muster::testing::JwksOf;
using muster::testing::SigningKey;

json::object RsaJwk() {
  static const SigningKey key("rsa", "RSA");
  return key.Jwk();
}
json::object EcJwk() {
  static const SigningKey key("ec", "P-256");
  return key.Jwk();
}
json::object Changed(json::object key, const char* member, const json::value& value) {
  key[member] = value;
  return key;
}
json::object Lacking(json::object key, const char* member) {
  key.erase(member);
  return key;
}
json::value Bytes(const std::string& bytes) { return json::string(Base64Url(bytes)); }

struct BadKey {
  const char* sentence;
  json::object key;
};

std::vector<BadKey> BadKeys() {
  json::object other_point = EcJwk();
  std::swap(other_point["x"], other_point["y"]);
  return {
      {"it has no kid", Lacking(RsaJwk(), "kid")},
      {"its kid is empty", Changed(RsaJwk(), "kid", "")},
      {"its kid is a number", Changed(RsaJwk(), "kid", 7)},
      {"it has no type", Lacking(RsaJwk(), "kty")},
      {"it is a secret", {{"kid", "s"}, {"kty", "oct"}, {"k", "c2VjcmV0"}}},
      {"it is of a type that is not accepted",
       {{"kid", "o"}, {"kty", "OKP"}, {"crv", "Ed25519"}, {"x", Bytes(std::string(32, 'a'))}}},
      {"it is private", Changed(RsaJwk(), "d", "AQAB")},
      {"it is for encryption", Changed(RsaJwk(), "use", "enc")},
      {"its use is no text", Changed(RsaJwk(), "use", json::array{"sig"})},
      {"its operations do not verify", Changed(RsaJwk(), "key_ops", json::array{"encrypt"})},
      {"its algorithm is HS256", Changed(RsaJwk(), "alg", "HS256")},
      {"its algorithm is for encryption", Changed(RsaJwk(), "alg", "RSA-OAEP")},
      {"its modulus has 1024 bits", SigningKey("small", "RSA", 1024).Jwk()},
      {"its modulus has 1024 bits and zeros in front",
       Changed(RsaJwk(), "n", Bytes(std::string(128, '\0') + std::string(128, '\x81')))},
      {"its modulus is longer than any", Changed(RsaJwk(), "n", Bytes(std::string(2048, '\x81')))},
      {"its modulus is no base64url", Changed(RsaJwk(), "n", "+/==")},
      {"it has no exponent", Lacking(RsaJwk(), "e")},
      {"its exponent is 1", Changed(RsaJwk(), "e", Bytes("\x01"))},
      {"its exponent is even", Changed(RsaJwk(), "e", Bytes("\x04"))},
      {"its exponent is longer than any", Changed(RsaJwk(), "e", Bytes("\x01\x01\x01\x01\x01"))},
      {"its curve is secp256k1", Changed(EcJwk(), "crv", "secp256k1")},
      {"its curve is another one than its point's", Changed(EcJwk(), "crv", "P-384")},
      {"its point is not on the curve", Changed(EcJwk(), "x", Bytes(std::string(32, '\x01')))},
      {"its coordinates are swapped", other_point},
      {"its coordinate is short", Changed(EcJwk(), "x", Bytes(std::string(31, '\x01')))},
      {"it has no y", Lacking(EcJwk(), "y")},
  };
}

TEST(KeySetRuleU51, LeavesOutKeysThatCannotBeUsed) {
  for (const BadKey& bad : BadKeys()) {
    const auto alone = KeySet::Parse(JwksOf({bad.key}));
    EXPECT_FALSE(alone.ok()) << bad.sentence;
    const auto beside = KeySet::Parse(JwksOf({bad.key, RsaJwk(), EcJwk()}));
    ASSERT_TRUE(beside.ok()) << bad.sentence;
    EXPECT_EQ((*beside)->size(), 2u) << bad.sentence;
  }
}

TEST(KeySetRuleU51, RefusesWhatIsNoKeySet) {
  std::string many = R"({"keys":[)";
  for (int i = 0; i < 101; ++i) many += (i == 0 ? "" : ",") + WriteJson(EcJwk());
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"keys":{}})"),
        std::string(R"({"keys":[]})"), std::string(R"({"keys":[1,null]})"),
        std::string(R"({"keys":[],"keys":[]})"), many + "]}", std::string("<html>")}) {
    EXPECT_FALSE(KeySet::Parse(text).ok()) << text.substr(0, 40);
  }
}

TEST(KeySetRuleU51, FindsKeysByNameAndAlgorithm) {
  const auto set = KeySet::Parse(JwksOf({RsaJwk(), EcJwk(), Changed(EcJwk(), "kid", "rsa"),
                                         Changed(Changed(RsaJwk(), "kid", "ps"), "alg", "PS256")}));
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE((*set)->Knows("rsa"));
  EXPECT_FALSE((*set)->Knows("RSA"));
  EXPECT_FALSE((*set)->Knows(""));
  // Two keys of one name: the one that fits the algorithm.
  EXPECT_EQ((*set)->Find("rsa", *FindJwsAlgorithm("RS512"))->signature_bytes(), 256u);
  EXPECT_EQ((*set)->Find("rsa", *FindJwsAlgorithm("ES256"))->signature_bytes(), 64u);
  EXPECT_EQ((*set)->Find("rsa", *FindJwsAlgorithm("ES384")), nullptr);
  EXPECT_EQ((*set)->Find("ps", *FindJwsAlgorithm("RS256")), nullptr);
  EXPECT_NE((*set)->Find("ps", *FindJwsAlgorithm("PS256")), nullptr);
  EXPECT_EQ(FindJwsAlgorithm("none"), nullptr);
  EXPECT_EQ(FindJwsAlgorithm("HS256"), nullptr);
  EXPECT_EQ(FindJwsAlgorithm("rs256"), nullptr);
}

TEST(Base64Url, HasOneSpellingOfEachText) {
  EXPECT_EQ(DecodeBase64Url(""), "");
  EXPECT_EQ(DecodeBase64Url("-_8"), "\xfb\xff");
  for (const char* bad :
       {"A", "-_9", "-_8=", "+/8", "-_8\n", " -_8", "AAAAA", "A=AA", "\xc3\xa4"}) {
    EXPECT_EQ(DecodeBase64Url(bad), std::nullopt) << bad;
  }
}

TEST(DiscoveryRuleU54, TakesTheAddressOfTheKeysFromTheIssuerAlone) {
  const std::string issuer = "https://id.corp.example/realms/a";
  EXPECT_EQ(DiscoveryUrl(issuer), issuer + "/.well-known/openid-configuration");
  EXPECT_EQ(DiscoveryUrl(issuer + "/"), issuer + "/.well-known/openid-configuration");
  const auto document = [](const std::string& named, const std::string& uri) {
    return WriteJson(
        json::object{{"issuer", json::string(named)}, {"jwks_uri", json::string(uri)}});
  };
  const auto good = JwksUriOf(document(issuer, "https://keys.corp.example/a"), issuer);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, "https://keys.corp.example/a");
  EXPECT_TRUE(
      JwksUriOf(document("http://127.0.0.1:7", "http://127.0.0.1:8/k"), "http://127.0.0.1:7").ok());
  for (const auto& [named, uri] : std::vector<std::pair<std::string, std::string>>{
           {issuer + "/", "https://keys.corp.example/a"},
           {"https://other.example", "https://keys.corp.example/a"},
           {issuer, ""},
           {issuer, "http://keys.corp.example/a"},
           {issuer, "http://127.0.0.1/a"},
           {issuer, "file:///etc/passwd"},
           {issuer, "https://user@keys.corp.example/a"},
           {issuer, "https:///a"},
           {issuer, "https://keys.corp.example/a\r\nX: y"}}) {
    EXPECT_FALSE(JwksUriOf(document(named, uri), issuer).ok()) << named << " " << uri;
  }
  EXPECT_FALSE(JwksUriOf("[]", issuer).ok());
  EXPECT_FALSE(JwksUriOf("{", issuer).ok());
}

TEST(DiscoveryRuleU54, AllowsHttpOnLoopbackAlone) {
  for (const char* good : {"https://a.example", "https://a.example:8443/x", "http://localhost:9",
                           "http://127.0.0.1", "http://[::1]:80/x"}) {
    EXPECT_EQ(IssuerUrlProblem(good), "") << good;
  }
  for (const char* bad :
       {"", "a.example", "http://a.example", "http://127.evil.example", "http://127.0.0.1.evil",
        "http://localhost.evil", "http://[::1].evil", "http://localhost@evil", "https://u:p@a",
        "https://a?x=1", "https://a#x", "https://a b", "ftp://a", "https://"}) {
    EXPECT_NE(IssuerUrlProblem(bad), "") << bad;
  }
}

TEST(CacheControl, GivesTheMaxAge) {
  EXPECT_EQ(MaxAgeOf(""), std::nullopt);
  EXPECT_EQ(MaxAgeOf("public, MAX-AGE=60, must-revalidate"), 60);
  EXPECT_EQ(MaxAgeOf("max-age=60, no-store"), 0);
  EXPECT_EQ(MaxAgeOf("no-cache"), 0);
  EXPECT_EQ(MaxAgeOf("s-maxage=60"), std::nullopt);
  EXPECT_EQ(MaxAgeOf("max-age=x"), std::nullopt);
  EXPECT_EQ(MaxAgeOf("max-age=-5"), std::nullopt);
  EXPECT_EQ(MaxAgeOf("max-age=99999999999999999999"), 86'400);
}

}  // namespace
}  // namespace muster::auth
