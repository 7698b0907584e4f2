// Dispatcher::Impl: from Ensures to orders. Manifests are read many at once from the store and
// rendered by schedd/shapes with what admission decided, together with the ConfigMaps and Secrets
// to which the pods refer. A reference that does not exist is waited for a few times, then the
// attempt is refused.
//
// Of one member at most kUnderWay Ensures are under way; the others wait in its EnsureQueue without
// a deadline, so a member that takes five a second is in time with all of them. Releases go before
// creations. Removals and acknowledgements need no manifest and do not pass here.
//
// The release of an object that is created suspended follows soon after its creation, as a rule. It
// is rendered together with the creation and kept, so that the manifest is read once.
#include <algorithm>

#include "schedd/base/fault_points.h"
#include "schedd/dispatch/impl.h"
#include "schedd/model/member_queues.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::dispatch {
namespace {

// Some hundred kilobytes in memory.
constexpr std::size_t kManifestsAtOnce = 256;
// Ensures of one member under way: enough for all its connections, and few enough that a slow
// member (five a second) finishes the last before the backend's deadline for it.
constexpr std::size_t kUnderWay = 64;
// Releases kept ready: some megabytes.
constexpr std::size_t kReadyReleases = 1024;
// A ConfigMap that is applied just after its job is still waited for.
constexpr int kReferenceTries = 5;

ManifestText ToText(const shapes::RenderedObject& object) {
  return {object.api_version, object.kind, object.ns, object.name, WriteJson(object.manifest)};
}

Error NotServed() { return Unavailable("it is not served by this daemon"); }

}  // namespace

// Takes Ensures from the queues of all members and starts them. True if more can be started at
// once.
bool Dispatcher::Impl::StartEnsures() {
  std::vector<EnsureTask> batch;
  for (auto& [cluster, out] : outgoing) {
    // Creations start when half of the calls have ended, so that one read brings many manifests.
    const bool create = out.under_way <= kUnderWay / 2;
    while (out.under_way < kUnderWay && batch.size() < kManifestsAtOnce) {
      auto& queue = !out.to_release.empty() || !create ? out.to_release : out.to_create;
      DropVoid(&queue);
      if (queue.empty() || !MayStart(queue.front())) break;
      EnsureTask task = std::move(queue.front());
      queue.pop_front();
      ++out.under_way;
      Begin(std::move(task), &batch);
    }
  }
  if (!batch.empty()) {
    std::vector<JobId> ids;
    for (const EnsureTask& task : batch) ids.push_back(task.job->id);
    const auto manifests = store.ReadManifests(ids);
    const WorldViewPtr world = view();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Backend* const backend = Serving(batch[i].key.cluster);
      if (backend == nullptr) {
        tasks.PushAlways(EnsureOutcome{batch[i].key, NotServed()});
        continue;
      }
      Send(batch[i], *backend,
           manifests.ok() ? MakeOrder(batch[i], (*manifests)[i], *world, *backend)
                          : Result<DispatchOrder>(manifests.error()));
    }
  }
  return batch.size() >= kManifestsAtOnce;
}

// Sends a release that is ready; any other Ensure is left to be rendered.
void Dispatcher::Impl::Begin(EnsureTask task, std::vector<EnsureTask>* to_render) {
  Backend* const backend = Serving(task.key.cluster);
  if (backend == nullptr) {
    tasks.PushAlways(EnsureOutcome{task.key, NotServed()});
  } else if (auto order = TakeReady(task)) {
    Send(task, *backend, std::move(*order));
  } else {
    to_render->push_back(std::move(task));
  }
}

void Dispatcher::Impl::Send(const EnsureTask& task, Backend& backend, Result<DispatchOrder> order) {
  const DispatchKey& key = task.key;
  if (!order.ok()) {
    tasks.PushAlways(EnsureOutcome{key, order.error()});
    return;
  }
  // Reading the manifest may have taken longer than the lead.
  if (!task.permit.Holds()) {
    tasks.PushAlways(EnsureOutcome{key, NotLeading()});
    return;
  }
  MUSTER_FAULT_POINT(ensure_begins);
  order->permit = task.permit;
  if (const auto listing = listings.find(key.cluster);
      listing != listings.end() && listing->second.busy) {
    listing->second.unsure.insert(key);
  }
  backend.Ensure(*order, [self = shared_from_this(), key](Result<RemoteRef> outcome) {
    self->tasks.PushAlways(EnsureOutcome{key, std::move(outcome)});
  });
}

Result<DispatchOrder> Dispatcher::Impl::MakeOrder(const EnsureTask& task,
                                                  const std::string& manifest,
                                                  const WorldView& world, const Backend& backend) {
  const auto parsed = ParseJson(manifest);
  // The stored manifest was valid once, so another try would fail in the same way.
  if (!parsed.ok()) return Error{Code::kInvalidArgument, "its stored manifest cannot be read"};
  // An attempt with a uid on record is released. An attempt without one must not run before its uid
  // is recorded, so it is created suspended where the member can.
  const bool suspended = task.expected_uid.empty() && (backend.CreatesSuspended(task.key.cluster) ||
                                                       IsRunByMemberQueue(*task.job));
  auto order = Rendered(task, *parsed, world, suspended);
  if (order.ok() && suspended && order->dependents.empty()) KeepReady(task, *parsed, world);
  return order;
}

// The order that the backend carries out: object, dependents, and the fields that mark it as ours.
Result<DispatchOrder> Dispatcher::Impl::Rendered(const EnsureTask& task,
                                                 const json::value& manifest,
                                                 const WorldView& world, bool suspended) const {
  auto rendered = shapes::Render(*task.job, manifest, *world.config,
                                 {options.instance_id, suspended, options.default_image});
  if (!rendered.ok()) return rendered.error();
  DispatchOrder order;
  order.key = task.key;
  order.job = task.job->id;
  order.object = ToText(rendered->object);
  order.account = task.job->account;
  order.suspended = suspended;
  order.expected_uid = task.expected_uid;
  order.sequence = task.job->resource_version;
  if (ScaleOf(*task.job) != nullptr) order.scale = task.job->resource_version;
  if (task.job->admission != nullptr) order.pod_sets = task.job->admission->pod_sets;
  if (IsRunByMemberQueue(*task.job)) {
    order.member_queue = {task.job->local_queue, CopyName(task.key.job_uid, task.key.attempt)};
  }
  const Status referenced = AddReferences(*task.job, manifest, world, &order);
  if (!referenced.ok()) return referenced.error();
  for (const shapes::RenderedObject& one : rendered->dependents)
    order.dependents.push_back(ToText(one));
  return order;
}

// Renders the release of an object that is created now; the oldest ones are dropped beyond
// kReadyReleases.
void Dispatcher::Impl::KeepReady(const EnsureTask& task, const json::value& manifest,
                                 const WorldView& world) {
  auto release = Rendered(task, manifest, world, false);
  if (!release.ok()) return;
  ready_releases[task.key] = {task.job, std::move(release).value()};
  ready_order.push_back(task.key);
  while (ready_order.size() > kReadyReleases) {
    ready_releases.erase(ready_order.front());
    ready_order.pop_front();
  }
}

// nullopt if the release must be rendered: the object was created by an earlier daemon or long ago,
// or the job's size or admission has changed since.
std::optional<DispatchOrder> Dispatcher::Impl::TakeReady(const EnsureTask& task) {
  if (task.expected_uid.empty()) return std::nullopt;
  const auto found = ready_releases.find(task.key);
  if (found == ready_releases.end()) return std::nullopt;
  ReadyRelease ready = std::move(found->second);
  ready_releases.erase(found);
  if (ready.job->admission != task.job->admission ||
      ready.job->admission_state != task.job->admission_state || ScaleOf(*task.job) != nullptr)
    return std::nullopt;
  DispatchOrder order = std::move(ready.order);
  order.expected_uid = task.expected_uid;
  order.sequence = task.job->resource_version;
  return order;
}

// Adds the ConfigMaps and Secrets. A missing one is kUnavailable, so that the engine tries again,
// and kFailedPrecondition after kReferenceTries failures.
Status Dispatcher::Impl::AddReferences(const JobRecord& job, const json::value& manifest,
                                       const WorldView& world, DispatchOrder* order) const {
  for (const shapes::ObjectReference& reference : shapes::ReferencedObjects(job, manifest)) {
    const ObjectKind kind =
        reference.kind == "Secret" ? ObjectKind::kSecret : ObjectKind::kConfigMap;
    const auto found = world.objects->find({kind, job.ns, reference.name});
    if (found == world.objects->end()) {
      const auto lane = lanes.find(order->key);
      const bool last = lane != lanes.end() && lane->second.failures >= kReferenceTries;
      return Error{last ? Code::kFailedPrecondition : Code::kUnavailable,
                   reference.kind + " " + job.ns + "/" + reference.name + " does not exist"};
    }
    order->dependents.push_back(
        {"v1", reference.kind, job.ns, reference.name, found->second->manifest});
  }
  return Done{};
}

}  // namespace muster::dispatch
