// Use cases: submit one job, an array, a batch. Holds SchedulerService::SubmitJob, SubmitAll,
// SubmitBatch and PostSubmissions.
//
// Each body is validated against the published view before one SubmitCommand carries all jobs of
// the call. In a batch every item has its own answer: items that were refused here are answered
// here, and the engine's results are put into the places of the others.
#include <utility>

#include "api/service/never_fits.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"
#include "api/service/submission.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

using SubmitResults = std::vector<Result<SubmittedJob>>;

// The tasks of one array: all of them in order, or the first refusal.
Result<std::vector<SubmittedJob>> AllOrFirstError(Result<SubmitResults> results) {
  if (!results.ok()) return results.error();
  std::vector<SubmittedJob> out;
  out.reserve(results->size());
  for (Result<SubmittedJob>& result : *results) {
    if (!result.ok()) return result.error();
    out.push_back(std::move(*result));
  }
  if (out.empty()) return Internal("the scheduler gave no answer for the job");
  return out;
}

}  // namespace

void SchedulerService::PostSubmissions(const auth::Principal& who, std::vector<Submission> jobs,
                                       Callback<SubmitResults> done) {
  SubmitCommand command;
  command.actor = {who.user, who.method};
  command.jobs = std::move(jobs);
  PostCommand<SubmitResults>(engine_, std::move(command), std::move(done));
}

void SchedulerService::SubmitAll(const auth::Principal& who, SubmitRequest request,
                                 Callback<std::vector<SubmittedJob>> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  SubmissionBuilder builder(*(*view)->config, *(*view)->settings, random_, pod_sets_, who);
  Result<std::vector<Submission>> jobs =
      builder.Build(request.ns, std::move(request.body), request.idempotency_key);
  if (!jobs.ok()) return done(jobs.error());
  const JobRecord& first = *jobs->front().draft;
  const Status allowed = Allow(who, auth::Verb::kCreate, "jobs", first.ns, first.name);
  if (!allowed.ok()) return done(allowed.error());
  // The tasks of an array have the same pods, so the first stands for all.
  if (const Status fits = RefuseNeverFits(**view, first); !fits.ok()) return done(fits.error());
  PostSubmissions(who, std::move(*jobs), [done = std::move(done)](Result<SubmitResults> results) {
    done(AllOrFirstError(std::move(results)));
  });
}

void SchedulerService::SubmitJob(const auth::Principal& who, SubmitRequest request,
                                 Callback<SubmittedJob> done) {
  SubmitAll(who, std::move(request),
            [done = std::move(done)](Result<std::vector<SubmittedJob>> all) {
    if (!all.ok()) return done(all.error());
    done(std::move(all->front()));
  });
}

void SchedulerService::SubmitBatch(const auth::Principal& who, std::string ns,
                                   std::vector<json::value> bodies, Callback<SubmitResults> done) {
  if (bodies.size() > limits::kBatchJobs) {
    return done(InvalidArgument("a batch holds at most " + std::to_string(limits::kBatchJobs) +
                                " jobs; this one has " + std::to_string(bodies.size())));
  }
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  SubmissionBuilder builder(*(*view)->config, *(*view)->settings, random_, pod_sets_, who);
  SubmitResults answers;
  answers.reserve(bodies.size());
  std::vector<Submission> jobs;
  jobs.reserve(bodies.size());
  std::vector<std::size_t> slots;  // the result of jobs[i] is the answer of item slots[i]
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    Result<std::vector<Submission>> built = builder.Build(ns, std::move(bodies[i]), "");
    if (built.ok() && built->size() != 1) {
      built = InvalidField("array", "an array cannot be an item of a batch; submit it on its own");
    }
    if (built.ok()) {
      const Status allowed = Allow(who, auth::Verb::kCreate, "jobs", built->front().draft->ns,
                                   built->front().draft->name);
      if (!allowed.ok()) built = allowed.error();
    }
    if (built.ok()) {
      const Status fits = RefuseNeverFits(**view, *built->front().draft);
      if (!fits.ok()) built = fits.error();
    }
    if (!built.ok()) {
      answers.emplace_back(built.error());
      continue;
    }
    // A place for the engine's answer.
    answers.emplace_back(SubmittedJob{});
    slots.push_back(i);
    jobs.push_back(std::move(built->front()));
  }
  if (jobs.empty()) return done(std::move(answers));
  PostSubmissions(who, std::move(jobs),
                  [done = std::move(done), answers = std::move(answers),
                   slots = std::move(slots)](Result<SubmitResults> results) mutable {
    if (!results.ok()) return done(results.error());
    MUSTER_CHECK(results->size() == slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      answers[slots[i]] = std::move((*results)[i]);
    }
    done(std::move(answers));
  });
}

}  // namespace muster::api
