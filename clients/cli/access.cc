// muster whoami, token create, list and revoke, auth can-i, and doctor auth: who one is for the
// server, what one may do there, and why something is refused.
#include <cstdio>
#include <cstdlib>

#include "clients/cli/commands.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/duration.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

constexpr char kTokensPath[] = "/apis/muster.io/v1/accesstokens";
constexpr char kAuthorizationPath[] = "/apis/authorization.k8s.io/v1/";

std::string JoinedNames(const json::value& list) {
  std::string out;
  if (!list.is_array()) return out;
  for (const json::value& one : list.get_array()) {
    if (one.is_string()) out += (out.empty() ? "" : ",") + std::string(one.get_string());
  }
  return out;
}

std::string JoinedAt(const json::value& value, const char* key) {
  return JoinedNames(json::value(ArrayOrEmpty(value, key)));
}

void PrintLine(const char* name, const std::string& value) {
  if (!value.empty()) std::printf("%-13s%s\n", name, client::VisibleText(value).c_str());
}

// How the client reaches the server.
std::string WayOf(const client::Settings& settings) {
  if (!settings.server.unix_path.empty())
    return "Unix socket: the kernel tells the server your account";
  if (!settings.server.tls) return "TCP without TLS";
  return settings.tls.skip_verify ? "TLS; the server's certificate is not checked"
                                  : "TLS; the server's certificate is checked";
}

void PrintIdentity(const json::value& who) {
  PrintLine("user:", client::PathText(who, "user"));
  PrintLine("acted by:", client::PathText(who, "impersonator"));
  PrintLine("groups:", JoinedAt(who, "groups"));
  PrintLine("method:", client::PathText(who, "method"));
  PrintLine("credential:", client::PathText(who, "credential"));
  PrintLine("account:", client::PathText(who, "uid"));
  PrintLine("expires:", client::PathText(who, "expires"));
  PrintLine("source:", client::PathText(who, "source"));
}

// "rayjobs.ray.io" names the group itself; of a plain name the table of kinds knows it.
json::object ResourceNamed(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot != std::string::npos)
    return {{"resource", text.substr(0, dot)}, {"group", text.substr(dot + 1)}};
  const Kind* kind = FindKind(text);
  if (kind == nullptr) return {{"resource", text}, {"group", ""}};
  if (kind->is_job()) return {{"resource", "jobs"}, {"group", "batch"}};
  constexpr std::string_view kGroups = "/apis/";
  std::string group = kind->base.starts_with(kGroups) ? kind->base.substr(kGroups.size()) : "";
  group = group.substr(0, group.find('/'));
  return {{"resource", kind->plural}, {"group", group}};
}

int ListRights(Session& session) {
  client::Call call;
  call.target = std::string(kAuthorizationPath) + "selfsubjectrulesreviews";
  call.body = WriteJson(json::object{{"spec", json::object{{"namespace", session.ns()}}}});
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (!answer.ok()) return PrintFailure(answer.failure());
  TextTable table({"RESOURCES", "GROUPS", "NAMES", "PATHS", "VERBS"});
  for (const char* part : {"resourceRules", "nonResourceRules"}) {
    for (const json::value& rule : ArrayOrEmpty(*answer, {"status", part})) {
      table.Add({JoinedAt(rule, "resources"), JoinedAt(rule, "apiGroups"),
                 JoinedAt(rule, "resourceNames"), JoinedAt(rule, "nonResourceURLs"),
                 JoinedAt(rule, "verbs")});
    }
  }
  std::fputs(table.Render().c_str(), stdout);
  return 0;
}

// Which credentials go with a request, by where they come from. A certificate is shown besides a
// token, and decides only where there is none.
std::string WhatIsSent(const client::Settings& settings) {
  const bool shown = settings.server.tls && !settings.tls.certificate_file.empty();
  const std::string besides = shown ? ", and a client certificate" : "";
  if (!settings.token.empty()) return "a token" + besides;
  if (settings.source != nullptr)
    return "what token-file or exec of the configuration file gives" + besides;
  const std::string last = shown ? "a client certificate" : "no credentials";
  return settings.signer ? "what auth: munge or muster login gives, else " + last : last;
}

// What a user can do about a refusal, by its status.
void PrintAdvice(const client::Failure& failure, const client::Settings& settings) {
  if (failure.kind == client::Failure::Kind::kUnreachable) {
    std::printf(
        "\nNo server answers there. On its host the Unix socket DATA_DIR/run/muster.sock\n"
        "is found by itself; from elsewhere name it with --server or MUSTER_URL.\n");
  } else if (failure.status == 401 && !settings.token.empty()) {
    std::printf(
        "\nThe token of MUSTER_TOKEN or of the configuration file decides alone: it is\n"
        "wrong, was revoked or has expired. Without it the server may still know you.\n");
  } else if (failure.status == 401) {
    std::printf(
        "\nThe server does not know who asks. On its host use its Unix socket\n"
        "(--server unix:DATA_DIR/run/muster.sock); from elsewhere use a token\n"
        "(muster token create --for USER there, then MUSTER_TOKEN here).\n");
  } else if (failure.status == 403) {
    std::printf(
        "\nThe server knows who asks, but no role that is bound to the user or a group\n"
        "grants it: muster auth can-i --list shows what is granted.\n");
  }
}

}  // namespace

int WhoAmI(Session& session, const std::string& output) {
  const client::Outcome<json::value> answer = session.api.Get("/v1/whoami");
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  PrintIdentity(*answer);
  return 0;
}

int TokenCreate(Session& session, const TokenOptions& options) {
  json::object body;
  if (!options.user.empty()) body["user"] = options.user;
  if (!options.description.empty()) body["description"] = options.description;
  if (!options.groups.empty()) {
    json::array groups;
    for (const std::string& group : options.groups) groups.emplace_back(group);
    body["groups"] = std::move(groups);
  }
  if (!options.ttl.empty()) {
    const auto ms = ParseDurationMs(options.ttl);
    if (!ms || *ms < 1000)
      return PrintError("--ttl takes a duration such as 12h or 30m"), kBadUsage;
    body["ttl"] = *ms / 1000;
  }
  client::Call call;
  call.target = "/v1/tokens";
  call.body = WriteJson(body);
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (!answer.ok()) return PrintFailure(answer.failure());
  // The token alone goes to stdout, so that MUSTER_TOKEN=$(muster token create ...) works.
  std::fprintf(stderr, "token %s of %s, valid until %s; it is shown this once\n",
               ShownText(*answer, "name").c_str(), ShownText(*answer, "user").c_str(),
               ShownText(*answer, "expires").c_str());
  std::printf("%s\n", ShownText(*answer, "token").c_str());
  return 0;
}

int TokenList(Session& session) {
  const client::Outcome<json::value> answer = session.api.Get(kTokensPath);
  if (!answer.ok()) return PrintFailure(answer.failure());
  TextTable table({"NAME", "USER", "GROUPS", "EXPIRES", "DESCRIPTION"});
  for (const json::value& token : ArrayOrEmpty(*answer, "items")) {
    const json::value spec(ObjectOrEmpty(token, "spec"));
    table.Add({client::PathText(token, "metadata.name"), client::PathText(spec, "user"),
               JoinedAt(spec, "groups"), client::PathText(spec, "expires"),
               client::PathText(spec, "description")});
  }
  std::fputs(table.Render().c_str(), stdout);
  return 0;
}

int TokenRevoke(Session& session, const std::vector<std::string>& names) {
  int exit = 0;
  for (const std::string& name : names) {
    client::Call call;
    call.method = "DELETE";
    call.target = std::string(kTokensPath) + "/" + client::PercentEncode(name);
    const client::Outcome<json::value> answer = session.api.Send(call);
    if (answer.ok())
      std::printf("token %s revoked\n", name.c_str());
    else
      exit = PrintFailure(answer.failure());
  }
  return exit;
}

int CanI(Session& session, const CanIOptions& options) {
  if (options.list) return ListRights(session);
  if (options.verb.empty() || options.resource.empty())
    return PrintError("can-i takes a verb and a resource or a path, or --list"), kBadUsage;
  json::object spec;
  if (options.resource.starts_with('/')) {
    spec["nonResourceAttributes"] =
        json::object{{"verb", options.verb}, {"path", options.resource}};
  } else {
    json::object asked = ResourceNamed(options.resource);
    asked["verb"] = options.verb;
    asked["name"] = options.name;
    asked["subresource"] = options.subresource;
    asked["namespace"] = session.all_namespaces ? "" : session.ns();
    spec["resourceAttributes"] = std::move(asked);
  }
  client::Call call;
  call.target = std::string(kAuthorizationPath) + "selfsubjectaccessreviews";
  call.body = WriteJson(json::object{{"spec", std::move(spec)}});
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (!answer.ok()) return PrintFailure(answer.failure());
  const bool allowed = FlagAt(*answer, {"status", "allowed"});
  std::printf("%s\n", allowed ? "yes" : "no");
  return allowed ? 0 : kRefused;
}

int DoctorAuth(Session& session) {
  const client::Settings& settings = session.api.settings();
  PrintLine("server:", settings.server.ToString());
  PrintLine("way:", WayOf(settings));
  std::string grpc = settings.grpc;
  for (const client::Settings::GrpcAddress& more : settings.more_grpc) grpc += "," + more.address;
  PrintLine("gRPC:", grpc);
  PrintLine("sent:", WhatIsSent(settings));
  PrintLine("acting as:", settings.as_user);
  const client::Outcome<json::value> who = session.api.Get("/v1/whoami");
  if (!who.ok()) {
    const int exit = PrintFailure(who.failure());
    PrintAdvice(who.failure(), settings);
    return exit;
  }
  PrintIdentity(*who);
  PrintLine("accepts:", JoinedAt(*who, "accepts"));
  const std::string jobs = "/v1/jobs?limit=1&namespace=" + client::PercentEncode(session.ns());
  const client::Outcome<json::value> listed = session.api.Get(jobs);
  if (listed.ok()) {
    PrintLine("jobs:", "the server answers questions about namespace " + session.ns());
    return 0;
  }
  const int exit = PrintFailure(listed.failure());
  PrintAdvice(listed.failure(), settings);
  return exit;
}

}  // namespace muster::cli
