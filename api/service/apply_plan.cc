// Plans a `muster apply` on a copy of the configuration.
//
// Planner goes over the documents twice. The first pass parses the configuration objects, asks the
// authorizer and applies each object to the copy, so that objects may refer to each other in any
// order; whether their namespaces exist is judged after the pass for the same reason. The second
// pass builds the jobs against the finished copy, so that a file may hold a LocalQueue and a job
// for it. Errors are collected: the caller gets all bad documents at once.
#include "api/service/apply_plan.h"

#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "api/service/config_warnings.h"
#include "api/service/job_rights.h"
#include "api/service/never_fits.h"
#include "api/service/object_rights.h"
#include "api/service/replace_job.h"
#include "api/service/resource_refs.h"
#include "api/service/submission.h"
#include "api/service/tenancy.h"
#include "schedd/base/limits.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/parts/manifest_warnings.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// The state of one PlanApply call.
class Planner {
 public:
  Planner(const ApplyContext& context, const std::string& ns,
          const std::vector<json::value>& documents)
      : context_(context),
        ns_(ns.empty() ? "default" : ns),
        documents_(documents),
        config_(context.config) {
    plan_.outcomes.resize(documents.size());
  }

  Result<ApplyPlan> Run() {
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      if (IsJob(i)) continue;
      const Status status = PlanObject(i);
      if (!status.ok()) errors_.push_back(AtDocument(i, status.error()));
    }
    for (std::size_t c = 0; c < plan_.changes.size(); ++c) {
      const Status status = NamespaceExists(config_, plan_.changes[c]);
      if (!status.ok()) errors_.push_back(AtDocument(plan_.change_documents[c], status.error()));
    }
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      if (!IsJob(i)) continue;
      const Status status = PlanJob(i);
      if (!status.ok()) errors_.push_back(AtDocument(i, status.error()));
      // The documents after it would only be built to be refused.
      if (too_many_) break;
    }
    const Status granted = JudgeGrants(context_.authorizer, context_.who, context_.config, config_,
                                       plan_.changes, context_.now);
    if (!granted.ok())
      errors_.push_back(RenumberDocuments(granted.error(), plan_.change_documents));
    const Status quotas = JudgeQuotas(context_.authorizer, context_.who, context_.config, config_,
                                      context_.objects, &plan_.changes);
    if (!quotas.ok()) errors_.push_back(quotas.error());
    if (!errors_.empty()) return Combined(std::move(errors_));
    for (std::size_t c = 0; c < plan_.changes.size(); ++c) {
      const ObjectChange& change = plan_.changes[c];
      plan_.outcomes[plan_.change_documents[c]].warnings =
          ConfigWarnings(config_, change.kind, change.name);
    }
    return std::move(plan_);
  }

 private:
  // Asks, and notes a refusal: the document makes a job, or might and is not looked at further.
  Status MayCreate(const NewJobPlace& place) const {
    return MayCreateJob(context_.authorizer, context_.who, place);
  }

  // True if a job of this name ("" for none) may be the caller's to make or to update; asked before
  // one is looked up, and without a note in the audit trail.
  bool MayPutJob(const NewJobPlace& place, const std::string& name) const {
    if (context_.authorizer.Allows(context_.who, auth::Verb::kCreate,
                                   RefOf(place.shape, place.ns, "")))
      return true;
    if (name.empty()) return false;
    for (const std::string_view subresource : {std::string_view(), kOwnSubresource}) {
      if (context_.authorizer.Allows(context_.who, auth::Verb::kUpdate,
                                     RefOf(place.shape, place.ns, name, subresource)))
        return true;
    }
    return false;
  }

  // The answer about a job that has the document's name and is not the caller's to update. Of a job
  // that it may not see, it learns that the name is taken, as Kubernetes' create would tell it, and
  // without the right to create it learns nothing.
  Error NotToUpdate(const JobRecord& job, const Status& refused) const {
    if (SeesJob(context_.authorizer, context_.who, job)) return refused.error();
    const Status create = MayCreate({job.shape, job.ns});
    if (!create.ok()) return create.error();
    return AlreadyExists(std::string(ShapeKindName(job.shape)) + " \"" + job.name +
                         "\" exists in namespace \"" + job.ns + "\"");
  }

  // A document that is neither a known configuration kind nor a job is taken as an object, whose
  // parser then refuses its kind.
  bool IsJob(std::size_t i) const {
    return !shapes::IsConfigObject(documents_[i]) &&
           (shapes::IsJobShape(documents_[i]) || shapes::IsBatchForm(documents_[i]));
  }

  // Appends the change for configuration document `i` to the plan and applies it to `config_`.
  Status PlanObject(std::size_t i) {
    if (!documents_[i].is_object()) return InvalidArgument("a document is one object");
    const json::string* kind = FindText(documents_[i], "kind");
    // The namespace must be filled in before the parser checks it; an unknown kind is left to the
    // parser.
    const shapes::KindInfo* named = kind == nullptr ? nullptr : FindKindByName(*kind);
    const Result<shapes::ParsedObject> parsed = shapes::ParseObject(
        named == nullptr ? documents_[i] : WithNamespace(documents_[i], named->kind, ns_));
    if (!parsed.ok()) return parsed.error();
    const shapes::KindInfo& info = shapes::InfoOf(parsed->kind);
    const Result<PutFence> fence = MayPut(context_.authorizer, context_.who, context_.objects,
                                          parsed->kind, parsed->ns, parsed->name);
    if (!fence.ok()) return fence.error();
    // A file may not take the place of a member that a flag declares.
    if (parsed->kind == ObjectKind::kMemberCluster) {
      const Status free = MayReplaceMember(context_.objects, parsed->name);
      if (!free.ok()) return free;
    }
    Result<ObjectChange> change = ChangeOf(&config_, *parsed);
    if (!change.ok()) return change.error();
    SetFence(*fence, &*change);
    DocumentOutcome& outcome = plan_.outcomes[i];
    outcome.kind = info.name;
    outcome.ns = parsed->ns;
    outcome.name = parsed->name;
    plan_.changes.push_back(std::move(*change));
    plan_.change_documents.push_back(i);
    return Done{};
  }

  // Appends to the plan what job document `i` needs: submissions, a replacement, or nothing if an
  // equal job exists.
  Status PlanJob(std::size_t i) {
    const auto place = NewJobPlaceOf(ns_, documents_[i]);
    const std::string name = TextAt(documents_[i], {"metadata", "name"});
    if (place && !MayPutJob(*place, name)) return MayCreate(*place);
    Result<shapes::ParsedJob> parsed = ParseBody(documents_[i], ns_);
    if (!parsed.ok()) return parsed.error();
    const std::string ns = parsed->ns.empty() ? ns_ : parsed->ns;
    const NewJobPlace wanted{parsed->shape, ns};
    if ((!place || *place != wanted) && !MayPutJob(wanted, parsed->name)) return MayCreate(wanted);
    DocumentOutcome& outcome = plan_.outcomes[i];
    outcome.kind = std::string(ShapeKindName(parsed->shape));
    outcome.ns = ns;
    outcome.name = parsed->name;
    outcome.outcome = ApplyOutcome::kCreated;
    outcome.warnings = shapes::WarningsOf(documents_[i]).All();
    for (std::string& one : PodSecurityWarnings(config_, ns, documents_[i]))
      outcome.warnings.push_back(std::move(one));
    if (!parsed->name.empty()) {
      // Two documents of one file must not submit jobs of one name.
      const auto [at, fresh] = names_.try_emplace({parsed->shape, ns, parsed->name}, i);
      if (!fresh) {
        return InvalidField("metadata.name", "documents[" + std::to_string(at->second) +
                                                 "] submits a job of this name");
      }
      const Result<bool> exists = Existing(*parsed, ns, i);
      if (!exists.ok()) return exists.error();
      if (*exists) return Done{};
    }
    const Status create = MayCreate(wanted);
    if (!create.ok()) return create;
    SubmissionBuilder builder(config_, context_.settings, context_.random, context_.pod_sets,
                              context_.who, context_.authorizer);
    builder.Know(context_.view.clusters, context_.now);
    Result<std::vector<Submission>> built = builder.BuildParsed(ns, std::move(*parsed));
    if (!built.ok()) return built.error();
    const Status fits = RefuseNeverFits(context_.view, *built->front().draft);
    if (!fits.ok()) return fits;
    outcome.name = built->front().draft->name;
    return AddJobs(i, std::move(*built));
  }

  // Appends the jobs of document `i` to the plan, within what one request may submit. The tasks of
  // an array have equal manifests.
  Status AddJobs(std::size_t i, std::vector<Submission> built) {
    bytes_ += built.size() * built.front().manifest.size();
    too_many_ = plan_.jobs.size() + built.size() > limits::kBatchJobs || bytes_ > kArrayBytes;
    if (too_many_) {
      return InvalidArgument("one request applies at most " + std::to_string(limits::kBatchJobs) +
                             " jobs and tasks of arrays together, with manifests of at most " +
                             std::to_string(kArrayBytes) + " bytes together; divide the file");
    }
    for (Submission& submission : built) {
      plan_.jobs.push_back(std::move(submission));
      plan_.job_documents.push_back(i);
    }
    return Done{};
  }

  // Looks for a job of the document's shape and name in the store. False if there is none: the
  // document submits a new job. True if the existing job equals the document or can become it; a
  // replacement is planned in the second case. An error if the difference cannot be applied to an
  // existing job.
  Result<bool> Existing(const shapes::ParsedJob& parsed, const std::string& ns, std::size_t i) {
    const Result<JobId> id = context_.store.FindJob(ns, parsed.shape, parsed.name);
    if (!id.ok()) {
      if (id.error().code == Code::kNotFound) return false;
      return id.error();
    }
    const Result<JobPtr> job = context_.store.ReadJob(*id);
    if (!job.ok()) return job.error();
    const Status update = MayJob(context_.authorizer, context_.who, auth::Verb::kUpdate, **job);
    if (!update.ok()) return NotToUpdate(**job, update);
    Result<ReplaceJobCommand> command = PlanReplacement(context_.store, **job, parsed);
    // A difference in anything immutable: the user has to choose another name.
    if (!command.ok() && command.error().code == Code::kInvalidArgument) {
      return AlreadyExists(
          std::string(ShapeKindName(parsed.shape)) + " \"" + parsed.name +
          "\" exists in namespace \"" + ns +
          "\" with another spec, and a job's spec is immutable: " + command.error().detail);
    }
    if (!command.ok()) return command.error();
    DocumentOutcome& outcome = plan_.outcomes[i];
    outcome.job = *job;
    outcome.outcome = IsEmpty(*command) ? ApplyOutcome::kUnchanged : ApplyOutcome::kConfigured;
    if (IsEmpty(*command)) return true;
    plan_.replacements.push_back(std::move(*command));
    plan_.replacement_documents.push_back(i);
    return true;
  }

  const ApplyContext& context_;
  const std::string ns_;
  const std::vector<json::value>& documents_;
  // The configuration as it would be after all objects that were planned so far.
  ConfigView config_;
  ApplyPlan plan_;
  std::vector<Error> errors_;
  // Bytes of the manifests of all new jobs, and whether they are more than one request may submit.
  std::size_t bytes_ = 0;
  bool too_many_ = false;
  // The document that submits a job of this shape, namespace and name.
  std::map<std::tuple<ShapeKind, std::string, std::string>, std::size_t> names_;
};

}  // namespace

Result<ApplyPlan> PlanApply(const ApplyContext& context, const std::string& ns,
                            const std::vector<json::value>& documents) {
  if (documents.size() > limits::kYamlDocuments) {
    return InvalidArgument("at most " + std::to_string(limits::kYamlDocuments) +
                           " documents are applied together; these are " +
                           std::to_string(documents.size()));
  }
  return Planner(context, ns, documents).Run();
}

// Rewrites the index in each field's path and in the detail, which begins with the first of them.
Error RenumberDocuments(Error error, const std::vector<std::size_t>& change_documents) {
  static constexpr std::string_view kPrefix = "documents[";
  for (FieldError& field : error.fields) {
    if (!field.field.starts_with(kPrefix)) continue;
    const char* begin = field.field.data() + kPrefix.size();
    const char* end = field.field.data() + field.field.size();
    std::size_t index = 0;
    const auto parsed = std::from_chars(begin, end, index);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ']') continue;
    if (index >= change_documents.size()) continue;
    const std::string before = std::string(kPrefix) + std::to_string(index) + "]";
    const std::string after = std::string(kPrefix) + std::to_string(change_documents[index]) + "]";
    field.field = after + std::string(parsed.ptr + 1, end);
    if (error.detail.starts_with(before)) error.detail = after + error.detail.substr(before.size());
    if (!error.detail.starts_with(kPrefix)) error.detail = after + ": " + error.detail;
  }
  return error;
}

}  // namespace muster::api
