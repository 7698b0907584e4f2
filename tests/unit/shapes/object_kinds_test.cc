// The table of the kinds of configuration objects, and that of the kinds of jobs: every value of
// the enumerations has one entry, and no name is given twice.
#include "schedd/shapes/config/object_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape_ops.h"

namespace muster::shapes {
namespace {

constexpr int kLastObjectKind = static_cast<int>(ObjectKind::kAccessToken);
constexpr int kLastShapeKind = static_cast<int>(ShapeKind::kWorkload);

TEST(ObjectKinds, EveryKind_HasOneEntry) {
  std::set<int> listed;
  for (const KindInfo* info : Kinds())
    EXPECT_TRUE(listed.insert(static_cast<int>(info->kind)).second) << info->name;
  for (int kind = 1; kind <= kLastObjectKind; ++kind) EXPECT_TRUE(listed.contains(kind)) << kind;
  EXPECT_EQ(listed.size(), static_cast<std::size_t>(kLastObjectKind));
  for (const KindInfo* info : Kinds()) EXPECT_EQ(&InfoOf(info->kind), info);
}

TEST(ObjectKinds, Names_AreUnique) {
  std::set<std::string> names, plurals, tables, shorts, of_cli;
  std::set<int> places;
  for (const KindInfo* info : Kinds()) {
    EXPECT_TRUE(names.insert(info->name).second) << info->name;
    EXPECT_TRUE(plurals.insert(info->plural).second) << info->plural;
    EXPECT_TRUE(tables.insert(info->table).second) << info->table;
    for (const char* name : info->short_names) {
      EXPECT_TRUE(name == nullptr || shorts.insert(name).second) << info->name;
    }
    const std::string cli = info->cli_name;
    EXPECT_TRUE(cli.empty() || of_cli.insert(cli).second) << cli;
    EXPECT_TRUE(places.insert(info->cli_place).second) << info->name;
  }
}

TEST(ObjectKinds, AreFoundByGroupAndPlural_AndByGroupAndName) {
  EXPECT_EQ(FindKind("kueue.x-k8s.io", "clusterqueues")->kind, ObjectKind::kClusterQueue);
  EXPECT_EQ(FindKind("", "secrets")->kind, ObjectKind::kSecret);
  EXPECT_EQ(FindKind("kueue.x-k8s.io", "namespaces"), nullptr);
  EXPECT_EQ(FindKind("node.k8s.io", "runtimeclasses")->kind, ObjectKind::kRuntimeClass);
  EXPECT_EQ(FindKindOf("kueue.x-k8s.io", "clusterqueues"), nullptr);
  for (const KindInfo* info : Kinds()) {
    EXPECT_EQ(FindKind(info->group, info->plural), info);
    EXPECT_EQ(FindKindOf(info->group, info->name), info);
    EXPECT_TRUE(Serves(*info, info->versions[0]));
    EXPECT_FALSE(Serves(*info, "v0"));
    EXPECT_FALSE(Serves(*info, ""));
  }
}

// An object that a ConfigView holds must leave it the way it came.
TEST(ObjectKinds, WhatIsPut_CanBeRemoved) {
  for (const KindInfo* info : Kinds()) {
    EXPECT_TRUE(info->check != nullptr) << info->name;
    EXPECT_EQ(info->put == nullptr, info->remove == nullptr) << info->name;
    EXPECT_FALSE(info->columns.empty()) << info->name;
  }
}

TEST(ObjectKinds, AMembersStateCell_TellsOneThatAnswersFromOneThatDoesNot) {
  const KindInfo* const info = FindKindOf("cluster.kubernetes-fleet.io", "MemberCluster");
  ASSERT_NE(info, nullptr);
  const auto column = std::find_if(info->columns.begin(), info->columns.end(), [](const auto& one) {
    return std::string_view(one.header) == "STATE";
  });
  ASSERT_NE(column, info->columns.end());
  const auto cell = [&](const char* healthy, const char* reason) {
    return column->compute(json::value{
        {"status",
         {{"cordoned", true},
          {"conditions",
           json::array{{{"type", "Healthy"}, {"status", healthy}, {"reason", reason}}}}}}});
  };
  EXPECT_EQ(cell("True", "Reachable"), "Cordoned");
  EXPECT_EQ(cell("False", "Unreachable"), "Unreachable");
  EXPECT_EQ(cell("False", "Unhealthy"), "Unhealthy");
}

TEST(ObjectKinds, StoredStatuses_AreThoseOfChecksAndEvictions) {
  std::set<std::string> stored;
  for (const KindInfo* info : Kinds()) {
    if (HasStoredStatus(*info)) stored.insert(info->name);
  }
  EXPECT_EQ(stored, (std::set<std::string>{"AdmissionCheck", "ClusterResourcePlacementEviction",
                                           "ResourcePlacementEviction"}));
}

TEST(ObjectKinds, OfTheFleetsAndMustersOwn_OnlyEnvelopesAreSent) {
  for (const KindInfo* info : Kinds()) {
    const std::string name = info->name;
    const std::string group = info->group;
    const bool own =
        group.ends_with("kubernetes-fleet.io") || group == kAccessGroup || group == kMusterGroup;
    EXPECT_EQ(info->sent, !own || name.ends_with("ResourceEnvelope")) << name;
  }
}

TEST(ShapeKinds, EveryKind_HasNamesAndOps) {
  std::set<int> listed;
  std::set<std::string_view> names, plurals;
  for (const ShapeInfo& info : kShapeInfos) {
    EXPECT_TRUE(listed.insert(static_cast<int>(info.kind)).second) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(info.plural.empty() || plurals.insert(info.plural).second) << info.plural;
    EXPECT_EQ(&ShapeInfoOf(info.kind), &info);
    const ShapeOps& ops = OpsOf(info.kind);
    EXPECT_EQ(ops.kind, info.kind);
    EXPECT_EQ(FindShape(info.api_version, info.name), &ops);
    if (!info.newer_version.empty()) {
      EXPECT_EQ(FindShape(info.newer_version, info.name), &ops);
    }
    EXPECT_EQ(FindShape("", info.name), nullptr);
  }
  EXPECT_EQ(listed.size(), static_cast<std::size_t>(kLastShapeKind));
  EXPECT_EQ(ShapeInfoOf(static_cast<ShapeKind>(99)).name, "");
}

}  // namespace
}  // namespace muster::shapes
