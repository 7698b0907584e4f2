// Configuration objects on a fake member: orders of small objects, and their outcomes.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "backends/member_objects.h"
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {

inline constexpr char kQueue[] = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/cq";
inline constexpr char kConfig[] = "/api/v1/namespaces/default/configmaps/cm";

class ObjectWorld : public BackendWorld {
 protected:
  MemberObjects& objects() { return dynamic_cast<MemberObjects&>(*backend_); }

  static ResourceRef QueueRef() { return {"kueue.x-k8s.io", "v1beta1", "ClusterQueue", "", "cq"}; }
  static ResourceRef ConfigRef() { return {"", "v1", "ConfigMap", "default", "cm"}; }

  /// An order of placement /crp; its hash is that of the manifest.
  static ObjectOrder Order(ResourceRef ref, std::string manifest, ApplyStrategy strategy = {}) {
    ObjectOrder order;
    order.cluster = "m";
    order.ref = std::move(ref);
    order.hash = "h" + std::to_string(std::hash<std::string>()(manifest));
    order.manifest = std::move(manifest);
    order.owner.placement = "/crp";
    order.strategy = strategy;
    order.before.ref = order.ref;
    return order;
  }
  static ObjectOrder QueueOrder(const std::string& quota, ApplyStrategy strategy = {}) {
    return Order(QueueRef(),
                 R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
                     "metadata":{"name":"cq","labels":{"team":"a"}},
                     "spec":{"cohort":"all","nominalQuota":")" +
                     quota + R"("}})",
                 strategy);
  }
  static ObjectOrder ConfigOrder(const std::string& value, ApplyStrategy strategy = {}) {
    return Order(ConfigRef(),
                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm"},"data":{"k":")" +
                     value + R"("}})",
                 strategy);
  }

  Result<ObjectOutcome> Apply(const ObjectOrder& order) {
    return muster::testing::Wait<ObjectOutcome>(
        [&](Callback<ObjectOutcome> done) { objects().Apply(order, std::move(done)); });
  }
  /// The outcome. If there is none, the test fails and a default one is returned.
  ObjectOutcome Must(const ObjectOrder& order) {
    auto outcome = Apply(order);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().detail);
    return outcome.ok() ? std::move(*outcome) : ObjectOutcome{};
  }
  /// The next order, with the outcome of this one on record.
  static ObjectOrder After(ObjectOrder order, const ObjectOutcome& outcome) {
    order.before = outcome.status;
    return order;
  }
  Result<bool> RemoveIt(const ResourceRef& ref, bool abandon = false,
                        const std::string& placement = "/crp") {
    ObjectRemoval removal{"m", ref, {placement}, "", abandon};
    return muster::testing::Wait<bool>(
        [&](Callback<bool> done) { objects().Remove(removal, std::move(done)); });
  }

  /// Writes as a user of the member does: by a merge patch.
  void Edit(const std::string& path, const std::string& patch) {
    const auto answer = member_.Call("PATCH", path + "?fieldManager=kubectl", patch,
                                     "application/merge-patch+json");
    ASSERT_TRUE(answer.ok()) << answer.body;
  }
  void MakeForeign(const std::string& path, const std::string& manifest) {
    const auto answer = member_.Call("POST", path + "?fieldManager=kubectl", manifest);
    ASSERT_TRUE(answer.ok()) << answer.body;
  }
  void MakeForeignQueue(const std::string& quota) {
    MakeForeign("/apis/kueue.x-k8s.io/v1beta1/clusterqueues",
                R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
                    "metadata":{"name":"cq","labels":{"team":"a","own":"yes"}},
                    "spec":{"cohort":"all","nominalQuota":")" +
                    quota + R"("}})");
  }
  std::string Quota() const { return TextAt(kQueue, "/spec/nominalQuota"); }
  std::string OwnerOf(const std::string& path) const {
    const json::object object = member_.Object(path);
    const json::value* annotations = object.at("metadata").as_object().if_contains("annotations");
    if (annotations == nullptr) return "";
    const json::value* mark = annotations->as_object().if_contains("muster.io/placement");
    return mark == nullptr ? "" : std::string(mark->as_string());
  }
  std::int64_t Requests(const std::string& what) const {
    const auto counts = member_.counts();
    const auto found = counts.requests.find(what);
    return found == counts.requests.end() ? 0 : found->second;
  }
};

}  // namespace muster::k8s
