// Reserved keys. Under muster.io/ and its subdomains a user may set the annotations of the two
// lists below and no label: Muster finds its own objects on members by its labels
// (member_labels.h), and an annotation that nothing reads is a mistake. Of Kueue's keys those are
// refused by which Kueue marks what it has made itself; a member's Kueue would act on them.
#include "schedd/shapes/security/identity.h"

#include <algorithm>
#include <array>
#include <string>

#include "schedd/model/member_queues.h"
#include "schedd/shapes/parts/template_places.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kOurDomain = "muster.io";

// Annotations of a job: where it may run (job_placement.h), and what a simulation and the simulated
// members read (schedd/simulate/scenario.h, backends/simulated). The partitions that a batch script
// may choose from are names of queues, which the service checks one by one.
constexpr std::array<std::string_view, 9> kJobAnnotations = {
    "muster.io/placement",         "muster.io/cluster",        "muster.io/datasets",
    "muster.io/datasets-required", "muster.io/checkpointable", "muster.io/arrival",
    "muster.io/run-time",          "muster.io/run-time-ms",  "muster.io/partitions",
};
// Annotations of a pod template: the files of its streams on members of processes (batch_script.cc
// writes the same). They are opened as the job's own user.
constexpr std::array<std::string_view, 4> kPodAnnotations = {
    "muster.io/stdin-path",
    "muster.io/stdout-path",
    "muster.io/stderr-path",
    "muster.io/open-mode",
};

// The mark of a copy that a manager's Kueue made: a member's Kueue would take the job for one.
constexpr std::string_view kKueuesOwn = kOriginLabel;
// Kueue's webhook allows this label with one value only.
constexpr std::string_view kManagedLabel = "kueue.x-k8s.io/managed";

bool IsOurs(std::string_view key) {
  const std::string_view domain = key.substr(0, key.find('/'));
  if (domain.size() == key.size()) return false;  // a key without a domain
  return domain == kOurDomain || domain.ends_with(".muster.io");
}

template <std::size_t N>
bool IsIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fields are made for the members that are looked at alone.
template <class May>
void CheckKeys(const Field& map, May may) {
  const json::object* members = map.Object();
  if (members == nullptr) return;
  for (const auto& member : *members) {
    const std::string_view key = member.key();
    if (IsOurs(key) && !may(key)) map.Named(key).Fail("is reserved: Muster itself sets such keys");
    if (key == kKueuesOwn) map.Named(key).Fail("is reserved: Kueue itself sets this key");
  }
}

// Metadata of a template: the object that is made of it lies in the job's namespace.
void CheckTemplateMetadata(const Field& metadata, const TenantPlace& place) {
  if (metadata.Object() == nullptr) return;
  CheckReservedLabels(metadata["labels"]);
  CheckReservedAnnotations(metadata["annotations"], true);
  const Field ns = metadata["namespace"];
  const std::string_view text = ns.StringOr("");
  if (!text.empty() && text != place.ns)
    ns.Fail("must be absent or the job's own namespace, \"" + std::string(place.ns) + "\"");
  for (const Field& finalizer : metadata["finalizers"].Elements()) {
    if (IsOurs(finalizer.StringOr(""))) finalizer.Fail("is reserved: Muster itself sets it");
  }
}

// Both names of the field count: the older one is the default of the newer one.
void CheckServiceAccount(const Field& account, const TenantPlace& place) {
  const std::string_view name = account.StringOr("");
  if (name.empty() || name == "default" || place.tenancy.HasServiceAccount(name)) return;
  account.Fail(
      "must be \"default\", absent, or one of those that annotation "
      "muster.io/service-accounts of the namespace lists");
}

void CheckPodIdentity(const Field& spec, const TenantPlace& place) {
  CheckServiceAccount(spec["serviceAccountName"], place);
  CheckServiceAccount(spec["serviceAccount"], place);
  if (place.privileged) return;
  const Field node = spec["nodeName"];
  if (!node.StringOr("").empty())
    node.Fail("must be absent: the member's scheduler chooses the machine; use nodeSelector");
  const Field scheduler = spec["schedulerName"];
  const std::string_view name = scheduler.StringOr("");
  if (!name.empty() && name != "default-scheduler")
    scheduler.Fail("must be absent or default-scheduler");
}

// Parts of a Ray cluster beside its pod templates: the labels of a group become labels of its pods,
// and the head's Service is an object of its own.
void CheckRayCluster(const Field& cluster, const TenantPlace& place) {
  const Field head = cluster["headGroupSpec"];
  CheckReservedLabels(head["labels"]);
  CheckTemplateMetadata(head["headService"]["metadata"], place);
  CheckReservedAnnotations(cluster["headServiceAnnotations"], true);
  for (const Field& group : cluster["workerGroupSpecs"].Elements())
    CheckReservedLabels(group["labels"]);
}

}  // namespace

void CheckReservedLabels(const Field& labels) {
  CheckKeys(labels, [](std::string_view) { return false; });
  const Field managed = labels.Named(kManagedLabel);
  if (managed.StringOr("true") != "true") managed.Fail("may only be \"true\"");
}

void CheckReservedAnnotations(const Field& annotations, bool of_template) {
  CheckKeys(annotations, [of_template](std::string_view key) {
    return of_template ? IsIn(kPodAnnotations, key) : IsIn(kJobAnnotations, key);
  });
}

void CheckIdentity(const Field& manifest, std::string_view kind, const TenantPlace& place) {
  const Field metadata = manifest["metadata"];
  CheckReservedLabels(metadata["labels"]);
  CheckReservedAnnotations(metadata["annotations"], false);
  const Field partitions = metadata["annotations"].Named("muster.io/partitions");
  if (partitions.present() && kind != "BatchScript") partitions.Fail("is for batch scripts only");
  VisitPodTemplates(manifest, kind, [&](const Field& pod_template) {
    const Field spec = PodSpecOf(pod_template);
    CheckTemplateMetadata(pod_template["metadata"], place);
    CheckPodIdentity(spec, place);
  });
  if (kind == "JobSet") {
    VisitPath(manifest, {"spec", "replicatedJobs", "[]", "template", "metadata"},
              [&](const Field& of_job) { CheckTemplateMetadata(of_job, place); });
  }
  if (kind == "RayCluster") CheckRayCluster(manifest["spec"], place);
  if (kind == "RayJob") CheckRayCluster(manifest["spec"]["rayClusterSpec"], place);
}

}  // namespace muster::shapes
