#include "api/auth/rbac_authorizer.h"

#include <algorithm>

namespace muster::auth {

bool IsMaster(const Principal& who) {
  return std::find(who.groups.begin(), who.groups.end(), kMastersGroup) != who.groups.end();
}

bool RbacAuthorizer::Allows(const Principal& who, Verb verb, const ResourceRef& what) const {
  if (IsMaster(who)) return true;
  const ConfigPtr config = config_();
  AccessQuestion question;
  question.user = who.user;
  question.groups = who.groups;
  question.verb = VerbName(verb);
  question.group = what.group;
  question.resource = what.resource;
  question.subresource = what.subresource;
  question.ns = what.ns;
  question.name = what.name;
  return config->access->Allows(question);
}

// Only bindings of the whole cluster grant paths.
bool RbacAuthorizer::AllowsPath(const Principal& who, Verb verb, std::string_view path) const {
  if (IsMaster(who)) return true;
  const ConfigPtr config = config_();
  AccessQuestion question;
  question.user = who.user;
  question.groups = who.groups;
  question.verb = VerbName(verb);
  question.path = path;
  return config->access->Allows(question);
}

}  // namespace muster::auth
