#include "clients/cli/jobs.h"

#include <algorithm>

#include "schedd/base/ids.h"

namespace muster::cli {
namespace {

bool IsIdentifier(const std::string& text) {
  Uid uid;
  return !text.empty() &&
         (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
          Uid::Parse(text, &uid));
}

}  // namespace

client::Outcome<client::JobView> FindJob(Session& session, const std::string& text) {
  std::string name = text;
  for (const char* prefix : {"job/", "jobs/"}) {
    if (name.starts_with(prefix)) name.erase(0, std::string_view(prefix).size());
  }
  if (IsIdentifier(name)) {
    client::Outcome<json::value> answer = session.api.Get(client::JobPath(name));
    if (!answer.ok()) return answer.failure();
    return client::ParseJobView(std::move(answer).value());
  }
  std::string ns = session.ns();
  const std::size_t slash = name.find('/');
  if (slash != std::string::npos) {
    ns = name.substr(0, slash);
    name = name.substr(slash + 1);
  }
  client::Outcome<std::vector<json::value>> jobs =
      session.api.ListAll("/v1/jobs", client::Query().Add("namespace", ns).Add("limit", "1000"));
  if (!jobs.ok()) return jobs.failure();
  json::value* latest = nullptr;
  for (json::value& job : jobs.value()) {
    const bool named =
        client::PathText(job, "name") == name || client::PathText(job, "displayName") == name;
    if (!named) continue;
    const auto id = [](const json::value& view) {
      return client::MemberNumber(view.get_object(), "id");
    };
    if (latest == nullptr || id(job) > id(*latest)) latest = &job;
  }
  if (latest == nullptr) {
    return client::Failure{client::Failure::Kind::kRefused,
                           404,
                           "no job named \"" + name + "\" in namespace \"" + ns + "\"",
                           {},
                           0};
  }
  return client::ParseJobView(std::move(*latest));
}

std::string EndLine(const client::JobView& job) {
  std::string out = "job " + std::to_string(job.id) + " ";
  if (job.state == "Succeeded") return out + "succeeded";
  if (job.state == "Cancelled") return out + "cancelled";
  if (job.state != "Failed") return out + job.state;
  out += "failed";
  if (job.exit_code) out += ": exit code " + std::to_string(*job.exit_code);
  if (!job.message.empty()) out += (job.exit_code ? ", " : ": ") + job.message;
  return out;
}

int ExitOfEnds(const std::vector<client::JobView>& jobs) {
  int exit = 0;
  for (const client::JobView& job : jobs) {
    if (job.state == "Failed") return 1;
    if (job.state == "Cancelled") exit = 2;
  }
  return exit;
}

}  // namespace muster::cli
