// Use cases: read and edit quotas. Holds SchedulerService::ListQuotas and SetQuota.
//
// An edit becomes a change of the ClusterQueue's manifest and goes through the engine like any
// other, so it is validated, fenced by the resourceVersion, audited and effective in the next
// cycle. A dry run posts a PreviewCommand instead, which says what the edit would admit and preempt
// and changes nothing.
#include <utility>

#include "api/service/actor.h"
#include "api/service/explain_hiding.h"
#include "api/service/job_rights.h"
#include "api/service/object_rights.h"
#include "api/service/post_command.h"
#include "api/service/quota_edit.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"
#include "schedd/model/requests.h"

namespace muster::api {
namespace {

// The usage of all jobs that hold quota, charged to the quota tree of `view`'s configuration, which
// a dry run has edited.
core::Usage RecomputedUsage(const WorldView& view) {
  core::Usage usage(core::QuotaTree::Build(*view.config));
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (HoldsQuota(job->state) && job->admission != nullptr)
      usage.Add(*ChargedAdmission(*job, *view.settings));
    return true;
  });
  return usage;
}

// The refusal of an edit whose etag is not that of the present version.
Error ReadAgain(const QuotaEdit& edit, std::int64_t version) {
  return Aborted("ClusterQueue \"" + edit.key.cluster_queue +
                 "\" has changed since the quota was read (etag is " + std::to_string(version) +
                 ", the request's is " + edit.etag + "): read it again");
}

}  // namespace

Result<std::vector<QuotaView>> SchedulerService::ListQuotas(
    const auth::Principal& who, const std::string& cluster_queue) const {
  // Of a list those that the caller may get; of one, that one.
  const bool all =
      cluster_queue.empty() && authorizer_.Allows(who, auth::Verb::kList, ClusterQueueRef(""));
  if (!cluster_queue.empty()) {
    const Status allowed =
        authorizer_.Authorize(who, auth::Verb::kGet, ClusterQueueRef(cluster_queue));
    if (!allowed.ok()) return allowed.error();
  }
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const auto& queues = (*view)->config->cluster_queues;
  if (!cluster_queue.empty() && !queues.contains(cluster_queue)) {
    return NotFound("ClusterQueue \"" + cluster_queue + "\" does not exist");
  }
  const auto unadmitted = CountUnadmitted(**view);
  std::vector<QuotaView> out;
  for (const auto& [name, queue] : queues) {
    if (!cluster_queue.empty() && name != cluster_queue) continue;
    if (cluster_queue.empty() && !all &&
        !authorizer_.Allows(who, auth::Verb::kGet, ClusterQueueRef(name)))
      continue;
    for (const ResourceGroup& group : queue.resource_groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const auto& [resource, quota] : flavor.resources) {
          Result<QuotaView> found = QuotaOf(**view, {name, flavor.flavor, resource}, unadmitted);
          if (found.ok()) out.push_back(std::move(*found));
        }
      }
    }
  }
  return out;
}

void SchedulerService::SetQuota(const auth::Principal& who, QuotaEdit edit,
                                Callback<QuotaEditResult> done) {
  const Status allowed =
      authorizer_.Authorize(who, auth::Verb::kUpdate, ClusterQueueRef(edit.key.cluster_queue));
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const auto found =
      (*view)->objects->find({ObjectKind::kClusterQueue, "", edit.key.cluster_queue});
  if (found == (*view)->objects->end()) {
    return done(NotFound("ClusterQueue \"" + edit.key.cluster_queue + "\" does not exist"));
  }
  const std::int64_t version = found->second->resource_version;
  if (!edit.etag.empty() && edit.etag != std::to_string(version)) {
    return done(ReadAgain(edit, version));
  }
  const Result<json::value> manifest = EditedManifest(found->second->manifest, edit);
  if (!manifest.ok()) return done(manifest.error());
  ObjectChange change;
  change.kind = ObjectKind::kClusterQueue;
  change.name = edit.key.cluster_queue;
  change.manifest = WriteJson(*manifest);
  change.must_exist = true;
  ConfigView config = *(*view)->config;
  const Status valid = Normalise(&config, &change);
  if (!valid.ok()) return done(valid.error());
  // The manifest was read at `version`: another edit in between would be lost without this fence.
  change.expected_resource_version = version;
  std::vector<ObjectChange> changes;
  changes.push_back(std::move(change));
  const Status kept =
      JudgeQuotas(authorizer_, who, *(*view)->config, config, *(*view)->objects, &changes);
  if (!kept.ok()) return done(kept.error());

  // The view of the edited quota is computed here, from a copy of the view with the edited
  // configuration; its effect on jobs comes from the engine.
  if (edit.dry_run) {
    WorldView edited = **view;
    edited.config = std::make_shared<const ConfigView>(std::move(config));
    edited.usage = RecomputedUsage(edited);
    Result<QuotaView> quota = QuotaOf(edited, edit.key, CountUnadmitted(edited));
    if (!quota.ok()) return done(quota.error());
    PreviewCommand command;
    command.changes = std::move(changes);
    PostCommand<EditEffect>(engine_, std::move(command),
                            [&authorizer = authorizer_, who, done,
                             quota = std::move(*quota)](Result<EditEffect> effect) {
      if (!effect.ok()) return done(effect.error());
      const auto seen = [&](const JobRecord& job) { return SeesJob(authorizer, who, job); };
      HideJobs(seen, &effect->would_admit);
      HideJobs(seen, &effect->would_preempt);
      done(QuotaEditResult{quota, std::move(*effect)});
    });
    return;
  }
  ApplyCommand command;
  command.actor = ActorOf(who);
  command.changes = std::move(changes);
  PostCommand<std::vector<AppliedObject>>(
      engine_, std::move(command),
      [this, done, key = edit.key](Result<std::vector<AppliedObject>> applied) {
    if (!applied.ok()) return done(OfOnlyDocument(applied.error()));
    const WorldViewPtr now = engine_.View();
    Result<QuotaView> quota = QuotaOf(*now, key, CountUnadmitted(*now));
    if (!quota.ok()) return done(quota.error());
    done(QuotaEditResult{std::move(*quota), {}});
      });
}

}  // namespace muster::api
