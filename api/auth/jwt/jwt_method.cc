#include "api/auth/jwt/jwt_method.h"

#include "api/auth/jwt/jwt_checker.h"

namespace muster::auth {
JwtMethod::JwtMethod(const std::vector<IssuerConfig>& issuers, DocumentFetcher* fetcher,
                     const Clock* clock)
    : clock_(clock) {
  for (const IssuerConfig& issuer : issuers) {
    sources_.push_back(std::make_unique<JwksSource>(issuer, fetcher, clock));
  }
}

bool JwtMethod::Recognises(const Authorization& authorization) const {
  const std::string_view token = authorization.CredentialsOf("Bearer");
  return token.find('.') != std::string_view::npos && !token.starts_with("mst_");
}

JwksSource* JwtMethod::SourceOf(std::string_view issuer) const {
  for (const auto& source : sources_) {
    if (source->issuer().issuer == issuer) return source.get();
  }
  return nullptr;
}

bool JwtMethod::MayBlock(const Authorization& authorization) const {
  return verified_.Find(authorization.Digest(), clock_->WallNow()) == nullptr;
}

// The issuer that an unchecked token names only chooses the keys that it is checked with.
Result<Principal> JwtMethod::Check(const Evidence& evidence) const {
  const Authorization& given = *evidence.authorization;
  const WallTime now = clock_->WallNow();
  if (const auto entry = verified_.Find(given.Digest(), now)) return entry->principal;
  auto parsed = ParseJwt(given.CredentialsOf("Bearer"));
  if (!parsed.ok()) return parsed.error();
  JwksSource* source = SourceOf(parsed->issuer);
  if (source == nullptr) {
    return Error{Code::kUnauthenticated, "the token was refused: its issuer is not known here"};
  }
  auto keys = source->KeysFor(parsed->kid, evidence.may_wait);
  if (!keys.ok()) return keys.error();
  auto identity = CheckJwt(*parsed, **keys, source->issuer(), now);
  if (!identity.ok()) return identity.error();
  Principal who;
  who.user = std::move(identity->user);
  who.groups = std::move(identity->groups);
  who.method = "jwt";
  who.expires = identity->expires;
  who.credential = source->issuer().name + "/" + parsed->kid;
  verified_.Remember(given.Digest(), {who, source, std::move(keys).value()});
  return who;
}

Status JwtMethod::StillGood(const Principal& who) const {
  if (who.method != "jwt" || clock_->WallNow() < who.expires) return Done{};
  return Error{Code::kUnauthenticated, "the token has expired"};
}

std::vector<std::string> JwtMethod::Warnings() const {
  std::vector<std::string> out;
  for (const auto& source : sources_) {
    const std::string problem = source->problem();
    if (problem.empty()) continue;
    out.push_back("the keys of the issuer " + source->issuer().name +
                  " could not be fetched: " + problem);
  }
  return out;
}

}  // namespace muster::auth
