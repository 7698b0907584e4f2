// Groups and plurals come from the tables of kinds (shape_kind.h, object_kinds.h), so a role names
// what the paths of the API name.
#include "api/service/resource_refs.h"

namespace muster::api {
namespace {

constexpr std::string_view kMusterGroup = "muster.io";

}  // namespace

auth::ResourceRef RefOf(ShapeKind shape, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
  const ShapeInfo& info = ShapeInfoOf(shape);
  return {info.group(), info.resource(), subresource, ns, name};
}

auth::ResourceRef RefOf(const JobRecord& job, std::string_view subresource) {
  return RefOf(job.shape, job.ns, job.name, subresource);
}

auth::ResourceRef WorkloadRef(std::string_view ns, std::string_view workload,
                              std::string_view subresource) {
  return RefOf(ShapeKind::kWorkload, ns, workload, subresource);
}

auth::ResourceRef RefOf(const shapes::KindInfo& info, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
  return {info.group, info.plural, subresource, info.namespaced ? ns : std::string_view(), name};
}

auth::ResourceRef EventsIn(std::string_view ns) { return {kMusterGroup, "events", "", ns, ""}; }

auth::ResourceRef AccountingIn(std::string_view ns, std::string_view subresource) {
  return {kMusterGroup, "accounting", subresource, ns, ""};
}

auth::ResourceRef SimulationsIn(std::string_view ns) {
  return {kMusterGroup, "simulations", "", ns, ""};
}

auth::ResourceRef AuditTrail() { return {kMusterGroup, "audit", "", "", ""}; }

auth::ResourceRef ClusterQueueRef(std::string_view name) {
  return RefOf(shapes::InfoOf(ObjectKind::kClusterQueue), "", name);
}

auth::ResourceRef CohortRef(std::string_view name) {
  return RefOf(shapes::InfoOf(ObjectKind::kCohort), "", name);
}

auth::ResourceRef MemberRef(std::string_view name) {
  return RefOf(shapes::InfoOf(ObjectKind::kMemberCluster), "", name);
}

}  // namespace muster::api
