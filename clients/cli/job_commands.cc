// hold, release, requeue; logs; explain.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"
#include "clients/cli/text_table.h"
#include "schedd/text/yaml.h"

namespace muster::cli {
namespace {

const json::array* ArrayAt(const json::value& value, const char* path) {
  const json::value* found = client::FindPath(value, path);
  return found != nullptr && found->is_array() && !found->get_array().empty() ? &found->get_array()
                                                                              : nullptr;
}

void PrintFlavors(const json::array& flavors) {
  TextTable table(
      {"POD SET", "FLAVOR", "RESOURCE", "REQUESTED", "AVAILABLE", "USED", "NOMINAL", "VERDICT"});
  for (const json::value& verdict : flavors) {
    std::string message = client::PathText(verdict, "message");
    if (message.empty()) message = client::PathText(verdict, "reason");
    table.Add({client::PathText(verdict, "podSet"), client::PathText(verdict, "flavor"),
               client::PathText(verdict, "resource"), client::PathText(verdict, "requested"),
               client::PathText(verdict, "available"), client::PathText(verdict, "used"),
               client::PathText(verdict, "nominal"), message.empty() ? "fits" : message});
  }
  std::printf("\nQuota, flavor by flavor:\n%s", table.Render().c_str());
}

void PrintClusters(const json::array& clusters) {
  TextTable table({"MEMBER CLUSTER", "COULD HOLD IT", "HAS ROOM NOW", "VERDICT"});
  for (const json::value& verdict : clusters) {
    const auto yes_no = [&](const char* key) {
      return std::string(client::PathText(verdict, key) == "true" ? "yes" : "no");
    };
    table.Add({client::PathText(verdict, "cluster"), yes_no("eligible"), yes_no("fitsNow"),
               client::PathText(verdict, "message")});
  }
  std::printf("\nMember clusters:\n%s", table.Render().c_str());
}

}  // namespace

int ChangeJobs(Session& session, const std::string& verb, const std::vector<std::string>& jobs) {
  int exit = 0;
  for (const std::string& text : jobs) {
    const client::Outcome<client::JobView> job = FindJob(session, text);
    if (!job.ok()) {
      exit = std::max(exit, PrintFailure(job.failure()));
      continue;
    }
    const std::string target = client::JobPath(std::to_string(job->id)) + ":" + verb;
    const client::Outcome<json::value> answer = session.api.Send({"POST", target});
    if (answer.ok()) {
      std::printf("job %lld is %s\n", static_cast<long long>(job->id),
                  client::PathText(*answer, "state").c_str());
    } else {
      exit = std::max(exit, PrintFailure(answer.failure()));
    }
  }
  return exit;
}

int Logs(Session& session, const LogOptions& options) {
  const client::Outcome<client::JobView> job = FindJob(session, options.job);
  if (!job.ok()) return PrintFailure(job.failure());
  client::Query query;
  query.Add("container", options.container).Add("pod", options.pod);
  if (options.follow) query.Add("follow", "true");
  if (options.tail >= 0) query.Add("tail", std::to_string(options.tail));
  const client::BodySink sink = [](std::string_view part) {
    const bool written = std::fwrite(part.data(), 1, part.size(), stdout) == part.size();
    return std::fflush(stdout) == 0 && written;
  };
  const std::string target = client::JobPath(std::to_string(job->id)) + "/logs" + query.text();
  const client::Outcome<client::HttpResponse> answer = session.api.Stream(target, 0, sink);
  return answer.ok() ? 0 : PrintFailure(answer.failure());
}

int Explain(Session& session, const std::string& name, const std::string& output) {
  if (!output.empty() && output != "json" && output != "yaml") {
    return PrintError("-o takes json or yaml, not \"" + output + "\""), kBadUsage;
  }
  const client::Outcome<client::JobView> job = FindJob(session, name);
  if (!job.ok()) return PrintFailure(job.failure());
  const client::Outcome<json::value> answer =
      session.api.Get(client::JobPath(std::to_string(job->id)) + "/explain");
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  const std::string reason = client::PathText(*answer, "reason");
  std::printf("job %lld is %s%s\n", static_cast<long long>(job->id),
              client::PathText(*answer, "state").c_str(),
              reason.empty() ? "" : (" (" + reason + ")").c_str());
  std::printf("%s\n", client::PathText(*answer, "summary").c_str());
  const std::string position = client::PathText(*answer, "position");
  if (!position.empty() && position != "0") {
    std::printf("position %s in ClusterQueue %s\n", position.c_str(),
                client::MemberText(job->all, "clusterQueue").c_str());
  }
  if (const json::array* flavors = ArrayAt(*answer, "flavors")) PrintFlavors(*flavors);
  if (const json::array* clusters = ArrayAt(*answer, "clusters")) PrintClusters(*clusters);
  if (const json::array* help = ArrayAt(*answer, "wouldHelp")) {
    std::printf("\nWhat would let it run:\n");
    for (const json::value& sentence : *help) {
      if (sentence.is_string()) std::printf("  - %s\n", sentence.get_string().c_str());
    }
  }
  return 0;
}

}  // namespace muster::cli
