// Handlers that take manifests: one job, a batch of jobs, documents of any kind. A body is JSON or
// YAML; SubmitJob also takes {"script": ...}. All answer after the commit.
//
// An idempotency key belongs to one job, so a batch and an apply take none. Warnings (fields of a
// pod template that Kubernetes does not know) are computed from the manifest here and become the
// member `warnings` of the answer.
#include "api/rest/handlers_submit.h"

#include <algorithm>
#include <utility>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/audit_log.h"
#include "api/service/job_view.h"
#include "api/service/views.h"
#include "schedd/base/limits.h"
#include "schedd/shapes/batch/batch_manifest.h"

namespace muster::rest {
namespace {

// Below /v1 errors are problem+json.
Response ErrorOnV1(const Error& error) { return ErrorResponse(false, error); }

// An empty key is valid and means that there is none.
Status CheckIdempotencyKey(const std::string& key) {
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.size() <= limits::kIdempotencyKeyBytes && printable) return Done{};
  return InvalidField("Idempotency-Key",
                      "must be at most 255 printable ASCII characters without blanks");
}

using Warnings = std::vector<std::string>;

// Adds `"warnings"` as the last member of the JSON object that `out` ends with.
void AppendWarnings(const Warnings& warnings, std::string* out) {
  out->pop_back();
  if (warnings.empty()) {
    *out += ",\"warnings\":[]}";
    return;
  }
  *out += ",\"warnings\":" + WriteJson(json::array(warnings.begin(), warnings.end())) + "}";
}

// The job view. An array is one job.
// Idempotent-Replayed says that an earlier request with the same key made the job.
Response SubmittedResponse(const std::vector<SubmittedJob>& jobs, const Warnings& warnings) {
  const JobRecord& first = *jobs.front().job;
  Response response = JobResponse(first, 201);
  AppendWarnings(warnings, &response.body);
  response.headers.emplace_back("Location", "/v1/jobs/" + std::to_string(first.id.value));
  if (jobs.front().replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
  return response;
}

// Per item a job with its warnings, or a problem.
Response BatchResponse(const std::vector<Result<SubmittedJob>>& jobs,
                       const std::vector<Warnings>& warnings) {
  Response response;
  response.body = "[";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) response.body += ',';
    if (jobs[i].ok()) {
      api::AppendJobView(*jobs[i]->job, &response.body);
      AppendWarnings(warnings[i], &response.body);
    } else {
      response.body += WriteJson(api::ProblemJson(jobs[i].error()));
    }
  }
  response.body += ']';
  return response;
}

// One item per document with its outcome; jobs with their job view.
Response AppliedResponse(const std::vector<api::DocumentOutcome>& outcomes) {
  json::array items;
  for (const api::DocumentOutcome& outcome : outcomes) {
    json::object item{{"kind", outcome.kind},
                      {"namespace", outcome.ns},
                      {"name", outcome.name},
                      {"outcome", ApplyOutcomeName(outcome.outcome)}};
    if (outcome.job != nullptr) item["job"] = api::JobViewJson(*outcome.job);
    item["warnings"] = json::array(outcome.warnings.begin(), outcome.warnings.end());
    items.push_back(std::move(item));
  }
  return JsonResponse(json::object{{"items", std::move(items)}});
}

// The answer to a submission with dryRun: nothing was submitted.
Response EstimateResponse(const api::SubmissionEstimate& estimate) {
  return JsonResponse(json::object{
      {"id", estimate.id.value},
      {"startTime", estimate.start ? FormatRfc3339(*estimate.start) : std::string()},
      {"text", estimate.text},
      {"queue", estimate.queue},
      {"nodeList", estimate.node_list},
      {"cpus", estimate.cpus}});
}

}  // namespace

// A field of the manifest, or an option of a directive (`-d`, `--dependency`, or a beginning of
// it).
bool SubmitMayBlock(const Request& request) {
  if (request.Query("dryRun") != nullptr) return true;
  const std::string_view body = request.body;
  const auto has = [body](std::string_view text) { return body.find(text) != body.npos; };
  return has("dependency") || ((has("#SBATCH") || has("#SLURM")) && has("-d"));
}

void SubmitJob(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const auto refuse = [&respond](const Error& error) {
    respond([error] { return ErrorOnV1(error); });
  };
  if (!TakesMedia(request)) {
    return respond([response = UnsupportedMedia(request)] { return response; });
  }
  const QueryReader query(request);
  if (const Status known = query.Only({"dryRun"}); !known.ok()) return refuse(known.error());
  const Result<bool> dry_run = query.Flag("dryRun");
  if (!dry_run.ok()) return refuse(dry_run.error());
  if (const Status key = CheckIdempotencyKey(request.idempotency_key); !key.ok())
    return refuse(key.error());
  Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return refuse(body.error());
  const bool script = shapes::IsBatchForm(*body);
  Warnings warnings = api.service.JobWarnings(request.params[0], *body);
  api::SubmitRequest submit{request.params[0], std::move(*body), request.idempotency_key};
  if (*dry_run) {
    const Result<api::SubmissionEstimate> estimate =
        api.service.EstimateSubmission(who, std::move(submit));
    if (!estimate.ok()) return refuse(estimate.error());
    return respond([estimate = *estimate] { return EstimateResponse(estimate); });
  }
  // The warnings of a script are empty, since the service makes the manifest.
  if (script) {
    api.service.SubmitAll(who, std::move(submit),
                          [respond](Result<std::vector<SubmittedJob>> jobs) {
      respond([jobs = std::move(jobs)] {
        return jobs.ok() ? SubmittedResponse(*jobs, {}) : ErrorOnV1(jobs.error());
      });
    });
    return;
  }
  api.service.SubmitJob(who, std::move(submit),
                        [respond, warnings = std::move(warnings)](Result<SubmittedJob> job) {
    respond([warnings, job = std::move(job)] {
      return job.ok() ? SubmittedResponse({*job}, warnings) : ErrorOnV1(job.error());
    });
  });
}

void SubmitBatch(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const auto refuse = [&respond](const Error& error) {
    respond([error] { return ErrorOnV1(error); });
  };
  if (!TakesMedia(request)) {
    return respond([response = UnsupportedMedia(request)] { return response; });
  }
  if (const Status query = QueryReader(request).Only({}); !query.ok()) return refuse(query.error());
  if (!request.idempotency_key.empty()) {
    return refuse(
        InvalidField("Idempotency-Key",
                     "a batch has no key of its own: submit its jobs one by one to use keys"));
  }
  Result<std::vector<json::value>> bodies = ReadDocuments(request);
  if (!bodies.ok()) return refuse(bodies.error());
  if (bodies->size() > limits::kBatchJobs) {
    return refuse(InvalidArgument("a batch holds at most " + std::to_string(limits::kBatchJobs) +
                                  " jobs and this one has " + std::to_string(bodies->size())));
  }
  std::vector<Warnings> warnings;  // of each item
  for (const json::value& one : *bodies)
    warnings.push_back(api.service.JobWarnings(request.params[0], one));
  api.service.SubmitBatch(
      who, request.params[0], std::move(*bodies),
      [respond, &audit = api.service.audit(), who, ns = request.params[0],
       warnings = std::move(warnings)](Result<std::vector<Result<SubmittedJob>>> jobs) {
    if (jobs.ok()) api::NoteFailedItems(audit, who, ns, *jobs);
    respond([warnings, jobs = std::move(jobs)] {
      return jobs.ok() ? BatchResponse(*jobs, warnings) : ErrorOnV1(jobs.error());
    });
      });
}

void ApplyDocuments(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const auto refuse = [&respond](const Error& error) {
    respond([error] { return ErrorOnV1(error); });
  };
  if (!TakesMedia(request)) {
    return respond([response = UnsupportedMedia(request)] { return response; });
  }
  const QueryReader query(request);
  if (const Status known = query.Only({"namespace", "dryRun"}); !known.ok())
    return refuse(known.error());
  const Result<bool> dry_run = query.Flag("dryRun");
  if (!dry_run.ok()) return refuse(dry_run.error());
  Result<std::vector<json::value>> documents = ReadDocuments(request);
  if (!documents.ok()) return refuse(documents.error());
  if (documents->size() > limits::kYamlDocuments) {
    return refuse(InvalidArgument("one request applies at most " +
                                  std::to_string(limits::kYamlDocuments) + " documents"));
  }
  std::string ns = query.Text("namespace");
  if (ns.empty()) ns = "default";
  api.service.Apply(who, std::move(ns), std::move(*documents), *dry_run,
                    [respond](Result<std::vector<api::DocumentOutcome>> outcomes) {
    respond([outcomes = std::move(outcomes)] {
      return outcomes.ok() ? AppliedResponse(*outcomes) : ErrorOnV1(outcomes.error());
    });
  });
}

}  // namespace muster::rest
