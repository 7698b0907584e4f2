#include "api/auth/munge/munge_method.h"

#include <openssl/crypto.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/base/limits.h"
#include "schedd/text/base64.h"
#include "schedd/text/request_digest.h"

namespace muster::auth {
namespace {

constexpr std::string_view kMungeScheme = "Munge";
constexpr std::string_view kArmorBegin = "MUNGE:", kArmorEnd = ":";

Error MungeRefused(const char* why) { return {Code::kUnauthenticated, why}; }

bool EqualDigests(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Whether the text is what munge_encode writes. munged also reads it with blanks in it, with other
// last bits, and with anything behind its end; a used credential would then have other spellings,
// which we have not seen.
bool IsAsMungeWritesIt(std::string_view text) {
  if (text.size() > limits::kMungeBytes || text.size() < kArmorBegin.size() + kArmorEnd.size() ||
      !text.starts_with(kArmorBegin) || !text.ends_with(kArmorEnd)) {
    return false;
  }
  text.remove_prefix(kArmorBegin.size());
  text.remove_suffix(kArmorEnd.size());
  const std::optional<std::string> bytes = DecodeBase64(text);
  return bytes && !bytes->empty() && EncodeBase64(*bytes) == text;
}

}  // namespace

MungeMethod::MungeMethod(MungeDecoder* decoder, AccountLookup account, const Clock* clock)
    : decoder_(decoder), account_(std::move(account)), clock_(clock) {}

bool MungeMethod::Recognises(const Authorization& authorization) const {
  return !authorization.CredentialsOf(kMungeScheme).empty();
}

Result<DecodedCredential> MungeMethod::Decode(const std::string& credential) const {
  const bool alone = asking_.fetch_add(1) == 0;
  const std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)> done(
      &asking_, [](std::atomic<int>* asking) { asking->fetch_sub(1); });
  if (away_ && !alone) return Unavailable("munge cannot check the credential now");
  auto decoded = decoder_->Decode(credential);
  away_ = !decoded.ok() && decoded.error().code == Code::kUnavailable;
  return decoded;
}

// The credential is used up by the first look at it, also if it is another request's: munged has
// counted it then, and so do we.
Result<Principal> MungeMethod::Check(const Evidence& evidence) const {
  const std::string credential(evidence.authorization->CredentialsOf(kMungeScheme));
  if (!IsAsMungeWritesIt(credential)) {
    return MungeRefused("the text behind \"Munge\" is no munge credential");
  }
  if (evidence.method.empty()) {
    return MungeRefused("munge credentials are for the REST API; use a token here");
  }
  auto decoded = Decode(credential);
  if (!decoded.ok()) return decoded.error();
  const std::int64_t now_s = clock_->WallNow().us / kMicrosPerSecond;
  if (!seen_.Take(evidence.authorization->Digest(), decoded->expires_s, now_s)) {
    return MungeRefused("the munge credential has been used before");
  }
  const std::string expected = RequestDigest(evidence.method, evidence.target, evidence.body);
  if (!EqualDigests(decoded->payload, expected)) {
    return MungeRefused("the munge credential was made for another request");
  }
  auto account = account_(decoded->uid);
  if (!account.ok() && account.error().code == Code::kUnavailable) return account.error();
  if (!account.ok()) return MungeRefused("the user of the munge credential has no account here");
  Principal who = std::move(account).value();
  who.method = "munge";
  who.uid = decoded->uid;
  who.credential = "uid:" + std::to_string(decoded->uid);
  return who;
}

}  // namespace muster::auth
