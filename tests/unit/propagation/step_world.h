// A small fleet for the tests of schedd/propagation/step: objects, placements, members, and the
// rows of earlier plans. Members do everything that their rows ask for.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedd/propagation/step/plan.h"
#include "schedd/propagation/step/render.h"
#include "schedd/propagation/step/select.h"
#include "schedd/text/json.h"

namespace muster::propagation::testing {

constexpr std::int64_t kSecond = kMicrosPerSecond;
constexpr const char* kKueue = "kueue.x-k8s.io";

inline ResourceSelector Selecting(const std::string& group, const std::string& kind,
                                  const std::string& name = "") {
  return {group, "v1", kind, name, {}, SelectionScope::kNamespaceWithResources};
}
inline ResourceSelector Space(const std::string& name,
                              SelectionScope scope = SelectionScope::kNamespaceWithResources) {
  return {"", "v1", "Namespace", name, {}, scope};
}

/// "ClusterQueue gpu, LocalQueue ml/train <ResourceEnvelope/x>".
inline std::string Names(const std::vector<SelectedResource>& resources) {
  std::string names;
  for (const auto& one : resources) {
    names += (names.empty() ? "" : ", ") + MentionOf(one.ref);
    if (!one.envelope.empty()) names += " <" + one.envelope + ">";
  }
  return names;
}

class StepWorld {
 public:
  StepWorld() { Commit(); }

  // --- what users declare

  void Put(ObjectKind kind, const std::string& ns, const std::string& name,
           const std::string& manifest) {
    StoredObject object;
    object.kind = kind;
    object.ns = ns;
    object.name = name;
    object.manifest = manifest;
    objects_.insert_or_assign({kind, ns, name}, std::make_shared<const StoredObject>(object));
    Commit();
  }
  void Delete(ObjectKind kind, const std::string& ns, const std::string& name) {
    objects_.erase({kind, ns, name});
    Commit();
  }
  void PutSpace(const std::string& name, const std::string& labels = "{}") {
    Put(ObjectKind::kNamespace, "", name,
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + R"(","labels":)" +
            labels + "}}");
  }
  /// A ClusterQueue with this stop policy, so that it can change.
  void PutQueue(const std::string& name, const std::string& stop = "None",
                const std::string& labels = "{}") {
    Put(ObjectKind::kClusterQueue, "", name,
        R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":")" +
            name + R"(","labels":)" + labels + R"(},"spec":{"stopPolicy":")" + stop + R"("}})");
  }
  void PutLocalQueue(const std::string& ns, const std::string& name,
                     const std::string& labels = "{}") {
    Put(ObjectKind::kLocalQueue, ns, name,
        R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":")" +
            name + R"(","namespace":")" + ns + R"(","labels":)" + labels +
            R"(},"spec":{"clusterQueue":"gpu"}})");
  }
  void PutConfigMap(const std::string& ns, const std::string& name, const std::string& data = "1") {
    Put(ObjectKind::kConfigMap, ns, name,
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
            R"(","namespace":")" + ns + R"("},"data":{"a":")" + data + R"("}})");
  }
  void PutSecret(const std::string& ns, const std::string& name,
                 const std::string& type = "Opaque") {
    Put(ObjectKind::kSecret, ns, name,
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":")" + name + R"(","namespace":")" +
            ns + R"("},"type":")" + type + R"("})");
  }
  /// Each item as apiVersion, kind and name.
  void PutEnvelope(const std::string& ns, const std::string& name,
                   const std::vector<std::array<std::string, 3>>& items) {
    ResourceEnvelope envelope{ns, name, {}};
    for (const auto& [api_version, kind, item] : items) {
      const std::size_t slash = api_version.find('/');
      ResourceRef ref;
      if (slash != std::string::npos) ref.group = api_version.substr(0, slash);
      ref.version = api_version.substr(slash == std::string::npos ? 0 : slash + 1);
      ref.kind = kind;
      ref.ns = ns;
      ref.name = item;
      envelope.items.push_back({item, ref,
                                R"({"apiVersion":")" + api_version + R"(","kind":")" + kind +
                                    R"(","metadata":{"name":")" + item + R"("}})"});
    }
    config_.envelopes[{ns, name}] = envelope;
    Put(ns.empty() ? ObjectKind::kClusterResourceEnvelope : ObjectKind::kResourceEnvelope, ns, name,
        R"({"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"x","metadata":{}})");
  }
  void Override(ResourceOverride one) {
    config_.overrides[{one.ns, one.name}] = std::move(one);
    Commit();
  }
  void NoOverride(const std::string& ns, const std::string& name) {
    config_.overrides.erase({ns, name});
    Commit();
  }
  /// An eviction object that evicted `spread` from the member at this moment.
  void Evict(const std::string& cluster, WallTime at) {
    const std::string name = "eviction-" + std::to_string(config_.placement_evictions.size());
    config_.placement_evictions[{"", name}] = {"", name, "spread", cluster, true, at};
    Commit();
  }
  void ForgetEvictions() {
    config_.placement_evictions.clear();
    Commit();
  }
  /// ClusterResourcePlacement `spread` of ClusterQueue gpu; a test edits it and calls Place.
  static Placement QueuePlacement(PlacementType type = PlacementType::kPickAll) {
    Placement placement;
    placement.name = "spread";
    placement.selectors = {Selecting(kKueue, "ClusterQueue", "gpu")};
    placement.policy.type = type;
    return placement;
  }
  void Place(const Placement& placement) {
    placements_.Put(std::make_shared<const Placement>(placement));
    Commit();
  }
  void Unplace(const std::string& ns, const std::string& name) {
    placements_.Erase(ns, name);
    Commit();
  }

  // --- members

  /// In any order; they are sorted by name.
  MemberCluster& Member(const std::string& name, const LabelMap& labels = {}) {
    auto& clusters = view_.clusters;
    auto at = std::find_if(clusters.begin(), clusters.end(),
                           [&](const auto& one) { return one.member.name >= name; });
    if (at == clusters.end() || at->member.name != name) {
      at = clusters.insert(at, core::ClusterView{});
      at->member.name = name;
      at->member.labels = labels;
      at->member.observed_at = now_;
    }
    return at->member;
  }
  void RemoveMember(const std::string& name) {
    std::erase_if(view_.clusters, [&](const auto& one) { return one.member.name == name; });
  }
  void TakesNothing(const std::string& name) { takes_nothing_.insert(name); }

  // --- plans and rows

  WorkPlan Plan() const {
    return PlanWorks(
        view_, [&](const std::string& cluster) { return !takes_nothing_.contains(cluster); }, now_);
  }
  /// Plans and records, and expects that a second plan on the result changes nothing.
  WorkPlan Step() {
    WorkPlan plan = Plan();
    Carry(plan);
    const WorkPlan again = Plan();
    EXPECT_TRUE(again.empty()) << "a second plan at once: " << Told(again);
    EXPECT_EQ(again.again_at, plan.again_at);
    return plan;
  }
  void Carry(const WorkPlan& plan) {
    for (const auto& work : plan.works) works_.works.insert_or_assign(KeyOf(*work), work);
    for (const auto& key : plan.ended_works) EXPECT_TRUE(works_.works.erase(key));
    for (const auto& one : plan.snapshots) works_.snapshots.insert_or_assign(KeyOf(*one), one);
    for (const auto& key : plan.ended_snapshots) EXPECT_TRUE(works_.snapshots.erase(key));
    Commit();
  }
  const Work* WorkOn(const std::string& cluster, const std::string& placement = "spread",
                     const std::string& ns = "") const {
    const auto found = works_.works.find({ns, placement, cluster});
    return found == works_.works.end() ? nullptr : found->second.get();
  }
  /// Changes a row as the propagator would.
  template <class Edit>
  void EditWork(const std::string& cluster, const Edit& edit) {
    Work work = *WorkOn(cluster);
    edit(work);
    works_.works.insert_or_assign(KeyOf(work), std::make_shared<const Work>(work));
    Commit();
  }
  /// The member has done everything that its row asks for.
  void Obey(const std::string& cluster,
            ManifestAvailability availability = ManifestAvailability::kAvailable) {
    const Work* row = WorkOn(cluster);
    if (row == nullptr || row->state == WorkState::kScheduled) return;
    const auto snapshot = works_.snapshots.find({row->ns, row->placement, row->snapshot});
    RenderedSnapshot rendered;
    if (row->state == WorkState::kBound)
      rendered = Render(config_, *snapshot->second, Member(cluster));
    if (row->state == WorkState::kBound && rendered.hash != row->rendered) return;
    EditWork(cluster, [&](Work& work) {
      std::vector<ManifestStatus> kept;
      for (const RenderedObject& object : rendered.objects) {
        ManifestStatus& status = kept.emplace_back();
        status.ref = object.ref;
        status.envelope = object.envelope;
        status.result = ManifestResult::kApplied;
        status.applied = object.hash;
        status.availability = availability;
      }
      work.manifests = std::move(kept);
    });
  }
  void ObeyAll() {
    for (const auto& cluster : view_.clusters) Obey(cluster.member.name);
  }
  void Fail(const std::string& cluster) {
    EditWork(cluster, [](Work& work) {
      for (auto& manifest : work.manifests) manifest.result = ManifestResult::kApplyFailed;
    });
  }
  /// "a:bound/0 b:scheduled c:leaving": state and revision of all rows.
  std::string Rows() const {
    std::string rows;
    for (const auto& [key, work] : works_.works) rows += (rows.empty() ? "" : " ") + Told(*work);
    return rows;
  }
  std::string Revisions() const {
    std::string all;
    for (const auto& [key, one] : works_.snapshots)
      all += (all.empty() ? "" : " ") + std::to_string(one->index);
    return all;
  }
  void Pass(std::int64_t us) { now_.us += us; }
  WallTime now() const { return now_; }
  const WorldView& view() const { return view_; }
  const ConfigView& config() const { return config_; }
  ConfigView& mutable_config() { return config_; }
  const WorkTable& works() const { return works_; }

  static std::string Told(const Work& work) {
    switch (work.state) {
      case WorkState::kScheduled:
        return work.cluster + ":scheduled";
      case WorkState::kBound:
        return work.cluster + ":bound/" + std::to_string(work.snapshot);
      case WorkState::kLeaving:
        return work.cluster + (work.abandon ? ":abandoned" : ":leaving");
    }
    return "";
  }
  static std::string Told(const WorkPlan& plan) {
    std::string told;
    for (const auto& work : plan.works) told += Told(*work) + " waits=" + work->waits + "; ";
    return told + std::to_string(plan.ended_works.size()) + " ended, " +
           std::to_string(plan.snapshots.size()) + " revisions, " +
           std::to_string(plan.ended_snapshots.size()) + " ended";
  }

 private:
  void Commit() {
    config_.placements = std::make_shared<const PlacementTable>(placements_);
    view_.config = std::make_shared<const ConfigView>(config_);
    view_.objects = std::make_shared<const ObjectTable>(objects_);
    view_.works = std::make_shared<const WorkTable>(works_);
  }

  WorldView view_;
  ConfigView config_;
  PlacementTable placements_;
  ObjectTable objects_;
  WorkTable works_;
  std::set<std::string> takes_nothing_;
  WallTime now_{1'000'000'000'000'000};
};

}  // namespace muster::propagation::testing
