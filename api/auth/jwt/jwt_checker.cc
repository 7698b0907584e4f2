// The order of the checks: form, header, key, signature, then the claims. Members of the header
// that bring or point to a key (jwk, jku, x5c, x5u) are never read: keys come from the issuer
// alone.
#include "api/auth/jwt/jwt_checker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "api/auth/jwt/base64url.h"
#include "schedd/base/limits.h"
#include "schedd/text/lenient.h"

namespace muster::auth {
namespace {

Error JwtRefused(const std::string& why) {
  return {Code::kUnauthenticated, "the token was refused: " + why};
}

// The three parts; fewer or more are left to the caller as an empty answer.
std::optional<std::array<std::string_view, 3>> ThreeParts(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  if (token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return std::array{token.substr(0, first), token.substr(first + 1, second - first - 1),
                    token.substr(second + 1)};
}

// A part as a JSON object; nullopt if it is anything else.
std::optional<json::object> ObjectPart(std::string_view part) {
  const std::optional<std::string> text = DecodeBase64Url(part);
  if (!text) return std::nullopt;
  Result<json::value> parsed = ParseJson(*text);
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  return std::move(parsed.value().get_object());
}

// RFC 8725, section 3.11: tokens of other purposes (logout, DPoP, events) are signed by the same
// keys. The prefix "application/" may be left out (RFC 7515, section 4.1.9).
bool IsTokenType(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::string_view prefix = "application/";
  if (type.starts_with(prefix)) type.erase(0, prefix.size());
  return type == "jwt" || type == "at+jwt";
}

// "" if the header can be accepted.
std::string HeaderProblem(const json::object& header) {
  if (header.contains("crit")) return "its header has critical members that are not understood";
  if (header.contains("b64")) return "its payload is not encoded";
  if (header.contains("zip") || header.contains("enc")) return "it is encrypted or compressed";
  if (const json::value* type = header.if_contains("typ")) {
    if (!type->is_string() || !IsTokenType(std::string(type->get_string()))) {
      return "its type is not that of a token for access";
    }
  }
  return "";
}

// A NumericDate in seconds; a fraction is cut off. nullopt if it is absent, no number, or outside
// of what a date can be.
std::optional<std::int64_t> DateOf(const json::object& claims, const char* name) {
  const json::value* value = claims.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double seconds = value->to_number<double>();
  if (!(seconds >= 0 && seconds <= static_cast<double>(limits::kJwtLatestS))) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(seconds));
}

// "" if the token is valid at this time. `exp` and `iat` must be there, `nbf` may be.
std::string TimeProblem(const json::object& claims, std::int64_t now_s) {
  const auto expires = DateOf(claims, "exp");
  const auto issued = DateOf(claims, "iat");
  if (!expires) return "it has no valid exp";
  if (!issued) return "it has no valid iat";
  if (now_s >= *expires + limits::kJwtSkewS) return "it has expired";
  if (*issued > now_s + limits::kJwtSkewS) return "it was issued in the future";
  if (claims.contains("nbf")) {
    const auto begins = DateOf(claims, "nbf");
    if (!begins) return "it has no valid nbf";
    if (*begins > now_s + limits::kJwtSkewS) return "it is not valid yet";
  }
  return "";
}

// `aud` is one text or a list of texts (RFC 7519, section 4.1.3).
bool IsMeantFor(const json::object& claims, const std::vector<std::string>& audiences) {
  const auto ours = [&](const json::value& one) {
    return one.is_string() && std::find(audiences.begin(), audiences.end(),
                                        std::string_view(one.get_string())) != audiences.end();
  };
  const json::value* value = claims.if_contains("aud");
  if (value == nullptr) return false;
  const json::array* list = value->if_array();
  if (list == nullptr) return ours(*value);
  const bool texts = std::all_of(list->begin(), list->end(),
                                 [](const json::value& one) { return one.is_string(); });
  return texts && std::any_of(list->begin(), list->end(), ours);
}

// Control characters of ASCII and of Unicode's second block would reach logs and terminals.
bool HasControls(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)
      return true;
  }
  return false;
}

// "" if the name, with its prefix, may be a user's or group's. The names of Kubernetes' own users
// and groups (system:masters) are never an issuer's to give (rule U53).
std::string NameProblem(const std::string& claim, const std::string& name) {
  if (claim.empty()) return "is empty";
  if (name.size() > limits::kJwtNameBytes) return "is too long";
  if (HasControls(name)) return "has control characters";
  if (name.starts_with("system:")) return "is one of the system's";
  return "";
}

// The groups of a token: none, one text, or a list of texts. "" if they can be accepted.
std::string TakeGroups(const json::object& claims, const IssuerConfig& issuer,
                       std::vector<std::string>* out) {
  const json::value* value = claims.if_contains(issuer.groups_claim);
  if (value == nullptr || value->is_null()) return "";
  const json::array single = {*value};
  const json::array* list = value->if_array();
  if (list == nullptr) list = &single;
  if (list->size() > limits::kJwtGroups) return "it has too many groups";
  std::set<std::string> seen;
  for (const json::value& one : *list) {
    if (!one.is_string()) return "its groups are no texts";
    const std::string claim(one.get_string());
    std::string name = issuer.groups_prefix + claim;
    const std::string problem = NameProblem(claim, name);
    if (!problem.empty()) return "a group's name " + problem;
    if (seen.insert(name).second) out->push_back(std::move(name));
  }
  return "";
}

// An address counts only if the issuer has verified it: anybody can claim any address elsewhere.
std::string TakeUser(const json::object& claims, const IssuerConfig& issuer, std::string* out) {
  const json::string* claim = FindText(claims, issuer.user_claim);
  if (claim == nullptr) return "it has no text in the claim for the user's name";
  if (issuer.user_claim == "email" && !FlagAt(claims, "email_verified")) {
    return "the issuer has not verified the user's e-mail address";
  }
  *out = issuer.user_prefix + std::string(*claim);
  const std::string problem = NameProblem(std::string(*claim), *out);
  return problem.empty() ? "" : "the user's name " + problem;
}

}  // namespace

Result<UncheckedJwt> ParseJwt(std::string_view token) {
  if (token.size() > limits::kJwtBytes) return JwtRefused("it is too long");
  const auto parts = ThreeParts(token);
  if (!parts) return JwtRefused("it does not have three parts");
  const auto header = ObjectPart((*parts)[0]);
  if (!header) return JwtRefused("its header is malformed");
  UncheckedJwt out;
  out.algorithm = FindJwsAlgorithm(TextAt(*header, "alg"));
  if (out.algorithm == nullptr) return JwtRefused("its algorithm is not accepted");
  const std::string problem = HeaderProblem(*header);
  if (!problem.empty()) return JwtRefused(problem);
  out.kid = TextAt(*header, "kid");
  if (out.kid.empty()) return JwtRefused("it does not name its key");
  auto claims = ObjectPart((*parts)[1]);
  if (!claims) return JwtRefused("its payload is malformed");
  const auto signature = DecodeBase64Url((*parts)[2]);
  if (!signature || signature->empty()) return JwtRefused("its signature is malformed");
  out.signature_bytes = signature->size();
  out.claims = std::move(*claims);
  out.issuer = TextAt(out.claims, "iss");
  if (out.issuer.empty()) return JwtRefused("it does not name its issuer");
  out.compact = std::string(token);
  return out;
}

Result<JwtIdentity> CheckJwt(const UncheckedJwt& token, const KeySet& keys,
                             const IssuerConfig& issuer, WallTime now) {
  if (token.issuer != issuer.issuer) return JwtRefused("its issuer is not known here");
  const VerificationKey* key = keys.Find(token.kid, *token.algorithm);
  if (key == nullptr) return JwtRefused("the issuer has no such key");
  if (token.signature_bytes != key->signature_bytes() || !key->Verifies(token.compact)) {
    return JwtRefused("its signature is wrong");
  }
  std::string problem = TimeProblem(token.claims, now.us / kMicrosPerSecond);
  if (problem.empty() && !IsMeantFor(token.claims, issuer.audiences)) {
    problem = "it is meant for somebody else";
  }
  JwtIdentity out;
  if (problem.empty()) problem = TakeUser(token.claims, issuer, &out.user);
  if (problem.empty()) problem = TakeGroups(token.claims, issuer, &out.groups);
  if (!problem.empty()) return JwtRefused(problem);
  // TimeProblem has seen that exp is there.
  out.expires = WallTime{}.PlusSeconds(*DateOf(token.claims, "exp") + limits::kJwtSkewS);
  return out;
}

}  // namespace muster::auth
