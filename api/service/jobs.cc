// Use cases that read and steer one job: find it, change its state, its events, attempts and
// manifest. Holds these methods of SchedulerService.
//
// A job is named by its number, by its uid, as ARRAY_INDEX, or by NAMESPACE/NAME. A name means the
// one job of that name that has not ended, else the only ended one; for a batch script --job-name
// counts as well. If several jobs qualify, the answer is 409 with their numbers. Jobs that have
// left memory are read from the store (blocking).
//
// A job that the caller may not see is answered as one that does not exist, with the same words
// and, for these three forms, the same reads of the store, so that neither the answer nor its time
// tells them apart (rule U21). A name counts only jobs that the caller may see, and nothing is
// looked up in a namespace in which it sees none. On Kubernetes paths nothing is looked up without
// the right; for who has it to RESOURCE/own alone, a job of others that has left memory costs one
// read more than none.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "api/service/actor.h"
#include "api/service/job_rights.h"
#include "api/service/operators.h"
#include "api/service/post_command.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "api/service/workload_name.h"
#include "schedd/base/limits.h"
#include "schedd/shapes/kinds/job_change.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Jobs that a refusal of an ambiguous name lists.
constexpr std::size_t kListedNamesakes = 10;

// Events of one job in an answer: far more than its attempts can make.
constexpr std::size_t kJobEvents = 10'000;

// The longest name that an object may have; a Workload's name of this length may be cut.
constexpr std::size_t kCutNameBytes = 253;

// No job has this number.
constexpr JobId kNoJob{std::numeric_limits<std::int64_t>::max()};

Error NoSuchJob(const std::string& id) { return NotFound("job \"" + id + "\" does not exist"); }

bool IsNamed(const JobRecord& job, const std::string& ns, const std::string& name) {
  return job.ns == ns && (job.name == name || job.display_name == name);
}

// The refusal of a name that several jobs have. It lists them, the newest first.
Error SeveralJobs(const std::string& ns, const std::string& name, const std::vector<JobPtr>& jobs) {
  std::string list;
  std::size_t listed = 0;
  for (auto job = jobs.rbegin(); job != jobs.rend() && listed < kListedNamesakes; ++job, ++listed) {
    list += (listed == 0 ? "" : "; ") + std::to_string((*job)->id.value) + " (" +
            std::string(ShapeKindName((*job)->shape)) + ", " +
            std::string(JobStateName((*job)->state)) + ", submitted " +
            FormatRfc3339((*job)->submit_time) + ")";
  }
  if (jobs.size() > listed) list += "; and " + std::to_string(jobs.size() - listed) + " more";
  return Error{Code::kFailedPrecondition, "\"" + name + "\" names " + std::to_string(jobs.size()) +
                                              " jobs in namespace \"" + ns +
                                              "\", use a number: " + list};
}

// The permission that a change needs.
auth::Verb VerbOf(JobVerb verb) {
  return verb == JobVerb::kCancel || verb == JobVerb::kDelete ? auth::Verb::kDelete
                                                              : auth::Verb::kUpdate;
}

// What of a verb only operators may do; null: nothing.
const char* LeftToOperators(JobVerb verb, const VerbOptions& options) {
  if (verb == JobVerb::kSuspend) return "suspend jobs";
  if (verb == JobVerb::kResume) return "resume jobs";
  return verb == JobVerb::kHold && options.by_admin
             ? "hold a job so that its user cannot release it"
             : nullptr;
}

// A batch script gets its name from the engine, after its manifest was written.
void SetName(const JobRecord& job, json::value* manifest) {
  if (!manifest->is_object()) return;
  MakeObjectAt(manifest->get_object(), "metadata")["name"] = job.name;
}

}  // namespace

Result<JobPtr> SchedulerService::FindJobById(JobId id) const {
  // A job in memory needs no read of the store.
  if (JobPtr live = engine_.View()->jobs.Find(id)) return live;
  Result<JobPtr> stored = store_.ReadJob(id);
  if (!stored.ok() && stored.error().code == Code::kNotFound)
    return NoSuchJob(std::to_string(id.value));
  return stored;
}

Result<JobPtr> SchedulerService::FindJobByName(const std::string& ns, const std::string& name,
                                               const JobTest& seen) const {
  std::vector<JobPtr> live, ended;
  const WorldViewPtr view = engine_.View();
  view->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (IsNamed(*job, ns, name) && !IsTerminal(job->state) && seen(*job)) live.push_back(job);
    return true;
  });
  // The store also has jobs that were committed after this view was published.
  if (live.empty()) {
    JobQuery query;
    query.ns = ns;
    query.name = name;
    const Result<std::vector<JobPtr>> stored = store_.ReadJobs(query);
    if (!stored.ok()) return stored.error();
    for (const JobPtr& row : *stored) {
      const JobPtr known = view->jobs.Find(row->id);
      const JobPtr& job = known != nullptr ? known : row;
      if (!seen(*job)) continue;
      (IsTerminal(job->state) ? ended : live).push_back(job);
    }
  }
  const std::vector<JobPtr>& found = live.empty() ? ended : live;
  if (found.empty()) return NoSuchJob(ns + "/" + name);
  if (found.size() > 1) return SeveralJobs(ns, name, found);
  return FindJobById(found.front()->id);
}

Result<JobPtr> SchedulerService::FindJob(const std::string& id, const JobTest& seen) const {
  // A number, then tasks of an array, then a uid, then NAMESPACE/NAME: the first form that the text
  // has.
  std::int64_t number = 0;
  const char* end = id.data() + id.size();
  const auto parsed = std::from_chars(id.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number > 0)
    return FindJobById(JobId{number});
  if (const auto tasks = ParseTaskIds(id)) return FindTask(id, *tasks, seen);
  Uid uid;
  if (Uid::Parse(id, &uid)) {
    const Result<JobId> found = store_.FindJob(uid);
    if (found.ok()) return FindJobById(*found);
    if (found.error().code != Code::kNotFound) return found.error();
    return FindJobById(kNoJob);  // the read that a job that exists costs
  }
  const std::size_t slash = id.find('/');
  if (slash != std::string::npos && slash > 0 && slash + 1 < id.size()) {
    return FindJobByName(id.substr(0, slash), id.substr(slash + 1), seen);
  }
  return NoSuchJob(id);
}

Result<JobPtr> SchedulerService::JobFor(const auth::Principal& who, const std::string& id,
                                        auth::Verb verb, std::string_view subresource) const {
  // The namespace is known without a look-up if the id is NAMESPACE/NAME.
  const std::size_t slash = id.find('/');
  const bool named = slash != std::string::npos;
  if (named) {
    const std::string ns = id.substr(0, slash), name = id.substr(slash + 1);
    if (!MaySeeIn(authorizer_, who, ns, name)) {
      // Asked once more for the row in the audit trail; the kind of job is not known.
      (void)authorizer_.Authorize(who, auth::Verb::kGet, RefOf(ShapeKind::kJob, ns, name));
      return NoSuchJob(id);
    }
  }
  const auto seen = [&](const JobRecord& job) {
    return SeesJob(authorizer_, who, job) || JobAllows(authorizer_, who, verb, job, subresource);
  };
  Result<JobPtr> job = FindJob(id, seen);
  if (!job.ok()) return job.error().code == Code::kNotFound ? NoSuchJob(id) : job.error();
  const Status allowed = MayJob(authorizer_, who, verb, **job, subresource);
  if (allowed.ok()) return job;
  if (SeesJob(authorizer_, who, **job)) return allowed.error();
  // A number that names no job costs a read of the store, so this one costs it too.
  if (!named && engine_.View()->jobs.Find((*job)->id) != nullptr) {
    const Result<JobPtr> read = store_.ReadJob(kNoJob);
    if (!read.ok() && read.error().code != Code::kNotFound) return read.error();
  }
  return NoSuchJob(id);
}

Result<JobPtr> SchedulerService::GetJob(const auth::Principal& who, const std::string& id) const {
  return JobFor(who, id, auth::Verb::kGet);
}

namespace {

// The rights to what a path names: to the resource, and by RESOURCE/own to the caller's own jobs.
struct PathRights {
  bool all = false, own = false;
};

// Who has neither is refused before anything is looked up. A refusal is noted once it is certain.
Result<PathRights> MayLookUp(const auth::Authorizer& authorizer, const auth::Principal& who,
                             const PathAsk& ask, const auth::ResourceRef& what) {
  auth::ResourceRef own = what;
  own.subresource = kOwnSubresource;
  if (ask.subresource.empty() && authorizer.Allows(who, ask.verb, own))
    return PathRights{authorizer.Allows(who, ask.verb, what), true};
  const Status allowed = authorizer.Authorize(who, ask.verb, what);
  if (!allowed.ok()) return allowed.error();
  return PathRights{true, false};
}

// The job, if the rights are to it. Otherwise the caller is told of it only if it may see it.
Result<JobPtr> OwnOrRefused(const auth::Authorizer& authorizer, const auth::Principal& who,
                            const PathAsk& ask, const auth::ResourceRef& what,
                            const PathRights& rights, Result<JobPtr> job, const Error& missing) {
  if (!job.ok() || rights.all || (*job)->user == who.user) return job;
  const Status allowed = authorizer.Authorize(who, ask.verb, what);
  if (allowed.ok()) return job;
  return SeesJob(authorizer, who, **job) ? allowed.error() : missing;
}

}  // namespace

Result<JobPtr> SchedulerService::GetJobByName(const auth::Principal& who, const std::string& ns,
                                              ShapeKind shape, const std::string& name,
                                              PathAsk ask) const {
  const auth::ResourceRef what = RefOf(shape, ns, name, ask.subresource);
  const Result<PathRights> rights = MayLookUp(authorizer_, who, ask, what);
  if (!rights.ok()) return rights.error();
  const Error missing = NotFound(std::string(ShapeKindName(shape)) + " \"" + name +
                                 "\" not found in namespace \"" + ns + "\"");
  const Result<JobId> id = store_.FindJob(ns, shape, name);
  if (!id.ok()) return id.error().code == Code::kNotFound ? missing : id.error();
  return OwnOrRefused(authorizer_, who, ask, what, *rights, FindJobById(*id), missing);
}

// A Workload's name has the job's name in it (workload_name.h), so for each shape the store is
// asked for that job and its Workload's name is compared. A name that was cut to the longest length
// does not contain the whole job name; then all jobs in memory are compared.
Result<JobPtr> SchedulerService::FindJobByWorkload(const std::string& ns,
                                                   const std::string& workload) const {
  for (const ShapeInfo& info : kShapeInfos) {
    const std::string name = JobNameIn(workload, info.kind);
    if (name.empty()) continue;
    const Result<JobId> id = store_.FindJob(ns, info.kind, name);
    if (!id.ok() && id.error().code != Code::kNotFound) return id.error();
    if (!id.ok()) continue;
    Result<JobPtr> job = FindJobById(*id);
    // Another job of the same shape and name may have had the Workload that is asked for.
    if (!job.ok() || WorkloadNameOf(**job) == workload) return job;
  }
  JobPtr cut;
  if (workload.size() >= kCutNameBytes) {
    engine_.View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      if (job->ns == ns && WorkloadNameOf(*job) == workload) cut = job;
      return cut == nullptr;
    });
  }
  if (cut != nullptr) return cut;
  return NotFound("Workload \"" + workload + "\" not found in namespace \"" + ns + "\"");
}

Result<JobPtr> SchedulerService::GetJobByWorkload(const auth::Principal& who, const std::string& ns,
                                                  const std::string& workload, PathAsk ask) const {
  const auth::ResourceRef what = WorkloadRef(ns, workload, ask.subresource);
  const Result<PathRights> rights = MayLookUp(authorizer_, who, ask, what);
  if (!rights.ok()) return rights.error();
  Result<JobPtr> job = FindJobByWorkload(ns, workload);
  const Error missing =
      NotFound("Workload \"" + workload + "\" not found in namespace \"" + ns + "\"");
  return OwnOrRefused(authorizer_, who, ask, what, *rights, std::move(job), missing);
}

void SchedulerService::PostVerb(const auth::Principal& who, JobVerb verb, JobId id,
                                Callback<JobPtr> done) {
  JobCommand command;
  command.actor = ActorOf(who);
  command.verb = verb;
  command.id = id;
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

void SchedulerService::ChangeJob(const auth::Principal& who, const std::string& id, JobVerb verb,
                                 Callback<JobPtr> done, VerbOptions options) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  // The tasks of an array are of one user, namespace and queue: its own record decides who may
  // change them.
  const auto tasks = ParseTaskIds(id);
  const Result<JobPtr> job =
      JobFor(who, tasks ? std::to_string(tasks->array.value) : id, VerbOf(verb));
  if (!job.ok()) return done(job.error());
  if (const char* what = LeftToOperators(verb, options); what != nullptr) {
    const Status may = MustBeOperator(authorizer_, who, (*job)->cluster_queue, what);
    if (!may.ok()) return done(may.error());
  }
  JobCommand command;
  command.actor = ActorOf(who);
  command.verb = verb;
  command.id = tasks ? tasks->array : (*job)->id;
  if (tasks) command.tasks = tasks->tasks;
  command.hold = options.hold;
  command.special_exit = options.special_exit;
  command.by_operator = options.by_admin;
  // Asked only where the answer counts. Of tasks any record of the array may be held.
  if (verb == JobVerb::kRelease && (tasks || BatchStateOf(**job).held_by_admin))
    command.by_operator = IsOperator(authorizer_, who, (*job)->cluster_queue);
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

Result<std::vector<Event>> SchedulerService::JobEvents(const auth::Principal& who,
                                                       const std::string& id) const {
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  return store_.ReadEvents(0, (*job)->id, kJobEvents);
}

Result<std::vector<AttemptRecord>> SchedulerService::Attempts(
    const auth::Principal& who, const std::vector<JobPtr>& jobs) const {
  std::vector<JobId> ids;
  ids.reserve(jobs.size());
  for (const JobPtr& job : jobs) {
    const Status allowed = MayAccount(authorizer_, who, *job);
    if (!allowed.ok()) return allowed.error();
    ids.push_back(job->id);
  }
  if (ids.empty()) return std::vector<AttemptRecord>{};
  return store_.ReadAttempts(ids);
}

Result<json::value> SchedulerService::JobManifest(const auth::Principal& who, JobId id) const {
  const Result<JobPtr> job = JobFor(who, std::to_string(id.value), auth::Verb::kGet);
  if (!job.ok()) return job.error();
  return ManifestFor(who, **job);
}

bool SchedulerService::MayReadScript(const auth::Principal& who, const JobRecord& job) const {
  return job.batch == nullptr ||
         JobAllows(authorizer_, who, auth::Verb::kGet, job, kLogSubresource) ||
         JobAllows(authorizer_, who, auth::Verb::kUpdate, job);
}

Result<json::value> SchedulerService::ManifestFor(const auth::Principal& who,
                                                  const JobRecord& job) const {
  Result<json::value> manifest = ManifestOf(job);
  if (!manifest.ok() || MayReadScript(who, job)) return manifest;
  json::object& spec = MakeObjectAt(manifest->as_object(), "spec");
  for (const char* key : {"script", "environment", "arguments"}) spec.erase(key);
  return manifest;
}

Result<json::value> SchedulerService::ManifestOf(const JobRecord& job) const {
  const Result<std::vector<std::string>> texts = store_.ReadManifests({job.id});
  if (!texts.ok()) return texts.error();
  if (texts->empty()) return NoSuchJob(std::to_string(job.id.value));
  Result<json::value> manifest = ParseJson(texts->front());
  if (manifest.ok()) {
    SetName(job, &*manifest);
    shapes::ShowChanges(job, &*manifest);
  }
  return manifest;
}

}  // namespace muster::api
