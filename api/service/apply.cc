// Use case: `muster apply`, documents of any accepted kinds together. Holds
// SchedulerService::Apply.
//
// Steps, each of which answers before the next begins:
// 1. PlanApply (apply_plan.h) checks every document against the published view. One bad document
//    ends the call and nothing has changed.
// 2. One ApplyCommand commits all configuration objects in one transaction.
// 3. One SubmitCommand commits all new jobs.
// 4. One ReplaceJobCommand for each existing job that changes, one after another.
// The steps are separate transactions because the engine has separate commands for them. If a later
// step fails, the error says which documents have taken effect. With dry_run the commands of steps
// 2 and 4 are sent as dry runs and step 3 is left out.
#include <algorithm>

#include "api/service/actor.h"
#include "api/service/apply_plan.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"

namespace muster::api {
namespace {

using Outcomes = std::vector<DocumentOutcome>;
using SubmitResults = std::vector<Result<SubmittedJob>>;

// Puts the answers to the plan's submissions into its outcomes. `documents[i]` is the document of
// result i; the first task of an array stands for its document. Any refusal makes the whole an
// error that lists all refused documents.
Result<Outcomes> WithJobs(Outcomes outcomes, const std::vector<std::size_t>& documents,
                          Result<SubmitResults> results, bool objects_applied) {
  std::vector<Error> errors;
  if (!results.ok()) {
    Error error = results.error();
    if (objects_applied)
      error.detail += " (the objects of the file were applied, its jobs were not)";
    return error;
  }
  MUSTER_CHECK(results->size() == documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    DocumentOutcome& outcome = outcomes[documents[i]];
    if (!(*results)[i].ok()) {
      errors.push_back(AtDocument(documents[i], (*results)[i].error()));
    } else if (outcome.job == nullptr) {
      outcome.job = (*results)[i]->job;
      outcome.name = outcome.job->name;
    }
  }
  if (errors.empty()) return outcomes;
  Error combined = Combined(std::move(errors));
  if (objects_applied || combined.fields.size() < documents.size()) {
    combined.detail += " (the other documents took effect)";
  }
  return combined;
}

// Sends the plan's replacements from number `next` on, one after another, then answers `done`. The
// first refusal ends the sequence.
void Replace(Engine& engine, const auth::Principal& who, const std::shared_ptr<ApplyPlan>& plan,
             std::size_t next, bool dry_run, const Callback<Outcomes>& done) {
  if (next == plan->replacements.size()) return done(std::move(plan->outcomes));
  ReplaceJobCommand command = std::move(plan->replacements[next]);
  command.actor = ActorOf(who);
  command.dry_run = dry_run;
  const std::size_t document = plan->replacement_documents[next];
  PostCommand<JobPtr>(engine, std::move(command),
                      [&engine, who, plan, next, dry_run, done, document](Result<JobPtr> job) {
    if (!job.ok()) {
      Error error = AtDocument(document, job.error());
      if (plan->outcomes.size() > 1 && !dry_run)
        error.detail += " (documents that do not replace a job took effect)";
      return done(std::move(error));
    }
    plan->outcomes[document].job = *job;
    Replace(engine, who, plan, next + 1, dry_run, done);
  });
}

}  // namespace

void SchedulerService::Apply(const auth::Principal& who, std::string ns,
                             std::vector<json::value> documents, bool dry_run,
                             Callback<Outcomes> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  // One was counted with the request. Each document may cost reads of the store, whatever comes of
  // it, so it counts before it is looked at; the tasks of arrays count when they are known.
  const std::size_t counted = std::max<std::size_t>(documents.size(), 1);
  if (counted > 1) {
    if (const Status rate = TakeRate(who, counted - 1); !rate.ok()) return done(rate.error());
  }
  const ApplyContext context{*(*view)->config,
                             *(*view)->objects,
                             *(*view)->settings,
                             store_,
                             random_,
                             pod_sets_,
                             who,
                             authorizer_,
                             **view,
                             engine_.CalendarNow()};
  Result<ApplyPlan> planned = PlanApply(context, ns, documents);
  if (!planned.ok()) return done(planned.error());
  for (std::size_t i = 0; i < planned->jobs.size(); ++i) {
    const Status parents = CheckDependencies(who, BatchStateOf(*planned->jobs[i].draft));
    if (!parents.ok()) return done(AtDocument(planned->job_documents[i], parents.error()));
  }
  if (planned->jobs.size() > counted) {
    const Status rate = TakeRate(who, planned->jobs.size() - counted);
    if (!rate.ok()) return done(rate.error());
  }
  auto plan = std::make_shared<ApplyPlan>(std::move(*planned));

  // Steps 3 and 4, as the continuation of step 2.
  auto submit = [this, who, plan, dry_run, done](bool objects_applied) {
    if (dry_run || plan->jobs.empty()) return Replace(engine_, who, plan, 0, dry_run, done);
    std::vector<Submission> jobs = std::move(plan->jobs);
    PostSubmissions(who, std::move(jobs),
                    [this, who, plan, done, objects_applied](Result<SubmitResults> results) {
      Result<Outcomes> outcomes = WithJobs(std::move(plan->outcomes), plan->job_documents,
                                           std::move(results), objects_applied);
      if (!outcomes.ok()) return done(outcomes.error());
      plan->outcomes = std::move(*outcomes);
      Replace(engine_, who, plan, 0, false, done);
    });
  };
  // Without objects there is nothing to commit in step 2.
  if (plan->changes.empty()) return submit(false);

  ApplyCommand command;
  command.actor = ActorOf(who);
  command.changes = std::move(plan->changes);
  command.dry_run = dry_run;
  PostCommand<std::vector<AppliedObject>>(
      engine_, std::move(command),
      [plan, submit, done](Result<std::vector<AppliedObject>> applied) {
    if (!applied.ok()) return done(RenumberDocuments(applied.error(), plan->change_documents));
    MUSTER_CHECK(applied->size() == plan->change_documents.size());
    for (std::size_t i = 0; i < applied->size(); ++i) {
      plan->outcomes[plan->change_documents[i]].outcome = (*applied)[i].outcome;
    }
    submit(true);
      });
}

}  // namespace muster::api
