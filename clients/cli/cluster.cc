// muster cluster list, cordon, uncordon, fence and collect, and muster version: commands that are
// one request and one line of output each.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/kinds.h"
#include "clients/lib/job_view.h"

namespace muster::cli {

int ClusterList(Session& session, const std::string& output) {
  GetOptions options;
  options.kind = "memberclusters";
  options.output = output;
  return Get(session, options);
}

int ClusterCordon(Session& session, const std::string& name, bool cordon) {
  const std::string verb = cordon ? "cordon" : "uncordon";
  const std::string target = "/v1/memberclusters/" + client::PercentEncode(name) + ":" + verb;
  const client::Outcome<json::value> answer = session.api.Send({"POST", target});
  if (!answer.ok()) return PrintFailure(answer.failure());
  std::printf("membercluster/%s %sed\n", name.c_str(), verb.c_str());
  return 0;
}

namespace {

// Posts a verb of a member (POST /v1/memberclusters/NAME:VERB) and prints the number in `field` of
// the answer, followed by `what`.
int ClusterCount(Session& session, const std::string& name, const std::string& verb,
                 const std::string& field, const std::string& what) {
  const std::string target = "/v1/memberclusters/" + client::PercentEncode(name) + ":" + verb;
  const client::Outcome<json::value> answer = session.api.Send({"POST", target});
  if (!answer.ok()) return PrintFailure(answer.failure());
  std::printf("membercluster/%s: %s %s\n", name.c_str(), ShownText(*answer, field).c_str(),
              what.c_str());
  return 0;
}

}  // namespace

int ClusterFence(Session& session, const std::string& name) {
  return ClusterCount(session, name, "fence", "attemptsGivenUp", "attempts given up");
}

int ClusterCollect(Session& session, const std::string& name) {
  return ClusterCount(session, name, "collect", "objectsReleased", "objects released");
}

// Prefers `musterVersion`; `gitVersion` is what a Kubernetes API server has under that path.
int Version(Session& session, bool client_only) {
  std::printf("client: %s\n", kVersion);
  if (client_only) return 0;
  const client::Outcome<json::value> answer = session.api.Get("/version");
  if (!answer.ok()) return PrintFailure(answer.failure());
  std::string version = ShownText(*answer, "musterVersion");
  if (version.empty()) version = ShownText(*answer, "gitVersion");
  std::printf("server: %s at %s\n", version.empty() ? "muster" : version.c_str(),
              session.api.settings().server.ToString().c_str());
  return 0;
}

}  // namespace muster::cli
