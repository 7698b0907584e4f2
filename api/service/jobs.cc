// Use cases that read and steer one job: find it, change its state, its events, attempts and
// manifest; the audit trail. Holds these methods of SchedulerService.
//
// A job is named by its number, by its uid, or by NAMESPACE/NAME. A name means the one job of that
// name that has not ended, else the only ended one; for a batch script --job-name counts as well.
// If several jobs qualify, the answer is 409 with their numbers. Jobs that have left memory are
// read from the store (blocking).
#include <algorithm>
#include <charconv>
#include <utility>

#include "api/service/post_command.h"
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

Result<JobPtr> SchedulerService::FindJobByName(const std::string& ns,
                                               const std::string& name) const {
  std::vector<JobPtr> live, ended;
  const WorldViewPtr view = engine_.View();
  view->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (IsNamed(*job, ns, name) && !IsTerminal(job->state)) live.push_back(job);
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
      (IsTerminal(job->state) ? ended : live).push_back(job);
    }
  }
  const std::vector<JobPtr>& found = live.empty() ? ended : live;
  if (found.empty()) return NoSuchJob(ns + "/" + name);
  if (found.size() > 1) return SeveralJobs(ns, name, found);
  return FindJobById(found.front()->id);
}

Result<JobPtr> SchedulerService::FindJob(const std::string& id) const {
  // A number, then a uid, then NAMESPACE/NAME: the first form that the text has.
  std::int64_t number = 0;
  const char* end = id.data() + id.size();
  const auto parsed = std::from_chars(id.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number > 0)
    return FindJobById(JobId{number});
  Uid uid;
  if (Uid::Parse(id, &uid)) {
    const Result<JobId> found = store_.FindJob(uid);
    if (found.ok()) return FindJobById(*found);
    if (found.error().code == Code::kNotFound) return NoSuchJob(id);
    return found.error();
  }
  const std::size_t slash = id.find('/');
  if (slash != std::string::npos && slash > 0 && slash + 1 < id.size()) {
    return FindJobByName(id.substr(0, slash), id.substr(slash + 1));
  }
  return NoSuchJob(id);
}

Result<JobPtr> SchedulerService::GetJob(const auth::Principal& who, const std::string& id) const {
  Result<JobPtr> job = FindJob(id);
  if (!job.ok()) return job;
  const Status allowed = Allow(who, auth::Verb::kGet, "jobs", (*job)->ns, (*job)->name);
  if (!allowed.ok()) return allowed.error();
  return job;
}

Result<JobPtr> SchedulerService::GetJobByName(const auth::Principal& who, const std::string& ns,
                                              ShapeKind shape, const std::string& name) const {
  const Status allowed = Allow(who, auth::Verb::kGet, "jobs", ns, name);
  if (!allowed.ok()) return allowed.error();
  const Result<JobId> id = store_.FindJob(ns, shape, name);
  if (id.ok()) return FindJobById(*id);
  if (id.error().code != Code::kNotFound) return id.error();
  return NotFound(std::string(ShapeKindName(shape)) + " \"" + name +
                  "\" not found in namespace \"" + ns + "\"");
}

// A Workload's name has the job's name in it (workload_name.h), so for each shape the store is
// asked for that job and its Workload's name is compared. A name that was cut to the longest length
// does not contain the whole job name; then all jobs in memory are compared.
Result<JobPtr> SchedulerService::GetJobByWorkload(const auth::Principal& who, const std::string& ns,
                                                  const std::string& workload) const {
  const Status allowed = Allow(who, auth::Verb::kGet, "jobs", ns, workload);
  if (!allowed.ok()) return allowed.error();
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

void SchedulerService::ChangeJob(const auth::Principal& who, const std::string& id, JobVerb verb,
                                 Callback<JobPtr> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const Result<JobPtr> job = FindJob(id);
  if (!job.ok()) return done(job.error());
  const Status allowed = Allow(who, VerbOf(verb), "jobs", (*job)->ns, (*job)->name);
  if (!allowed.ok()) return done(allowed.error());
  JobCommand command;
  command.actor = {who.user, who.method};
  command.verb = verb;
  command.id = (*job)->id;
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

Result<std::vector<Event>> SchedulerService::JobEvents(const auth::Principal& who,
                                                       const std::string& id) const {
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  return store_.ReadEvents(0, (*job)->id, kJobEvents);
}

Result<std::vector<Event>> SchedulerService::EventsSince(const auth::Principal& who,
                                                         std::int64_t since,
                                                         std::size_t limit) const {
  const Status allowed = Allow(who, auth::Verb::kList, "events", "", "");
  if (!allowed.ok()) return allowed.error();
  return store_.ReadEvents(since, JobId{}, std::min(limit, limits::kPageItemsMax));
}

Result<std::vector<AuditRow>> SchedulerService::Audit(const auth::Principal& who, WallTime since,
                                                      std::size_t limit) const {
  const Status allowed = Allow(who, auth::Verb::kList, "audit", "", "");
  if (!allowed.ok()) return allowed.error();
  Result<std::vector<AuditRow>> rows = store_.ReadAudit(limit);  // newest first
  if (!rows.ok()) return rows;
  if (since.set()) std::erase_if(*rows, [&](const AuditRow& row) { return row.time < since; });
  std::reverse(rows->begin(), rows->end());
  return rows;
}

Result<std::vector<AttemptRecord>> SchedulerService::Attempts(const auth::Principal& who,
                                                              const std::vector<JobId>& ids) const {
  const Status allowed = Allow(who, auth::Verb::kList, "jobs", "", "");
  if (!allowed.ok()) return allowed.error();
  return store_.ReadAttempts(ids);
}

Result<json::value> SchedulerService::JobManifest(const auth::Principal& who, JobId id) const {
  const Result<JobPtr> job = FindJobById(id);
  if (!job.ok()) return job.error();
  const Status allowed = Allow(who, auth::Verb::kGet, "jobs", (*job)->ns, (*job)->name);
  if (!allowed.ok()) return allowed.error();
  const Result<std::vector<std::string>> texts = store_.ReadManifests({id});
  if (!texts.ok()) return texts.error();
  if (texts->empty()) return NoSuchJob(std::to_string(id.value));
  Result<json::value> manifest = ParseJson(texts->front());
  if (manifest.ok()) {
    SetName(**job, &*manifest);
    shapes::ShowChanges(**job, &*manifest);
  }
  return manifest;
}

}  // namespace muster::api
