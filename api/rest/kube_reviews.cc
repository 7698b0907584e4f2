// The answers come from the same authenticator and the same roles that every request is judged by
// (rule U15). Creating a review about somebody else needs the right to create that kind of review;
// a question about oneself needs nothing but being known.
#include "api/rest/kube_reviews.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/auth/rbac_authorizer.h"
#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/service/rule_json.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

constexpr char kAuthenticationGroup[] = "authentication.k8s.io";
constexpr char kAuthorizationGroup[] = "authorization.k8s.io";
constexpr std::array<ReviewResource, 6> kReviews = {{
    {kAuthenticationGroup, "tokenreviews", "TokenReview", false},
    {kAuthenticationGroup, "selfsubjectreviews", "SelfSubjectReview", false},
    {kAuthorizationGroup, "subjectaccessreviews", "SubjectAccessReview", false},
    {kAuthorizationGroup, "localsubjectaccessreviews", "LocalSubjectAccessReview", true},
    {kAuthorizationGroup, "selfsubjectaccessreviews", "SelfSubjectAccessReview", false},
    {kAuthorizationGroup, "selfsubjectrulesreviews", "SelfSubjectRulesReview", false},
}};

// The review that the path names.
const ReviewResource& ReviewOf(const Request& request) {
  const auto found = std::find_if(kReviews.begin(), kReviews.end(), [&](const auto& one) {
    return request.segments.back() == one.plural;
  });
  return found == kReviews.end() ? kReviews.front() : *found;
}

// The body, whose kind must be that of the path.
Result<json::object> ReadReview(const Request& request) {
  if (!TakesMedia(request)) return InvalidArgument("the Content-Type is not taken");
  Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return InvalidArgument("the body must be an object");
  const ReviewResource& review = ReviewOf(request);
  const std::string kind = TextAt(*body, "kind"), version = TextAt(*body, "apiVersion");
  if (!kind.empty() && kind != review.kind)
    return InvalidField("kind", "must be " + std::string(review.kind));
  const std::string wanted = std::string(review.group) + "/v1";
  if (!version.empty() && version != wanted) return InvalidField("apiVersion", "must be " + wanted);
  return body->get_object();
}

Response NotRead(const Request& request, const Error& error) {
  return TakesMedia(request) ? ErrorResponse(request, error) : UnsupportedMedia(request);
}

Status MayCreateReview(const ApiContext& api, const Caller& who, const Request& request,
                       std::string_view ns) {
  const ReviewResource& review = ReviewOf(request);
  return api.service.authorizer().Authorize(who, auth::Verb::kCreate,
                                            {review.group, review.plural, "", ns, ""});
}

json::array ListOf(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

std::vector<std::string> TextsOf(const json::value& parent, const char* key) {
  std::vector<std::string> out;
  for (const json::value& one : ArrayOrEmpty(parent, key)) {
    if (one.is_string()) out.emplace_back(std::string_view(one.get_string()));
  }
  return out;
}

// Kubernetes' UserInfo.
json::object UserInfo(const Caller& who) {
  json::object user{{"username", who.user}, {"groups", ListOf(who.groups)}};
  if (who.uid) user["uid"] = std::to_string(*who.uid);
  user["extra"] = json::object{{"muster.io/method", json::array{json::value(who.method)}}};
  return user;
}

Response Answered(const Request& request, json::object spec, json::object status) {
  const ReviewResource& review = ReviewOf(request);
  return JsonResponse(json::object{{"kind", review.kind},
                                   {"apiVersion", std::string(review.group) + "/v1"},
                                   {"metadata", json::object{{"creationTimestamp", nullptr}}},
                                   {"spec", std::move(spec)},
                                   {"status", std::move(status)}},
                      201);
}

std::optional<auth::Verb> VerbNamed(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(auth::Verb::kUse); ++i) {
    const auto verb = static_cast<auth::Verb>(i);
    if (auth::VerbName(verb) == name) return verb;
  }
  return std::nullopt;
}

// What a review asks.
struct AskedAccess {
  std::string verb, group, resource, subresource, ns, name, path;
};

// Exactly one of resourceAttributes and nonResourceAttributes.
Result<AskedAccess> ReadAsked(const json::value& spec) {
  const json::value* resource = FindValue(spec, "resourceAttributes");
  const json::value* path = FindValue(spec, "nonResourceAttributes");
  const auto given = [](const json::value* one) { return one != nullptr && one->is_object(); };
  if (given(resource) == given(path)) {
    return InvalidField("spec",
                        "exactly one of nonResourceAttributes or resourceAttributes must be "
                        "specified");
  }
  AskedAccess asked;
  if (given(path)) {
    asked.verb = TextAt(*path, "verb");
    asked.path = TextAt(*path, "path");
    return asked;
  }
  asked.verb = TextAt(*resource, "verb");
  asked.group = TextAt(*resource, "group");
  asked.resource = TextAt(*resource, "resource");
  asked.subresource = TextAt(*resource, "subresource");
  asked.ns = TextAt(*resource, "namespace");
  asked.name = TextAt(*resource, "name");
  return asked;
}

// Verbs that Muster never asks for itself ("*", "use") are answered from the roles alone.
bool AllowedTo(const ApiContext& api, const Caller& who, const AskedAccess& asked) {
  const auto verb = VerbNamed(asked.verb);
  if (verb && !asked.path.empty())
    return api.service.authorizer().AllowsPath(who, *verb, asked.path);
  if (verb) {
    return api.service.authorizer().Allows(
        who, *verb, {asked.group, asked.resource, asked.subresource, asked.ns, asked.name});
  }
  AccessQuestion question;
  question.user = who.user;
  question.groups = who.groups;
  question.verb = asked.verb;
  question.group = asked.group;
  question.resource = asked.resource;
  question.subresource = asked.subresource;
  question.ns = asked.ns;
  question.name = asked.name;
  question.path = asked.path;
  return auth::IsMaster(who) || api.service.View()->config->access->Allows(question);
}

json::object AccessStatus(const ApiContext& api, const Caller& who, const AskedAccess& asked) {
  const bool allowed = AllowedTo(api, who, asked);
  json::object status{{"allowed", allowed}};
  if (!allowed) status["reason"] = "no role that is bound to the user or its groups grants it";
  return status;
}

}  // namespace

std::span<const ReviewResource> ReviewResources() { return kReviews; }

// The token is not repeated in the answer.
Response ReviewToken(ApiContext& api, const Caller& who, Request& request) {
  const Status allowed = MayCreateReview(api, who, request, "");
  if (!allowed.ok()) return ErrorResponse(request, allowed.error());
  const Result<json::object> review = ReadReview(request);
  if (!review.ok()) return NotRead(request, review.error());
  const std::string token = TextAt(*review, {"spec", "token"});
  if (token.empty()) return ErrorResponse(request, InvalidField("spec.token", "is required"));
  const auth::Authorization authorization("Bearer " + token);
  auth::Evidence evidence;
  evidence.authorization = &authorization;
  const Result<Caller> owner = api.authenticator.Authenticate(evidence);
  if (!owner.ok() && owner.error().code != Code::kUnauthenticated)
    return ErrorResponse(request, owner.error());
  json::object status{{"authenticated", owner.ok()}};
  if (owner.ok()) {
    status["user"] = UserInfo(*owner);
  } else {
    status["error"] = owner.error().detail;
  }
  return Answered(request, {}, std::move(status));
}

Response ReviewSelf(ApiContext&, const Caller& who, Request& request) {
  const Result<json::object> review = ReadReview(request);
  if (!review.ok()) return NotRead(request, review.error());
  return Answered(request, {}, {{"userInfo", UserInfo(who)}});
}

Response ReviewSelfAccess(ApiContext& api, const Caller& who, Request& request) {
  const Result<json::object> review = ReadReview(request);
  if (!review.ok()) return NotRead(request, review.error());
  const json::object spec = ObjectOrEmpty(*review, "spec");
  const Result<AskedAccess> asked = ReadAsked(spec);
  if (!asked.ok()) return ErrorResponse(request, asked.error());
  return Answered(request, spec, AccessStatus(api, who, *asked));
}

// The subject of the review is taken as the review says it: it need not exist.
Response ReviewAccess(ApiContext& api, const Caller& who, Request& request) {
  const std::string ns = request.params.empty() ? "" : request.params[0];
  const Status allowed = MayCreateReview(api, who, request, ns);
  if (!allowed.ok()) return ErrorResponse(request, allowed.error());
  const Result<json::object> review = ReadReview(request);
  if (!review.ok()) return NotRead(request, review.error());
  const json::object spec = ObjectOrEmpty(*review, "spec");
  const Result<AskedAccess> asked = ReadAsked(spec);
  if (!asked.ok()) return ErrorResponse(request, asked.error());
  if (!ns.empty() && (asked->ns != ns || !asked->path.empty())) {
    return ErrorResponse(request, InvalidField("spec.resourceAttributes.namespace",
                                               "must be the namespace of the path"));
  }
  Caller subject;
  subject.user = TextAt(spec, "user");
  subject.groups = TextsOf(spec, "groups");
  if (subject.user.empty() && subject.groups.empty())
    return ErrorResponse(request, InvalidField("spec.user", "user or groups is required"));
  return Answered(request, spec, AccessStatus(api, subject, *asked));
}

Response ReviewSelfRules(ApiContext& api, const Caller& who, Request& request) {
  const Result<json::object> review = ReadReview(request);
  if (!review.ok()) return NotRead(request, review.error());
  const std::string ns = TextAt(*review, {"spec", "namespace"});
  if (ns.empty()) return ErrorResponse(request, InvalidField("spec.namespace", "is required"));
  json::array resources, paths;
  if (auth::IsMaster(who)) {
    resources.push_back(api::RuleJson({{"*"}, {"*"}, {"*"}, {}, {}}));
    paths.push_back(api::RuleJson({{"*"}, {}, {}, {}, {"*"}}));
  }
  for (const PolicyRule& rule :
       api.service.View()->config->access->RulesOf(who.user, who.groups, ns))
    (rule.non_resource_urls.empty() ? resources : paths).push_back(api::RuleJson(rule));
  return Answered(request, {{"namespace", ns}},
                  {{"resourceRules", std::move(resources)},
                   {"nonResourceRules", std::move(paths)},
                   {"incomplete", false}});
}

}  // namespace muster::rest
