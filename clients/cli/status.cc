// muster status: the server's address, version, readiness and warnings, who leads since when at
// which address, and what the database promises (GET /v1/status). A server that is not ready
// answers too and gives its reasons.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

// Nothing is printed that the server does not say: one of an earlier version knows no roles.
void PrintLead(const json::value& status) {
  const std::string role = ShownText(status, "role");
  if (!role.empty()) std::printf("role:     %s\n", role.c_str());
  const json::value* leader =
      status.is_object() ? status.get_object().if_contains("leader") : nullptr;
  if (leader == nullptr) return;
  std::printf("leader:   %s (%s) since %s, epoch %s\n", ShownText(*leader, "address").c_str(),
              ShownText(*leader, "host").c_str(), ShownText(*leader, "since").c_str(),
              client::PathText(*leader, "epoch").c_str());
  const json::value* age = status.get_object().if_contains("copyAgeSeconds");
  if (age != nullptr && age->is_number())
    std::printf("copy:     %.1f s old\n", age->to_number<double>());
}

void PrintDatabase(const json::value& status) {
  const json::value* database =
      status.is_object() ? status.get_object().if_contains("database") : nullptr;
  if (database == nullptr) return;
  for (const char* key : {"message", "problem"}) {
    const std::string text = ShownText(*database, key);
    if (!text.empty()) std::printf("database: %s\n", text.c_str());
  }
}

}  // namespace

int ServerStatus(Session& session, const std::string& output) {
  const client::Outcome<json::value> answer = session.api.Get("/v1/status");
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  const bool ready = client::PathText(*answer, "ready") == "true";
  std::printf("server:   %s\n", session.api.server().ToString().c_str());
  std::printf("version:  %s\n", ShownText(*answer, "version").c_str());
  std::printf("ready:    %s\n", ready ? "yes" : "no");
  for (const json::value& reason : ArrayOrEmpty(*answer, "reasons")) {
    if (!reason.is_string()) continue;
    std::printf("          %s\n", client::VisibleText(reason.get_string()).c_str());
  }
  PrintLead(*answer);
  PrintDatabase(*answer);
  for (const json::value& warning : ArrayOrEmpty(*answer, "warnings")) {
    std::printf("warning:  %s: %s\n", ShownText(warning, "type").c_str(),
                ShownText(warning, "message").c_str());
  }
  return 0;
}

}  // namespace muster::cli
