// S02: bad tokens in a table, of which none is accepted, and good ones of each algorithm.
#include "api/auth/jwt/jwt_checker.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <vector>

#include "tests/unit/auth_jwt/token_maker.h"

namespace muster::auth {
namespace {

using muster::testing::Base64Url;
using muster::testing::HmacToken;
using muster::testing::JwksOf;
using muster::testing::SignedToken;
using muster::testing::SigningKey;

constexpr std::int64_t kNow = 1'790'000'000;

// Keys are made once: RSA takes a while.
struct Keys {
  SigningKey rsa{"rsa", "RSA"};
  SigningKey stranger{"rsa", "RSA"};  // has the name of ours and is not ours
  SigningKey p256{"p256", "P-256"}, p384{"p384", "P-384"}, p521{"p521", "P-521"};
  SigningKey pinned{"pinned", "RSA"};  // says that it is for RS256 alone
  KeySetPtr set;
  Keys() {
    json::object only_rs256 = pinned.Jwk();
    only_rs256["alg"] = "RS256";
    set = *KeySet::Parse(JwksOf({rsa.Jwk(), p256.Jwk(), p384.Jwk(), p521.Jwk(), only_rs256}));
  }
};

const Keys& K() {
  static const Keys keys;
  return keys;
}

IssuerConfig Corp() {
  IssuerConfig out;
  out.name = "corp";
  out.issuer = "https://id.corp.example";
  out.audiences = {"muster", "muster-cli"};
  return out;
}

json::object GoodClaims() {
  return {{"iss", "https://id.corp.example"},         {"aud", "muster"},  {"sub", "alice"},
          {"groups", json::array{"team-a", "staff"}}, {"iat", kNow - 10}, {"exp", kNow + 300}};
}

Result<JwtIdentity> Ask(const std::string& token, const IssuerConfig& issuer = Corp()) {
  auto parsed = ParseJwt(token);
  if (!parsed.ok()) return parsed.error();
  return CheckJwt(*parsed, *K().set, issuer, WallTime{kNow * kMicrosPerSecond});
}

json::value Text(const std::string& text) { return json::string(text); }

// A good token but for one claim.
std::string With(const char* claim, const json::value& value) {
  json::object claims = GoodClaims();
  claims[claim] = value;
  return SignedToken(K().rsa, "RS256", claims);
}
std::string Without(const char* claim) {
  json::object claims = GoodClaims();
  claims.erase(claim);
  return SignedToken(K().rsa, "RS256", claims);
}
// A good token but for its header, signed as `algorithm`.
std::string Header(const std::string& header, const char* algorithm = "RS256") {
  return SignedToken(K().rsa, algorithm, header, WriteJson(GoodClaims()));
}
// A good token but for the text of its payload.
std::string Payload(const std::string& payload) {
  return SignedToken(K().rsa, "RS256", R"({"alg":"RS256","kid":"rsa"})", payload);
}
std::string Good() { return SignedToken(K().rsa, "RS256", GoodClaims()); }
// The payload of GoodClaims with a member added as text.
std::string ClaimsAnd(const std::string& more) {
  std::string text = WriteJson(GoodClaims());
  text.pop_back();
  return text + "," + more + "}";
}

struct BadToken {
  const char* sentence;
  std::function<std::string()> make;
  // How the issuer is configured, where the usual way would not let the token in anyway.
  std::function<IssuerConfig()> issuer = &Corp;
};

IssuerConfig Unprefixed() { return Corp(); }
IssuerConfig ByEmail() {
  IssuerConfig out = Corp();
  out.user_claim = "email";
  return out;
}
IssuerConfig PrefixSys() {
  IssuerConfig out = Corp();
  out.user_prefix = out.groups_prefix = "sys";
  return out;
}

std::vector<BadToken> FormsOfTokens() {
  return {
      {"the text is empty", [] { return std::string(); }},
      {"there are no dots", [] { return std::string("eyJhbGciOiJSUzI1NiJ9"); }},
      {"there are only two parts", [] { return Good().substr(0, Good().rfind('.')); }},
      {"there are five parts, as of an encrypted token", [] { return Good() + ".AAAA.AAAA"; }},
      {"there is a fourth, empty part", [] { return Good() + "."; }},
      {"the header has padding",
       [] { return Base64Url(R"({"alg":"RS256"})") + "==" + Good().substr(Good().find('.')); }},
      {"the signature has padding", [] { return Good() + "=="; }},
      {"the signature has a byte behind it", [] { return Good() + "A"; }},
      {"the signature has other bits in its last, unused bits",
       [] {
    // 256 bytes are 341 digits and one with four unused bits.
    std::string token = Good();
    token.back() = token.back() == 'A' ? 'B' : static_cast<char>(token.back() + 1);
    return token;
       }},
      {"the signature is in the other alphabet of base64",
       [] {
    std::string token = Good();
    const std::size_t dot = token.rfind('.');
    for (std::size_t i = dot; i < token.size(); ++i)
      token[i] = token[i] == '-' ? '+' : token[i] == '_' ? '/' : token[i];
    token[dot + 1] = '+';
    return token;
       }},
      {"there is a line feed inside", [] { return Good().insert(Good().size() - 8, "\n"); }},
      {"there is a blank in front", [] { return " " + Good(); }},
      {"there is NUL behind it", [] { return Good() + std::string(1, '\0'); }},
      {"the signature is empty", [] { return Good().substr(0, Good().rfind('.') + 1); }},
      {"the signature is cut off", [] { return Good().substr(0, Good().size() - 40); }},
      {"the signature is all zero",
       [] { return Good().substr(0, Good().rfind('.') + 1) + Base64Url(std::string(256, '\0')); }},
      {"it is longer than a token may be",
       [] { return With("filler", Text(std::string(17 << 10, 'x'))); }},
      {"the payload is another one than was signed",
       [] {
    json::object claims = GoodClaims();
    claims["sub"] = "root";
    const std::string good = Good();
    return good.substr(0, good.find('.') + 1) + Base64Url(WriteJson(claims)) +
           good.substr(good.rfind('.'));
       }},
      {"the payload is empty", [] { return Payload(""); }},
      {"the payload is a list", [] { return Payload("[]"); }},
      {"the payload has no claims", [] { return Payload("{}"); }},
      {"the payload is nested too deeply",
       [] { return Payload(std::string(2000, '[') + std::string(2000, ']')); }},
      {"the payload is not UTF-8", [] { return Payload("{\"iss\":\"\xff\xfe\"}"); }},
      {"a claim is there twice", [] { return Payload(ClaimsAnd(R"("sub":"root")")); }},
      {"bytes stand behind the payload", [] { return Payload(WriteJson(GoodClaims()) + "{}"); }},
      };
}

std::vector<BadToken> HeadersOfTokens() {
  return {
      {"the algorithm is none and there is no signature",
       [] {
    return Base64Url(R"({"alg":"none","kid":"rsa"})") + "." + Base64Url(WriteJson(GoodClaims())) +
           ".";
       }},
      {"the algorithm is none and the signature is good",
       [] { return Header(R"({"alg":"none","kid":"rsa"})"); }},
      {"the algorithm is None", [] { return Header(R"({"alg":"None","kid":"rsa"})"); }},
      {"the algorithm is nOnE", [] { return Header(R"({"alg":"nOnE","kid":"rsa"})"); }},
      {"the algorithm is rs256 in lower case",
       [] { return Header(R"({"alg":"rs256","kid":"rsa"})"); }},
      {"the algorithm is empty", [] { return Header(R"({"alg":"","kid":"rsa"})"); }},
      {"there is no algorithm", [] { return Header(R"({"kid":"rsa"})"); }},
      {"the algorithm is a list", [] { return Header(R"({"alg":["RS256"],"kid":"rsa"})"); }},
      {"the algorithm is there twice",
       [] { return Header(R"({"alg":"none","alg":"RS256","kid":"rsa"})"); }},
      {"HS256 with the public key as the secret",
       [] {
    return HmacToken(K().rsa.PublicPem(), R"({"alg":"HS256","kid":"rsa"})",
                     WriteJson(GoodClaims()));
       }},
      {"HS256 with an empty secret",
       [] { return HmacToken("", R"({"alg":"HS256","kid":"rsa"})", WriteJson(GoodClaims())); }},
      {"RS256 in the header names a key of an elliptic curve",
       [] { return Header(R"({"alg":"RS256","kid":"p256"})"); }},
      {"ES256 in the header names an RSA key",
       [] {
    return SignedToken(K().p256, "ES256", R"({"alg":"ES256","kid":"rsa"})",
                       WriteJson(GoodClaims()));
       }},
      {"ES256 in the header names a key of P-384",
       [] {
    return SignedToken(K().p384, "ES256", R"({"alg":"ES256","kid":"p384"})",
                       WriteJson(GoodClaims()));
       }},
      {"signed with RS256 and called PS256",
       [] { return Header(R"({"alg":"PS256","kid":"rsa"})", "RS256"); }},
      {"signed with PS256 and called RS256",
       [] { return Header(R"({"alg":"RS256","kid":"rsa"})", "PS256"); }},
      {"signed with RS256 and called RS512",
       [] { return Header(R"({"alg":"RS512","kid":"rsa"})", "RS256"); }},
      {"PS256 by a key that is for RS256 alone",
       [] { return SignedToken(K().pinned, "PS256", GoodClaims()); }},
      {"ES256 with a signature of zeros",
       [] {
    return Base64Url(R"({"alg":"ES256","kid":"p256"})") + "." + Base64Url(WriteJson(GoodClaims())) +
           "." + Base64Url(std::string(64, '\0'));
       }},
      {"ES256K, which is not one of the nine",
       [] { return Header(R"({"alg":"ES256K","kid":"p256"})"); }},
      {"EdDSA, which is not one of the nine",
       [] { return Header(R"({"alg":"EdDSA","kid":"rsa"})"); }},
      {"signed by another key of the same name",
       [] { return SignedToken(K().stranger, "RS256", GoodClaims()); }},
      {"the header brings its own key",
       [] {
    const json::object header = {{"alg", "RS256"}, {"kid", "x"}, {"jwk", K().stranger.Jwk()}};
    return SignedToken(K().stranger, "RS256", WriteJson(header), WriteJson(GoodClaims()));
       }},
      {"the header points to a key",
       [] { return Header(R"({"alg":"RS256","kid":"x","jku":"https://evil.example/keys"})"); }},
      {"there is no kid", [] { return Header(R"({"alg":"RS256"})"); }},
      {"the kid is empty", [] { return Header(R"({"alg":"RS256","kid":""})"); }},
      {"the kid is a number", [] { return Header(R"({"alg":"RS256","kid":1})"); }},
      {"the kid is unknown", [] { return Header(R"({"alg":"RS256","kid":"older"})"); }},
      {"the kid is that of another of our keys",
       [] { return Header(R"({"alg":"RS256","kid":"pinned"})"); }},
      {"the kid is a path", [] { return Header(R"({"alg":"RS256","kid":"../../dev/null"})"); }},
      {"the header has crit",
       [] { return Header(R"({"alg":"RS256","kid":"rsa","crit":["exp"],"exp":1})"); }},
      {"the payload is not encoded (b64 false)",
       [] { return Header(R"({"alg":"RS256","kid":"rsa","b64":false})"); }},
      {"it is a token for logging out",
       [] { return Header(R"({"alg":"RS256","kid":"rsa","typ":"logout+jwt"})"); }},
      {"its type is no text", [] { return Header(R"({"alg":"RS256","kid":"rsa","typ":7})"); }},
      {"it says that it is compressed",
       [] { return Header(R"({"alg":"RS256","kid":"rsa","zip":"DEF"})"); }},
      {"the header is a list", [] { return Header("[]"); }},
      };
}

std::vector<BadToken> ClaimsOfTokens() {
  return {
      {"the issuer is another one", [] { return With("iss", "https://id.evil.example"); }},
      {"the issuer has a slash more", [] { return With("iss", "https://id.corp.example/"); }},
      {"the issuer is in upper case", [] { return With("iss", "https://ID.corp.example"); }},
      {"there is no issuer", [] { return Without("iss"); }},
      {"the issuer is a list", [] { return With("iss", json::array{"https://id.corp.example"}); }},
      {"the audience is another one", [] { return With("aud", "grafana"); }},
      {"the audience begins with ours", [] { return With("aud", "muster-web"); }},
      {"the audiences are a list without ours",
       [] {
    return With("aud", json::array{"grafana", "vault"});
       }},
      {"the audiences are an empty list", [] { return With("aud", json::array{}); }},
      {"one of the audiences is no text",
       [] {
    return With("aud", json::array{"muster", 7});
       }},
      {"there is no audience", [] { return Without("aud"); }},
      {"it expired 61 s ago", [] { return With("exp", kNow - 61); }},
      {"it expired 60 s ago", [] { return With("exp", kNow - 60); }},
      {"there is no exp", [] { return Without("exp"); }},
      {"exp is text", [] { return With("exp", Text(std::to_string(kNow + 300))); }},
      {"exp is 1e400", [] { return Payload(R"({"iss":"https://id.corp.example","exp":1e400})"); }},
      {"exp is beyond every date", [] { return With("exp", 1e300); }},
      {"exp counts milliseconds", [] { return With("exp", (kNow + 300) * 1000); }},
      {"exp is negative", [] { return With("exp", -1); }},
      {"exp is null", [] { return With("exp", nullptr); }},
      {"it is valid only in 61 s", [] { return With("nbf", kNow + 61); }},
      {"nbf is text", [] { return With("nbf", "0"); }},
      {"it was issued in the future", [] { return With("iat", kNow + 61); }},
      {"there is no iat", [] { return Without("iat"); }},
      {"iat is true", [] { return With("iat", true); }},
      {"there is no user", [] { return Without("sub"); }},
      {"the user is empty", [] { return With("sub", ""); }, &PrefixSys},
      {"the user is a number", [] { return With("sub", 1000); }},
      {"the user has a line feed", [] { return With("sub", "alice\nroot"); }},
      {"the user has an escape character", [] { return With("sub", "alice\x1b[2J"); }},
      {"a claim has NUL", [] { return Payload(ClaimsAnd(R"("x":"a\u0000b")")); }},
      {"the user has a control character of the second block",
       [] { return With("sub", "alice\xc2\x9bx"); }},
      {"the user is too long", [] { return With("sub", Text(std::string(300, 'a'))); }},
      {"the user is one of the system's", [] { return With("sub", "system:admin"); }, &Unprefixed},
      {"the user becomes one of the system's by the prefix",
       [] { return With("sub", "tem:admin"); }, &PrefixSys},
      {"one of the groups is system:masters",
       [] {
    return With("groups", json::array{"team-a", "system:masters"});
       },
       &Unprefixed},
      {"the only group is system:masters, as text", [] { return With("groups", "system:masters"); },
       &Unprefixed},
      {"a group becomes system:masters by the prefix",
       [] { return With("groups", json::array{"tem:masters"}); }, &PrefixSys},
      {"a group is empty", [] { return With("groups", json::array{""}); }},
      {"a group is a number",
       [] {
    return With("groups", json::array{"team-a", 0});
       }},
      {"a group has a control character", [] { return With("groups", json::array{"a\tb"}); }},
      {"the groups are an object",
       [] {
    return With("groups", json::object{{"a", 1}});
       }},
      {"there are too many groups",
       [] {
    json::array groups;
    for (int i = 0; i < 600; ++i) groups.push_back(json::string(std::to_string(i)));
    return With("groups", groups);
       }},
      {"the e-mail address is not verified",
       [] { return Payload(ClaimsAnd(R"("email":"a@b.example","email_verified":false)")); },
       &ByEmail},
      {"nobody says whether the e-mail address is verified",
       [] { return Payload(ClaimsAnd(R"("email":"a@b.example")")); }, &ByEmail},
      {"the e-mail address is verified as text",
       [] { return Payload(ClaimsAnd(R"("email":"a@b.example","email_verified":"true")")); },
       &ByEmail},
      };
}

TEST(JwtCheckerRuleU51, AcceptsNoBadToken) {
  ASSERT_TRUE(Ask(Good()).ok()) << "the token that all others come from";
  std::size_t count = 0;
  std::size_t accepted = 0;
  std::set<std::string> sentences;
  for (const auto& table : {FormsOfTokens(), HeadersOfTokens(), ClaimsOfTokens()}) {
    for (const BadToken& bad : table) {
      const auto answer = Ask(bad.make(), bad.issuer());
      ++count;
      EXPECT_TRUE(sentences.insert(bad.sentence).second) << bad.sentence;
      if (answer.ok()) {
        ++accepted;
        ADD_FAILURE() << "accepted although " << bad.sentence;
      } else {
        EXPECT_EQ(answer.error().code, Code::kUnauthenticated) << bad.sentence;
      }
    }
  }
  EXPECT_GE(count, 40u);
  std::printf("S02: %zu bad tokens, %zu accepted\n", count, accepted);
}

TEST(JwtCheckerRuleU51, AcceptsEachOfTheNineAlgorithms) {
  const std::vector<std::pair<const char*, const SigningKey*>> cases = {
      {"RS256", &K().rsa},  {"RS384", &K().rsa},  {"RS512", &K().rsa},
      {"PS256", &K().rsa},  {"PS384", &K().rsa},  {"PS512", &K().rsa},
      {"ES256", &K().p256}, {"ES384", &K().p384}, {"ES512", &K().p521}};
  for (const auto& [algorithm, key] : cases) {
    const auto answer = Ask(SignedToken(*key, algorithm, GoodClaims()));
    ASSERT_TRUE(answer.ok()) << algorithm << ": " << answer.error().detail;
    EXPECT_EQ(answer->user, "alice");
    EXPECT_EQ(answer->groups, (std::vector<std::string>{"team-a", "staff"}));
    EXPECT_EQ(answer->expires.us, (kNow + 360) * kMicrosPerSecond);
  }
}

TEST(JwtCheckerRuleU52, AllowsAMinuteBetweenTheClocks) {
  EXPECT_TRUE(Ask(With("exp", kNow - 59)).ok());
  EXPECT_TRUE(Ask(With("nbf", kNow + 59)).ok());
  EXPECT_TRUE(Ask(With("iat", kNow + 59)).ok());
  EXPECT_TRUE(Ask(With("exp", static_cast<double>(kNow) + 1.5)).ok());
}

TEST(JwtCheckerRuleU52, AcceptsTheTypesOfAccessAndIdentity) {
  for (const char* type : {"JWT", "jwt", "at+jwt", "application/at+jwt"}) {
    const json::object header = {{"alg", "RS256"}, {"kid", "rsa"}, {"typ", type}};
    EXPECT_TRUE(Ask(SignedToken(K().rsa, "RS256", WriteJson(header), WriteJson(GoodClaims()))).ok())
        << type;
  }
}

TEST(JwtCheckerRuleU53, PutsPrefixesBeforeNames) {
  IssuerConfig issuer = Corp();
  issuer.user_prefix = "corp:";
  issuer.groups_prefix = "corp-group:";
  json::object claims = GoodClaims();
  claims["groups"] = json::array{"a", "a", "system:masters"};
  const auto answer = Ask(SignedToken(K().rsa, "RS256", claims), issuer);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->user, "corp:alice");
  EXPECT_EQ(answer->groups,
            (std::vector<std::string>{"corp-group:a", "corp-group:system:masters"}));
}

TEST(JwtCheckerRuleU53, TakesOtherClaimsOneGroupAndNoGroups) {
  IssuerConfig issuer = Corp();
  issuer.user_claim = "preferred_username";
  issuer.groups_claim = "roles";
  json::object claims = GoodClaims();
  claims["preferred_username"] = "al";
  auto answer = Ask(SignedToken(K().rsa, "RS256", claims), issuer);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->user, "al");
  EXPECT_TRUE(answer->groups.empty());
  claims["roles"] = "ops";
  answer = Ask(SignedToken(K().rsa, "RS256", claims), issuer);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->groups, std::vector<std::string>{"ops"});
}

TEST(JwtCheckerRuleU53, TakesAVerifiedAddress) {
  const auto answer =
      Ask(Payload(ClaimsAnd(R"("email":"a@b.example","email_verified":true)")), ByEmail());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->user, "a@b.example");
}

TEST(JwtCheckerRuleU51, TakesOneAudienceOfSeveral) {
  EXPECT_TRUE(Ask(With("aud", json::array{"grafana", "muster-cli"})).ok());
}

}  // namespace
}  // namespace muster::auth
