// The names of resources are those of RBAC (authorizer.h), so the rule for reads needs no more than
// the question itself.
#include "api/auth/auditing_authorizer.h"

#include "api/auth/authenticator.h"

namespace muster::auth {

bool IsAuditedRead(Verb verb, const ResourceRef& what) {
  if (verb != Verb::kGet && verb != Verb::kList && verb != Verb::kWatch) return false;
  if (what.subresource == "log") return true;
  if (what.group.empty() && what.resource == "secrets") return true;
  return what.group == "muster.io" && what.resource == "audit";
}

bool AuditingAuthorizer::Allows(const Principal& who, Verb verb, const ResourceRef& what) const {
  return inner_.Allows(who, verb, what);
}

bool AuditingAuthorizer::AllowsPath(const Principal& who, Verb verb, std::string_view path) const {
  return inner_.AllowsPath(who, verb, path);
}

Status AuditingAuthorizer::Authorize(const Principal& who, Verb verb,
                                     const ResourceRef& what) const {
  Status allowed = inner_.Authorize(who, verb, what);
  if (!allowed.ok()) {
    sink_.Refused(who, VerbName(verb), what, allowed.error());
    return allowed;
  }
  return IsAuditedRead(verb, what) ? sink_.Read(who, verb, what) : allowed;
}

Status AuditingAuthorizer::AuthorizePath(const Principal& who, Verb verb,
                                         std::string_view path) const {
  Status allowed = inner_.AuthorizePath(who, verb, path);
  if (allowed.ok()) return allowed;
  sink_.Failed(who, VerbName(verb), path, allowed.error());
  allowed.error().audited = true;
  return allowed;
}

Principal UnknownCaller(const net::Peer* peer) {
  Principal who;
  if (peer == nullptr) return who;
  who.source = SourceOf(peer);
  who.uid = peer->uid;
  return who;
}

}  // namespace muster::auth
