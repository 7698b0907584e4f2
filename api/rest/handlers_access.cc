// A token is an object like any other (muster.io/v1 AccessToken), so it is validated, authorised,
// audited and dry-run by ChangeObjects; this handler only makes the secret and keeps its hash
// (rule U12).
#include "api/rest/handlers_access.h"

#include <algorithm>
#include <utility>

#include "api/auth/token_method.h"
#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/base/limits.h"
#include "schedd/model/access.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

json::array NamesJson(const std::vector<std::string>& names) {
  json::array out;
  for (const std::string& name : names) out.emplace_back(name);
  return out;
}

// What a request for a token asks for.
struct WantedToken {
  std::string user, description;
  std::vector<std::string> groups;
  std::optional<std::int64_t> uid;
  std::int64_t ttl_s = limits::kTokenDefaultTtlS;
};

// The caller's own groups, for a token of its own. Being known is no group of the token: every
// caller has it.
std::vector<std::string> OwnGroups(const Caller& who) {
  std::vector<std::string> groups = who.groups;
  std::erase(groups, std::string(kAuthenticatedGroup));
  return groups;
}

Status ReadTokenGroups(const json::value& list, std::vector<std::string>* groups) {
  if (!list.is_array()) return InvalidField("groups", "must be a list of names");
  groups->clear();
  for (const json::value& one : list.get_array()) {
    if (!one.is_string()) return InvalidField("groups", "must be a list of names");
    groups->emplace_back(std::string_view(one.get_string()));
  }
  return Done{};
}

// One member of the body.
Status ReadTokenMember(std::string_view key, const json::value& value, WantedToken* wanted) {
  if (key == "groups") return ReadTokenGroups(value, &wanted->groups);
  if (key == "ttl") {
    if (!value.is_int64() || value.get_int64() < 1 ||
        value.get_int64() > limits::kTokenLongestTtlS) {
      return InvalidField("ttl", "must be a number of seconds from 1 to " +
                                     std::to_string(limits::kTokenLongestTtlS));
    }
    wanted->ttl_s = value.get_int64();
    return Done{};
  }
  if (key == "uid") {
    if (!value.is_int64()) return InvalidField("uid", "must be a number");
    wanted->uid = value.get_int64();
    return Done{};
  }
  if (key != "user" && key != "description") return InvalidField(std::string(key), "is not known");
  if (!value.is_string()) return InvalidField(std::string(key), "must be a string");
  (key == "user" ? wanted->user : wanted->description) = std::string_view(value.get_string());
  if (wanted->description.size() <= limits::kTokenDescriptionBytes) return Done{};
  return InvalidField("description", "must have at most 256 bytes");
}

// A token of the caller's own has, unless the body says otherwise, the caller's groups and account.
Result<WantedToken> ReadWantedToken(const Caller& who, const Request& request) {
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return InvalidArgument("the body must be an object");
  WantedToken wanted;
  const json::object& members = body->get_object();
  const json::value* user = members.if_contains("user");
  const bool own = user == nullptr || (user->is_string() && user->get_string() == who.user);
  if (own) {
    wanted.user = who.user;
    wanted.groups = OwnGroups(who);
    if (who.uid) wanted.uid = *who.uid;
  }
  for (const auto& entry : members) {
    const Status read = ReadTokenMember(entry.key(), entry.value(), &wanted);
    if (!read.ok()) return read.error();
  }
  if (wanted.user.empty()) return InvalidField("user", "must not be empty");
  return wanted;
}

json::object TokenManifest(const WantedToken& wanted, const std::string& name,
                           const std::string& sha256, WallTime expires) {
  json::object spec{{"user", wanted.user},
                    {"groups", NamesJson(wanted.groups)},
                    {"expires", FormatRfc3339(expires)},
                    {"sha256", sha256}};
  if (wanted.uid) spec["uid"] = *wanted.uid;
  if (!wanted.description.empty()) spec["description"] = wanted.description;
  return {{"apiVersion", "muster.io/v1"},
          {"kind", "AccessToken"},
          {"metadata", json::object{{"name", name}}},
          {"spec", std::move(spec)}};
}

}  // namespace

Response WhoAmI(ApiContext& api, const Caller& who, Request& request) {
  if (const Status query = QueryReader(request).Only({}); !query.ok())
    return ErrorResponse(request, query.error());
  json::object out{{"user", who.user},
                   {"groups", NamesJson(who.groups)},
                   {"method", who.method},
                   {"source", who.source},
                   {"encrypted", request.peer != nullptr && request.peer->encrypted},
                   {"accepts", NamesJson(api.accepted)}};
  if (who.uid) out["uid"] = *who.uid;
  if (who.expires.set()) out["expires"] = FormatRfc3339(who.expires);
  if (!who.impersonator.empty()) out["impersonator"] = who.impersonator;
  if (!who.credential.empty()) out["credential"] = who.credential;
  return JsonResponse(out);
}

void CreateToken(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const auto refuse = [&respond](const Error& error) {
    respond([error] { return ErrorResponse(false, error); });
  };
  const QueryReader query(request);
  if (const Status known = query.Only({"dryRun"}); !known.ok()) return refuse(known.error());
  const Result<bool> dry_run = query.Flag("dryRun");
  if (!dry_run.ok()) return refuse(dry_run.error());
  const Result<WantedToken> wanted = ReadWantedToken(who, request);
  if (!wanted.ok()) return refuse(wanted.error());
  const std::string name = auth::TokenName();
  auth::MintedToken minted = auth::MintToken(name);
  const WallTime now = api.clock == nullptr ? api.service.View()->as_of : api.clock->WallNow();
  const WallTime expires = now.PlusSeconds(wanted->ttl_s);
  ObjectChange change;
  change.kind = ObjectKind::kAccessToken;
  change.name = name;
  change.manifest = WriteJson(TokenManifest(*wanted, name, minted.sha256, expires));
  change.must_not_exist = true;
  api.service.ChangeObjects(
      who, {std::move(change)}, *dry_run,
      [respond, name, expires, dry_run = *dry_run, user = wanted->user,
       text = std::move(minted.text)](Result<std::vector<AppliedObject>> done) {
    respond([name, expires, dry_run, user, text, done = std::move(done)] {
      if (!done.ok()) return ErrorResponse(false, done.error());
      json::object out{{"name", name}, {"user", user}, {"expires", FormatRfc3339(expires)}};
      // A token that a dry run showed would never be valid.
      if (!dry_run) out["token"] = text;
      return JsonResponse(out, dry_run ? 200 : 201);
    });
      });
}

}  // namespace muster::rest
