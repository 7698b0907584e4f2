// Use case: `muster apply`, any accepted kinds together; one bad document changes nothing.
#include "api/service/apply_plan.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"

namespace muster::api {
namespace {

using Outcomes = std::vector<DocumentOutcome>;
using SubmitResults = std::vector<Result<Submitted>>;

/// Folds the answers to a plan's jobs into its outcomes; an array's first task stands for the
/// document.
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

/// Replaces the plan's jobs one after another, then answers; the first refusal ends it.
void Replace(Engine& engine, const auth::Principal& who, const std::shared_ptr<ApplyPlan>& plan,
             std::size_t next, bool dry_run, const Callback<Outcomes>& done) {
  if (next == plan->replacements.size()) return done(std::move(plan->outcomes));
  ReplaceJobCommand command = std::move(plan->replacements[next]);
  command.actor = {who.user, who.method};
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
  const ApplyContext context{*(*view)->config,
                             *(*view)->objects,
                             *(*view)->settings,
                             store_,
                             random_,
                             pod_sets_,
                             who,
                             authorizer_,
                             **view};
  Result<ApplyPlan> planned = PlanApply(context, ns, documents);
  if (!planned.ok()) return done(planned.error());
  auto plan = std::make_shared<ApplyPlan>(std::move(*planned));

  auto submit = [this, who, plan, dry_run, done](bool objects_applied) {
    if (dry_run || plan->jobs.empty()) return Replace(engine_, who, plan, 0, dry_run, done);
    std::vector<Submission> jobs = std::move(plan->jobs);
    PostSubmissions(who, std::move(jobs),
                    [this, who, plan, done, objects_applied](Result<SubmitResults> results) {
                      Result<Outcomes> outcomes =
                          WithJobs(std::move(plan->outcomes), plan->job_documents,
                                   std::move(results), objects_applied);
                      if (!outcomes.ok()) return done(outcomes.error());
                      plan->outcomes = std::move(*outcomes);
                      Replace(engine_, who, plan, 0, false, done);
                    });
  };
  if (plan->changes.empty()) return submit(false);

  ApplyCommand command;
  command.actor = {who.user, who.method};
  command.changes = std::move(plan->changes);
  command.dry_run = dry_run;
  PostCommand<std::vector<ObjectApplied>>(
      engine_, std::move(command),
      [plan, submit, done](Result<std::vector<ObjectApplied>> applied) {
        if (!applied.ok()) return done(RenumberDocuments(applied.error(), plan->change_documents));
        MUSTER_CHECK(applied->size() == plan->change_documents.size());
        for (std::size_t i = 0; i < applied->size(); ++i) {
          plan->outcomes[plan->change_documents[i]].outcome = (*applied)[i].outcome;
        }
        submit(true);
      });
}

}  // namespace muster::api
