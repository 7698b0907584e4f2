// The secret is 32 random bytes as 43 characters of base64url, and its hash is taken over those
// characters: two texts that decode to the same bytes are two secrets. Because a secret has 256
// bits of its own, one plain SHA-256 is enough; there is nothing to guess.
//
// A wrong name and a wrong secret get the same sentence.
#include "api/auth/token_method.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/text/request_digest.h"

namespace muster::auth {
namespace {

constexpr std::string_view kTokenPrefix = "mst_";
constexpr std::size_t kSecretBytes = 32, kSecretChars = 43;
constexpr char kBase64Url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Base64Url(const unsigned char* bytes, std::size_t size) {
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (std::size_t i = 0; i < size; ++i) {
    bits = (bits << 8 | bytes[i]) & 0xFFFF;
    for (have += 8; have >= 6; have -= 6) out += kBase64Url[(bits >> (have - 6)) & 63];
  }
  if (have > 0) out += kBase64Url[(bits << (6 - have)) & 63];
  return out;
}

struct SplitToken {
  std::string name;
  std::string_view secret;
};

// The secret may have underscores of its own, so the name is what stands before the last 43
// characters. An empty name: the text is no token of ours.
SplitToken SplitTokenText(std::string_view text) {
  if (!text.starts_with(kTokenPrefix) || text.size() < kTokenPrefix.size() + 2 + kSecretChars)
    return {};
  const std::size_t border = text.size() - kSecretChars - 1;
  if (text[border] != '_') return {};
  return {std::string(text.substr(kTokenPrefix.size(), border - kTokenPrefix.size())),
          text.substr(border + 1)};
}

Error WrongToken() {
  return {Code::kUnauthenticated, "the access token is not valid: it is unknown or was revoked"};
}
Error ExpiredToken(const AccessToken& token) {
  return {Code::kUnauthenticated, "the access token \"" + token.name + "\" expired at " +
                                      FormatRfc3339(token.expires) +
                                      ": make a new one (muster token create)"};
}

bool TokenExpired(const AccessToken& token, const Clock& clock) {
  return token.expires.set() && token.expires <= clock.WallNow();
}

}  // namespace

// Without randomness no secret may be made, so that failure ends the process.
MintedToken MintToken(const std::string& name) {
  std::array<unsigned char, kSecretBytes> bytes{};
  MUSTER_CHECK(RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  const std::string secret = Base64Url(bytes.data(), bytes.size());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return {std::string(kTokenPrefix) + name + "_" + secret, Sha256Hex(secret)};
}

std::string TokenName() {
  std::array<unsigned char, 10> bytes{};
  MUSTER_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string name = "t-";
  for (const unsigned char byte : bytes) name += "abcdefghijklmnopqrstuvwxyz234567"[byte & 31];
  return name;
}

TokenMethod::TokenMethod(std::function<ConfigPtr()> config, const Clock& clock)
    : config_(std::move(config)), clock_(clock) {}

bool TokenMethod::Recognises(const Authorization& authorization) const {
  return authorization.CredentialsOf("Bearer").starts_with(kTokenPrefix);
}

Result<Principal> TokenMethod::Check(const Evidence& evidence) const {
  const SplitToken given = SplitTokenText(evidence.authorization->CredentialsOf("Bearer"));
  if (given.name.empty()) return WrongToken();
  const ConfigPtr config = config_();
  if (config == nullptr)
    return Unavailable("access tokens cannot be checked yet: the scheduler is starting");
  const AccessToken* token = config->access->FindToken(given.name);
  const std::string hash = Sha256Hex(given.secret);
  if (token == nullptr || token->sha256.size() != hash.size() ||
      CRYPTO_memcmp(token->sha256.data(), hash.data(), hash.size()) != 0) {
    return WrongToken();
  }
  if (TokenExpired(*token, clock_)) return ExpiredToken(*token);
  Principal who;
  who.user = token->user;
  who.groups = token->groups;
  who.method = "token";
  who.uid = token->uid;
  who.expires = token->expires;
  who.credential = token->name;
  return who;
}

// Somebody may have deleted the token and made another one of the same name: a stream goes on only
// with the same user, groups and account, which no edit of a token changes. Its end may move.
Status TokenMethod::StillGood(const Principal& who) const {
  if (who.method != "token") return Done{};
  const ConfigPtr config = config_();
  // Between two leads nothing is published; a stream waits and is asked again.
  if (config == nullptr) return Done{};
  const AccessToken* token = config->access->FindToken(who.credential);
  const std::string& user = who.impersonator.empty() ? who.user : who.impersonator;
  if (token == nullptr || token->user != user) return WrongToken();
  // Who acts as another has that one's groups.
  if (who.impersonator.empty()) {
    const auto has = [&](const std::string& group) {
      return std::find(who.groups.begin(), who.groups.end(), group) != who.groups.end();
    };
    const bool same = who.uid == token->uid &&
                      std::all_of(token->groups.begin(), token->groups.end(), has) &&
                      std::all_of(who.groups.begin(), who.groups.end(),
                                  [&](const auto& group) {
      return group == kAuthenticatedGroup ||
             std::find(token->groups.begin(), token->groups.end(), group) != token->groups.end();
                      });
    if (!same) return WrongToken();
  }
  if (TokenExpired(*token, clock_)) return ExpiredToken(*token);
  return Done{};
}

}  // namespace muster::auth
