// muster cluster add and cluster remove: members that come and go while the daemon runs.
//
// `add` sends the text of the kubeconfig, not its path: the daemon may run on another host. The
// server then probes the cluster and answers what it serves and what it lacks. If rights are
// missing, the answer or the refusal has a ClusterRole in the field `clusterRole`; it is printed
// last and unchanged, so that it can be copied into kubectl apply.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

// How long `add` may take: four times as long as the server waits for the cluster's answers.
constexpr std::int64_t kAddMs = 60'000;
constexpr const char* kRoleField = "clusterRole";

// The texts of a list, separated by commas.
std::string JoinedTexts(const json::value& answer, const char* field) {
  std::string text;
  for (const json::value& item : ArrayOrEmpty(answer, field)) {
    if (item.is_string()) text += (text.empty() ? "" : ", ") + std::string(item.get_string());
  }
  return text;
}

void PrintRole(const std::string& role) {
  std::fprintf(stderr,
               "What Muster needs there, as kubectl apply takes it (bind it to the user of the "
               "kubeconfig):\n%s",
               client::VisibleText(role, client::LineEnds::kKept).c_str());
}

// Prints the wrong fields of a refusal; the ClusterRole among them comes last.
int PrintRefusal(client::Failure failure) {
  std::string role;
  std::erase_if(failure.fields, [&role](const FieldError& field) {
    if (field.field == kRoleField) role = field.message;
    return field.field == kRoleField;
  });
  const int code = PrintFailure(failure);
  if (!role.empty()) PrintRole(role);
  return code;
}

// One line: the version and size of the cluster, the kinds of jobs that it serves, and the kinds
// that it lacks.
void PrintAdded(const std::string& name, const json::value& answer) {
  std::string line = "membercluster/" + name + " added";
  const std::string version = client::PathText(answer, "version");
  const std::string nodes = client::PathText(answer, "nodes");
  const std::string serves = JoinedTexts(answer, "serves"), lacks = JoinedTexts(answer, "lacks");
  if (!version.empty()) line += ": Kubernetes " + version;
  if (!nodes.empty()) line += ", " + nodes + (nodes == "1" ? " node" : " nodes");
  if (!serves.empty()) line += ", serves " + serves;
  if (!lacks.empty()) line += "; lacks " + lacks;
  std::printf("%s\n", client::VisibleText(line).c_str());
}

}  // namespace

int ClusterAdd(Session& session, const ClusterAddOptions& options) {
  std::ifstream file(options.kubeconfig);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return PrintError("the kubeconfig " + options.kubeconfig + " cannot be read"), kBadUsage;
  json::object labels;
  for (const std::string& word : options.labels) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return PrintError("--label " + word + ": must be KEY=VALUE"), kBadUsage;
    labels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  json::object body{{"name", options.name}, {"kubeconfig", text.str()}};
  if (!options.context.empty()) body["context"] = options.context;
  if (!labels.empty()) body["labels"] = std::move(labels);
  if (options.fast) body["fast"] = true;
  if (options.force) body["force"] = true;
  client::Call call{"POST", "/v1/memberclusters", WriteJson(body)};
  call.deadline_ms = client::NowMs() + kAddMs;
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (!answer.ok()) return PrintRefusal(answer.failure());
  PrintAdded(options.name, *answer);
  for (const json::value& problem : ArrayOrEmpty(*answer, "problems"))
    if (problem.is_string())
      std::fprintf(stderr, "  %s\n", client::VisibleText(problem.get_string()).c_str());
  if (const std::string role = client::PathText(*answer, kRoleField); !role.empty())
    PrintRole(role);
  return 0;
}

// Also says how many configuration objects of placements stay on the member: removing it deletes
// nothing there.
int ClusterRemove(Session& session, const std::string& name, bool force) {
  const std::string target =
      "/v1/memberclusters/" + client::PercentEncode(name) + (force ? "?force=true" : "");
  const client::Outcome<json::value> answer = session.api.Send({"DELETE", target});
  if (!answer.ok()) return PrintFailure(answer.failure());
  std::string line = "membercluster/" + name + " removed";
  const std::string objects = ShownText(*answer, "configurationObjects");
  const std::string placements = ShownText(*answer, "placements");
  if (!objects.empty()) {
    line += "; " + objects + " configuration " + (objects == "1" ? "object" : "objects") + " of " +
            placements + (placements == "1" ? " placement" : " placements") +
            (objects == "1" ? " stays there" : " stay there");
  }
  std::printf("%s\n", line.c_str());
  return 0;
}

}  // namespace muster::cli
