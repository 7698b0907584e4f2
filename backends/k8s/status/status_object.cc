// ReadObject: the metadata that every kind has, and the kind's status (status_kinds.cc).
//
// An object that was suspended after its release keeps the annotation `muster.io/released`, so that
// a suspension by a user or by the member's own queue can be told from ours; Muster reports it and
// never fights it.
#include "backends/k8s/status/status.h"
#include "backends/k8s/status/status_kinds.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/member_queues.h"

namespace muster::k8s {
namespace {

constexpr char kSuspendedExternally[] =
    "SuspendedExternally: somebody on the member suspended it after its release; it goes on when "
    "they resume it";

constexpr char kSuspendedByQueue[] =
    "SuspendedByMemberQueue: the member's own queue does not let it run at present";

// Whether another object controls this one. KubeRay copies a RayJob's labels to the RayCluster that
// it makes; that RayCluster is no attempt.
bool IsControlled(const Reader& metadata) {
  bool controlled = false;
  metadata["ownerReferences"].Each(
      [&](const Reader& owner) { controlled = controlled || owner["controller"].IsTrue(); });
  return controlled;
}

// The position of our finalizer, which a JSON Patch needs to remove it; -1 if absent.
std::int32_t PlaceOfFinalizer(const Reader& finalizers) {
  std::int32_t place = -1, at = 0;
  finalizers.Each([&](const Reader& finalizer) {
    if (place < 0 && finalizer.View() == kRecordFinalizer) place = at;
    ++at;
  });
  return place;
}

}  // namespace

std::optional<AttemptLabels> ReadAttemptLabels(const json::object& object) {
  const Reader labels = Reader(object)["metadata"]["labels"];
  AttemptLabels found;
  if (!Uid::Parse(labels[kJobUidLabel].View(), &found.job_uid)) return std::nullopt;
  const auto attempt = NumberIn(labels[kAttemptLabel].View());
  if (!attempt || *attempt < 1 || *attempt > INT32_MAX) return std::nullopt;
  found.attempt = static_cast<std::int32_t>(*attempt);
  return found;
}

ObjectState ReadObject(const KindInfo& kind, const json::object& object) {
  const Reader root(object);
  const Reader metadata = root["metadata"];
  const Reader annotations = metadata["annotations"];
  ObjectState state;
  state.kind = &kind;
  if (!IsControlled(metadata)) state.attempt = ReadAttemptLabels(object);
  state.ns = metadata["namespace"].Text(kNameBytes);
  state.name = metadata["name"].Text(kNameBytes);
  state.uid = metadata["uid"].Text(kNameBytes);
  state.resource_version = metadata["resourceVersion"].Text(kNameBytes);
  state.generation = metadata["generation"].Integer().value_or(0);
  state.sequence = NumberIn(annotations[kSequenceAnnotation].View()).value_or(0);
  state.finalizer = PlaceOfFinalizer(metadata["finalizers"]);
  state.deleting = metadata["deletionTimestamp"].present();
  state.released = annotations[kReleasedAnnotation].View() == "true";
  ReadKindStatus(root, &state);
  if (state.phase == RemotePhase::kSuspended && state.released) {
    const bool queued = metadata["labels"][kPrebuiltWorkloadLabel].present();
    state.message = queued ? kSuspendedByQueue : kSuspendedExternally;
  }
  return state;
}

}  // namespace muster::k8s
