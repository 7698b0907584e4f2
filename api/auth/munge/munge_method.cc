#include "api/auth/munge/munge_method.h"

#include <openssl/crypto.h>
#include <strings.h>

#include <charconv>

#include "schedd/base/limits.h"
#include "schedd/text/request_digest.h"

namespace muster::auth {
namespace {

constexpr std::string_view kMungeScheme = "Munge ";
constexpr std::string_view kUidPrefix = "uid:";

Error MungeRefused(const char* why) { return {Code::kUnauthenticated, why}; }

bool EqualDigests(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

MungeMethod::MungeMethod(MungeDecoder* decoder, AccountLookups accounts, const Clock* clock)
    : decoder_(decoder), accounts_(std::move(accounts)), clock_(clock) {}

// The case of a scheme does not count (RFC 9110, section 11.1).
bool MungeMethod::Recognises(std::string_view authorization) const {
  return authorization.size() >= kMungeScheme.size() &&
         ::strncasecmp(authorization.data(), kMungeScheme.data(), kMungeScheme.size()) == 0;
}

// The credential is used up by the first look at it, also if it is another request's: munged has
// counted it then, and so do we.
Result<Principal> MungeMethod::Check(const Evidence& evidence) const {
  const std::string credential(evidence.authorization.substr(kMungeScheme.size()));
  if (credential.size() > limits::kMungeBytes || !credential.starts_with("MUNGE:") ||
      credential.find('\0') != std::string::npos) {
    return MungeRefused("the text behind \"Munge\" is no munge credential");
  }
  if (evidence.method.empty()) {
    return MungeRefused("munge credentials are for the REST API; use a token here");
  }
  auto decoded = decoder_->Decode(credential);
  if (!decoded.ok()) return decoded.error();
  const std::int64_t now_s = clock_->WallNow().us / kMicrosPerSecond;
  if (!seen_.Take(Sha256Hex(credential), decoded->expires_s, now_s)) {
    return MungeRefused("the munge credential has been used before");
  }
  const std::string expected = RequestDigest(evidence.method, evidence.target, evidence.body);
  if (!EqualDigests(decoded->payload, expected)) {
    return MungeRefused("the munge credential was made for another request");
  }
  auto account = accounts_.find(decoded->uid);
  if (!account.ok()) return MungeRefused("the user of the munge credential has no account here");
  Principal who = std::move(account).value();
  who.method = "munge";
  who.uid = decoded->uid;
  who.credential = std::string(kUidPrefix) + std::to_string(decoded->uid);
  return who;
}

// The account is that of the credential: whoever acts as another user has no uid. A name service
// that does not answer ends no stream.
Status MungeMethod::StillGood(const Principal& who) const {
  if (who.method != "munge") return Done{};
  std::uint32_t uid = 0;
  const char* end = who.credential.data() + who.credential.size();
  const bool told = who.credential.starts_with(kUidPrefix) &&
                    std::from_chars(who.credential.data() + kUidPrefix.size(), end, uid).ptr == end;
  const auto account = told ? accounts_.recall(uid) : NotFound("no account is named");
  if (account.ok() || account.error().code == Code::kUnavailable) return Done{};
  return MungeRefused("the user of the munge credential has no account here any more");
}

}  // namespace muster::auth
