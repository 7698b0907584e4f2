// Manifests to orders: read many at once from the store, rendered with what admission decided,
// together with the ConfigMaps and Secrets that the pods refer to.
#include <algorithm>

#include "schedd/dispatch/impl.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/shape.h"

namespace muster::dispatch {
namespace {

constexpr std::size_t kManifestsAtOnce = 256;  // some hundred kilobytes in memory
constexpr int kReferenceTries = 5;  // a ConfigMap applied just after its job is still waited for

ManifestText ToText(const shapes::RenderedObject& object) {
  return {object.api_version, object.kind, object.ns, object.name, WriteJson(object.manifest)};
}

}  // namespace

// True if there are more to be started.
bool Dispatcher::Impl::StartEnsures() {
  std::vector<EnsureTask> batch;
  for (auto* queue : {&to_release, &to_create}) {
    while (!queue->empty() && batch.size() < kManifestsAtOnce) {
      batch.push_back(std::move(queue->front()));
      queue->pop_front();
    }
  }
  if (batch.empty()) return false;
  std::vector<JobId> ids;
  for (const EnsureTask& task : batch) ids.push_back(task.job->id);
  const auto manifests = store.ReadManifests(ids);
  const WorldViewPtr world = view();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    StartEnsure(batch[i],
                manifests.ok() ? Result<std::string>((*manifests)[i])
                               : Result<std::string>(manifests.error()),
                *world);
  }
  return !to_release.empty() || !to_create.empty();
}

void Dispatcher::Impl::StartEnsure(const EnsureTask& task, const Result<std::string>& manifest,
                                   const WorldView& world) {
  const auto backend = backends.find(task.key.cluster);
  Result<DispatchOrder> order =
      backend == backends.end()
          ? Result<DispatchOrder>(Unavailable("it is not served by this daemon"))
      : !manifest.ok() ? Result<DispatchOrder>(manifest.error())
                       : MakeOrder(task, *manifest, world, *backend->second);
  if (!order.ok()) {
    tasks.PushAlways(EnsureDone{task.key, order.error()});
    return;
  }
  if (const auto listing = listings.find(task.key.cluster);
      listing != listings.end() && listing->second.busy) {
    listing->second.unsure.insert(task.key);
  }
  backend->second->Ensure(*order,
                          [self = shared_from_this(), key = task.key](Result<RemoteRef> outcome) {
                            self->tasks.PushAlways(EnsureDone{key, std::move(outcome)});
                          });
}

Result<DispatchOrder> Dispatcher::Impl::MakeOrder(const EnsureTask& task,
                                                  const std::string& manifest,
                                                  const WorldView& world,
                                                  const Backend& backend) const {
  const auto parsed = ParseJson(manifest);
  // A stored manifest was valid once: another try would not change this.
  if (!parsed.ok()) return Error{Code::kInvalidArgument, "its stored manifest cannot be read"};
  // What has a uid on record is released; what has none may not run before it has one.
  const bool suspended = task.expected_uid.empty() && backend.CreatesSuspended(task.key.cluster);
  auto rendered = shapes::Render(*task.job, *parsed, *world.config,
                                 {options.instance_id, suspended, options.default_image});
  if (!rendered.ok()) return rendered.error();
  DispatchOrder order;
  order.key = task.key;
  order.job = task.job->id;
  order.object = ToText(rendered->object);
  order.suspended = suspended;
  order.expected_uid = task.expected_uid;
  order.sequence = task.job->resource_version;
  if (ScaleOf(*task.job) != nullptr) order.scale = task.job->resource_version;
  if (task.job->admission != nullptr) order.pod_sets = task.job->admission->pod_sets;
  const Status referenced = AddReferences(*task.job, *parsed, world, &order);
  if (!referenced.ok()) return referenced.error();
  for (const shapes::RenderedObject& one : rendered->dependents)
    order.dependents.push_back(ToText(one));
  return order;
}

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
