#include "tests/support/fake_member/rights.h"

namespace muster::fake {

void Rights::Set(const std::string& verb, const std::string& plural, const std::string& ns,
                 bool allowed) {
  if (allowed) {
    denied_.erase({verb, plural, ns});
  } else {
    denied_.insert({verb, plural, ns});
  }
}

bool Rights::Allows(const std::string& verb, const std::string& plural,
                    const std::string& ns) const {
  return !denied_.contains({verb, plural, ns}) && !denied_.contains({verb, plural, ""});
}

// Kubernetes words it so; an object that is refused has the same reason, code and details.
std::optional<Answer> Rights::Refusal(const Route& route, const Resource& resource) const {
  if (Allows(route.verb, resource.qualified(), route.ns)) return std::nullopt;
  const std::string where =
      route.ns.empty() ? "at the cluster scope" : "in the namespace \"" + route.ns + "\"";
  return Forbidden(resource, route.name,
                   "User \"muster\" cannot " + route.verb + " resource \"" + resource.plural +
                       "\" in API group \"" + resource.group + "\" " + where);
}

bool Rights::IsReview(const Request& request, const Route& route) {
  return request.method == "POST" &&
         route.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
}

Answer Rights::Review(const Request& request) const {
  std::optional<json::object> body = ParseObject(request.body);
  if (!body) return BadRequest("couldn't get version/kind; json parse error");
  const auto wanted = [&](const char* name) {
    return Text(*body, {"spec", "resourceAttributes", name});
  };
  const std::string group = wanted("group");
  const std::string plural = wanted("resource") + (group.empty() ? "" : "." + group);
  const bool allowed = Allows(wanted("verb"), plural, wanted("namespace"));
  (*body)["status"] = json::object{{"allowed", allowed}};
  return {201, json::serialize(*body)};
}

}  // namespace muster::fake
