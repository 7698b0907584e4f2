// Finds the job that a user means.
//
// A number or a uid is asked for directly. Any other text is a name, which several jobs may share
// over time: the jobs of that name are listed, split into live and ended ones, and the single live
// one is the answer. Without a live one the newest ended job is shown, but never changed; with
// several the failure lists them, so that the user can choose a number.
#include "clients/cli/jobs.h"

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "schedd/base/ids.h"

namespace muster::cli {
namespace {

// How many jobs of the same name a failure lists.
constexpr std::size_t kListedNamesakes = 10;

// True for a job number or a uid. An object whose name is only digits is reachable as
// NAMESPACE/NAME.
bool IsIdentifier(const std::string& text) {
  Uid uid;
  return !text.empty() &&
         (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
          Uid::Parse(text, &uid));
}

client::Failure Refused(int status, std::string detail) {
  return {client::Failure::Kind::kRefused, status, std::move(detail), {}, 0};
}

// One line per job, as if it were a wrong field, so that PrintFailure lays them out below the
// sentence.
client::Failure SeveralJobs(const std::string& ns, const std::string& name,
                            const std::vector<client::JobView>& jobs) {
  client::Failure out = Refused(409, "\"" + name + "\" names " + std::to_string(jobs.size()) +
                                         " jobs in namespace \"" + ns + "\": use a number");
  for (const client::JobView& job : jobs) {
    if (out.fields.size() == kListedNamesakes) {
      out.fields.push_back({"and", std::to_string(jobs.size() - kListedNamesakes) + " more"});
      break;
    }
    out.fields.push_back(
        {"job " + std::to_string(job.id),
         job.kind + ", " + job.state + ", submitted " + client::MemberText(job.all, "submitTime")});
  }
  return out;
}

}  // namespace

client::Outcome<client::JobView> FindJob(Session& session, const std::string& text, JobUse use) {
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
  client::Outcome<std::vector<json::value>> jobs = session.api.ListAll(
      "/v1/jobs", client::Query().Add("namespace", ns).Add("name", name).Add("limit", "1000"));
  if (!jobs.ok()) return jobs.failure();
  std::vector<client::JobView> live, ended;
  for (json::value& job : jobs.value()) {
    client::Outcome<client::JobView> view = client::ParseJobView(std::move(job));
    if (!view.ok()) return view.failure();
    std::vector<client::JobView>& of_kind = view->ended() ? ended : live;
    of_kind.push_back(std::move(view).value());
  }
  std::vector<client::JobView>& found = live.empty() ? ended : live;
  if (found.empty())
    return Refused(404, "no job named \"" + name + "\" in namespace \"" + ns + "\"");
  const auto newer = [](const client::JobView& a, const client::JobView& b) { return a.id > b.id; };
  std::sort(found.begin(), found.end(), newer);
  if (found.size() > 1) {
    if (!live.empty() || use == JobUse::kChange) return SeveralJobs(ns, name, found);
    std::fprintf(stderr, "muster: %zu ended jobs are named \"%s\": this is the newest, job %lld\n",
                 found.size(), client::VisibleText(name).c_str(),
                 static_cast<long long>(found.front().id));
  }
  return std::move(found.front());
}

std::string EndLine(const client::JobView& job) {
  std::string out = "job " + std::to_string(job.id) + " ";
  if (job.state == "Succeeded") return out + "succeeded";
  if (job.state == "Cancelled") return out + "cancelled";
  if (job.state != "Failed") return out + job.state;
  out += "failed";
  if (job.exit_code) out += ": exit code " + std::to_string(*job.exit_code);
  if (!job.message.empty()) out += (job.exit_code ? ", " : ": ") + client::VisibleText(job.message);
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
