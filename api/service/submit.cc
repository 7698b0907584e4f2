// Use cases: submit one job, an array, a batch. Holds SchedulerService::SubmitJob, SubmitAll,
// SubmitBatch, PostSubmissions, TakeRate and JobWarnings.
//
// Each body is validated against the published view before one SubmitCommand carries all jobs of
// the call. In a batch every item has its own answer: items that were refused here are answered
// here, and the engine's results are put into the places of the others.
#include <utility>

#include "api/service/actor.h"
#include "api/service/job_rights.h"
#include "api/service/never_fits.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"
#include "api/service/submission.h"
#include "api/service/tenancy.h"
#include "schedd/base/limits.h"
#include "schedd/shapes/parts/manifest_warnings.h"

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

// Asked before the body is read as a whole, so that the caller learns nothing of the namespace.
// What is no kind of job is left to the reader, which says what is wrong with it.
Status MaySubmit(const auth::Authorizer& authorizer, const auth::Principal& who,
                 const std::optional<NewJobPlace>& place) {
  return place ? MayCreateJob(authorizer, who, *place) : Status(Done{});
}

// The job that was built is one that was asked for, or is asked for now.
Status MaySubmitBuilt(const auth::Authorizer& authorizer, const auth::Principal& who,
                      const std::optional<NewJobPlace>& asked, const JobRecord& built) {
  const NewJobPlace place{built.shape, built.ns};
  return asked == place ? Status(Done{}) : MayCreateJob(authorizer, who, place);
}

}  // namespace

Status SchedulerService::TakeRate(const auth::Principal& who, std::size_t cost) const {
  return limiter_ == nullptr ? Done{} : limiter_->Take(who, static_cast<double>(cost));
}

std::vector<std::string> SchedulerService::JobWarnings(const std::string& ns,
                                                       const json::value& manifest) const {
  std::vector<std::string> warnings = shapes::WarningsOf(manifest).All();
  for (std::string& one : PodSecurityWarnings(*engine_.View()->config, ns, manifest))
    warnings.push_back(std::move(one));
  return warnings;
}

void SchedulerService::PostSubmissions(const auth::Principal& who, std::vector<Submission> jobs,
                                       Callback<SubmitResults> done) {
  SubmitCommand command;
  command.actor = ActorOf(who);
  command.jobs = std::move(jobs);
  PostCommand<SubmitResults>(engine_, std::move(command), std::move(done));
}

void SchedulerService::SubmitAll(const auth::Principal& who, SubmitRequest request,
                                 Callback<std::vector<SubmittedJob>> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const auto asked = NewJobPlaceOf(request.ns, request.body);
  if (const Status may = MaySubmit(authorizer_, who, asked); !may.ok()) return done(may.error());
  SubmissionBuilder builder(*(*view)->config, *(*view)->settings, random_, pod_sets_, who,
                            authorizer_);
  builder.Know((*view)->clusters, engine_.CalendarNow());
  Result<std::vector<Submission>> jobs =
      builder.Build(request.ns, std::move(request.body), request.idempotency_key);
  if (!jobs.ok()) return done(jobs.error());
  const JobRecord& first = *jobs->front().draft;
  const Status may = MaySubmitBuilt(authorizer_, who, asked, first);
  if (!may.ok()) return done(may.error());
  const Status parents = CheckDependencies(who, BatchStateOf(first));
  if (!parents.ok()) return done(parents.error());
  if (jobs->size() > 1) {
    if (const Status rate = TakeRate(who, jobs->size() - 1); !rate.ok()) return done(rate.error());
  }
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
  SubmissionBuilder builder(*(*view)->config, *(*view)->settings, random_, pod_sets_, who,
                            authorizer_);
  builder.Know((*view)->clusters, engine_.CalendarNow());
  // One was counted with the request.
  if (bodies.size() > 1) {
    if (const Status rate = TakeRate(who, bodies.size() - 1); !rate.ok()) return done(rate.error());
  }
  SubmitResults answers;
  answers.reserve(bodies.size());
  std::vector<Submission> jobs;
  jobs.reserve(bodies.size());
  std::vector<std::size_t> slots;  // the result of jobs[i] is the answer of item slots[i]
  // Where the last item was allowed: most batches are of one kind and namespace.
  std::optional<NewJobPlace> allowed;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const auto asked = NewJobPlaceOf(ns, bodies[i]);
    if (asked != allowed) {
      if (const Status may = MaySubmit(authorizer_, who, asked); !may.ok()) {
        answers.emplace_back(may.error());
        continue;
      }
      allowed = asked;
    }
    Result<std::vector<Submission>> built = builder.Build(ns, std::move(bodies[i]), "");
    if (built.ok()) {
      const Status may = MaySubmitBuilt(authorizer_, who, asked, *built->front().draft);
      if (!may.ok()) built = may.error();
    }
    if (built.ok()) {
      const Status parents = CheckDependencies(who, BatchStateOf(*built->front().draft));
      if (!parents.ok()) built = parents.error();
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
