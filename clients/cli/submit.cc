// muster submit and muster wait.
//
// `submit` takes one batch script (a file that begins with #!) or the documents of a manifest file,
// and posts them one after the other, each with an idempotency key of its own; the first refusal
// ends the command, and the jobs before it stay submitted. `wait` and `submit --wait` follow the
// event stream (clients/lib/job_wait.h) until the condition holds for every job; a job that has
// ended satisfies every wait for a state, since it will not change any more.
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "clients/cli/commands.h"
#include "clients/cli/documents.h"
#include "clients/cli/durations.h"
#include "clients/cli/jobs.h"
#include "clients/lib/idempotency_key.h"
#include "clients/lib/job_wait.h"
#include "schedd/text/duration.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";

// The monotonic deadline of a --timeout: 0 for none, -1 after an error message. The added
// millisecond keeps a timeout of 0 different from none.
std::int64_t DeadlineOf(const std::string& timeout) {
  if (timeout.empty()) return 0;
  const auto ms = ParseDurationMs(timeout);
  if (!ms) {
    PrintError("\"" + timeout + "\" is not a duration such as 90s, 5m or 1h30m");
    return -1;
  }
  return client::NowMs() + *ms + 1;
}

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string CurrentDir() {
  char path[4096];
  return ::getcwd(path, sizeof(path)) == nullptr ? "/" : path;
}

// Writes the queue of --queue into the manifest's queue label.
void SetQueue(const std::string& queue, json::value* manifest) {
  if (queue.empty() || !manifest->is_object()) return;
  json::value& metadata = manifest->get_object()["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (!metadata.is_object()) return;
  json::value& labels = metadata.get_object()["labels"];
  if (labels.is_null()) labels = json::object();
  if (labels.is_object()) labels.get_object()[kQueueLabel] = queue;
}

// The request bodies to submit: one script, or the documents of a manifest file. Standard input is
// always a manifest.
client::Outcome<std::vector<Document>> ReadSubmissions(const SubmitOptions& options) {
  client::Outcome<std::string> text =
      options.file == "-" ? client::Outcome<std::string>(std::string()) : ReadText(options.file);
  if (!text.ok()) return text.failure();
  if (options.file != "-" && text->starts_with("#!")) {
    json::object script{
        {"script", *text}, {"name", BaseName(options.file)}, {"workDir", CurrentDir()}};
    if (!options.queue.empty()) script["queue"] = options.queue;
    return std::vector<Document>{{options.file, std::move(script)}};
  }
  client::Outcome<std::vector<Document>> documents = ReadDocuments({options.file});
  if (documents.ok()) {
    for (Document& document : documents.value()) SetQueue(options.queue, &document.value);
  }
  return documents;
}

// Puts the document's place in front of a refusal. If the refusal names fields, their lines say
// what is wrong, and the sentence is only "refused".
client::Failure OfSource(client::Failure failure, const std::string& source) {
  if (failure.kind != client::Failure::Kind::kRefused) return failure;
  if (failure.fields.empty()) {
    failure.detail = source + ": " + failure.detail;
    return failure;
  }
  for (FieldError& error : failure.fields)
    error.field = source + (error.field.empty() ? "" : ": " + error.field);
  failure.detail = "refused";
  return failure;
}

// The ids of the submitted jobs: an array job is answered as a list, any other as one view.
void TakeIds(const json::value& answer, std::vector<std::int64_t>* ids) {
  if (const json::array* items = FindArray(answer, "items")) {
    for (const json::value& item : *items) TakeIds(item, ids);
  } else if (answer.is_object()) {
    ids->push_back(client::MemberNumber(answer.get_object(), "id"));
  }
}

// Waits for all jobs and gives their views in the order of `ids`. Returns 0, the exit status of the
// failure, or 124 when the user's deadline has passed.
int WaitAll(Session& session, const std::vector<std::int64_t>& ids, std::int64_t deadline,
            const client::JobCondition& condition, std::vector<client::JobView>* views) {
  client::Outcome<std::vector<client::JobView>> jobs =
      client::WaitForJobs(session.api, ids, deadline, condition);
  if (jobs.ok()) return *views = std::move(jobs).value(), 0;
  if (jobs.failure().kind == client::Failure::Kind::kTimedOut && deadline != 0 &&
      client::NowMs() >= deadline) {
    PrintError("timed out; the job goes on");
    return kTimedOut;
  }
  return PrintFailure(jobs.failure());
}

// The condition that the text of --for means; null if the text is unknown. A state holds for ended
// jobs too: an ended job never reaches the state.
client::JobCondition ConditionOf(const std::string& text) {
  if (text == "finished") return [](const client::JobView& job) { return job.ended(); };
  if (text == "started") {
    return [](const client::JobView& job) { return job.state == "Running" || job.ended(); };
  }
  if (text.starts_with("condition=")) {
    std::string type = text.substr(10);
    std::string status = "True";
    const std::size_t equals = type.find('=');
    if (equals != std::string::npos) {
      status = type.substr(equals + 1);
      type.resize(equals);
    }
    return [type, status](const client::JobView& job) {
      for (const json::value& condition : ArrayOrEmpty(job.all, "conditions")) {
        if (::strcasecmp(client::PathText(condition, "type").c_str(), type.c_str()) == 0) {
          return ::strcasecmp(client::PathText(condition, "status").c_str(), status.c_str()) == 0;
        }
      }
      return false;
    };
  }
  for (const char* state :
       {"Held", "Pending", "Admitted", "Running", "Succeeded", "Failed", "Cancelled"}) {
    if (::strcasecmp(text.c_str(), state) != 0) continue;
    const std::string wanted = state;
    return [wanted](const client::JobView& job) { return job.state == wanted || job.ended(); };
  }
  return nullptr;
}

}  // namespace

int Submit(Session& session, const SubmitOptions& options) {
  const std::int64_t deadline = DeadlineOf(options.wait_timeout);
  if (deadline < 0) return kBadUsage;
  client::Outcome<std::vector<Document>> documents = ReadSubmissions(options);
  if (!documents.ok()) return PrintFailure(documents.failure());
  std::vector<std::int64_t> ids;
  for (const Document& document : *documents) {
    std::string ns = client::PathText(document.value, "metadata.namespace");
    if (ns.empty()) ns = session.ns();
    const std::string target = "/v1/namespaces/" + client::PercentEncode(ns) + "/jobs";
    const client::Outcome<json::value> answer = session.api.Send(
        {"POST", target, json::serialize(document.value), client::NewIdempotencyKey()});
    if (!answer.ok()) return PrintFailure(OfSource(answer.failure(), document.source));
    PrintWarnings(*answer);
    const std::size_t before = ids.size();
    TakeIds(*answer, &ids);
    for (std::size_t i = before; i < ids.size(); ++i)
      std::printf("job %lld submitted\n", static_cast<long long>(ids[i]));
    // The next document may be refused: by then the jobs before it must be on the output.
    std::fflush(stdout);
  }
  if (!options.wait) return 0;
  std::fflush(stdout);
  std::vector<client::JobView> views;
  const auto ended = [](const client::JobView& job) { return job.ended(); };
  const int status = WaitAll(session, ids, deadline, ended, &views);
  if (status != 0) return status;
  for (const client::JobView& view : views) std::printf("%s\n", EndLine(view).c_str());
  return ExitOfEnds(views);
}

// Only `--for finished` turns the ends of jobs into the exit status; any other condition that came
// true is 0.
int Wait(Session& session, const WaitOptions& options) {
  const std::int64_t deadline = DeadlineOf(options.timeout);
  if (deadline < 0) return kBadUsage;
  const client::JobCondition condition = ConditionOf(options.condition);
  if (condition == nullptr) {
    PrintError("--for takes started, finished, a job state or condition=TYPE, not \"" +
               options.condition + "\"");
    return kBadUsage;
  }
  std::vector<std::int64_t> ids;
  for (const std::string& text : options.jobs) {
    const client::Outcome<client::JobView> job = FindJob(session, text, JobUse::kRead);
    if (!job.ok()) return PrintFailure(job.failure());
    ids.push_back(job->id);
  }
  std::vector<client::JobView> views;
  const int status = WaitAll(session, ids, deadline, condition, &views);
  if (status != 0) return status;
  for (const client::JobView& view : views) std::printf("%s\n", EndLine(view).c_str());
  const bool all_ended = std::all_of(views.begin(), views.end(),
                                     [](const client::JobView& job) { return job.ended(); });
  return options.condition == "finished" && all_ended ? ExitOfEnds(views) : 0;
}

}  // namespace muster::cli
