// The refusals are Kubernetes' sentences (apiserver, responsewriters.forbiddenMessage): tools look
// for them, and users know them.
#include "api/auth/authorizer.h"

#include "schedd/base/check.h"
#include "schedd/base/names.h"

namespace muster::auth {
namespace {

Error Refusal(const Principal& who, Verb verb, const std::string& rest) {
  return {Code::kPermissionDenied,
          "User " + Quoted(who.user) + " cannot " + std::string(VerbName(verb)) + " " + rest};
}

}  // namespace

std::string_view VerbName(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kWatch:
      return "watch";
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
    case Verb::kImpersonate:
      return "impersonate";
    case Verb::kEscalate:
      return "escalate";
    case Verb::kBind:
      return "bind";
    case Verb::kUse:
      return "use";
  }
  MUSTER_CHECK(!"every verb has a name");
  return "";
}

Status Authorizer::Authorize(const Principal& who, Verb verb, const ResourceRef& what) const {
  if (Allows(who, verb, what)) return Done{};
  std::string resource(what.resource);
  if (!what.subresource.empty()) resource += "/" + std::string(what.subresource);
  const std::string where =
      what.ns.empty() ? "at the cluster scope" : "in the namespace " + Quoted(what.ns);
  return Refusal(
      who, verb,
      "resource " + Quoted(resource) + " in API group " + Quoted(what.group) + " " + where);
}

Status Authorizer::AuthorizePath(const Principal& who, Verb verb, std::string_view path) const {
  if (AllowsPath(who, verb, path)) return Done{};
  return Refusal(who, verb, "path " + Quoted(path));
}

}  // namespace muster::auth
