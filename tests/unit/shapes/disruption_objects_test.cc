// Evictions and disruption budgets of placements, read from their manifests.
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

constexpr const char* kBudget = "ResourcePlacementDisruptionBudget";
constexpr const char* kEviction = "ResourcePlacementEviction";

json::value Object(const std::string& kind, const std::string& spec) {
  const std::string ns = kind.starts_with("Cluster") ? "" : ", namespace: ml";
  return Yaml("{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: " + kind +
              ", metadata: {name: p" + ns + "}, spec: " + spec + "}");
}

TEST(DisruptionObjects, AreKeptUnderTheirNamespaceUntilTheyAreRemoved) {
  ConfigView config;
  const auto put = [&](ObjectKind kind, const json::value& manifest) {
    ASSERT_TRUE(ParseObject(manifest).ok()) << ProblemsOf(ParseObject(manifest));
    ASSERT_TRUE(ApplyTo(&config, kind, manifest).ok());
  };
  put(ObjectKind::kResourcePlacementDisruptionBudget, Object(kBudget, "{maxUnavailable: 25%}"));
  put(ObjectKind::kClusterResourcePlacementDisruptionBudget,
      Object("ClusterResourcePlacementDisruptionBudget", "{minAvailable: 2}"));
  const std::string spec = "{placementName: train, clusterName: east}";
  put(ObjectKind::kResourcePlacementEviction, Object(kEviction, spec));
  put(ObjectKind::kClusterResourcePlacementEviction,
      Object("ClusterResourcePlacementEviction", spec));
  const std::pair<std::string, std::string> of_ml("ml", "p"), of_cluster("", "p");
  EXPECT_EQ(config.disruption_budgets.at(of_ml),
            (DisruptionBudget{"ml", "p", DisruptionLimit{25, true}, std::nullopt}));
  EXPECT_EQ(config.disruption_budgets.at(of_cluster),
            (DisruptionBudget{"", "p", std::nullopt, DisruptionLimit{2, false}}));
  EXPECT_EQ(config.placement_evictions.at(of_ml).placement, "train");
  EXPECT_EQ(config.placement_evictions.at(of_cluster).cluster, "east");
  EXPECT_FALSE(config.placement_evictions.at(of_ml).over);
  RemoveFrom(&config, ObjectKind::kResourcePlacementDisruptionBudget, "ml", "p");
  RemoveFrom(&config, ObjectKind::kResourcePlacementEviction, "ml", "p");
  EXPECT_FALSE(config.disruption_budgets.contains(of_ml));
  EXPECT_FALSE(config.placement_evictions.contains(of_ml));
  EXPECT_TRUE(config.disruption_budgets.contains(of_cluster));
  EXPECT_TRUE(config.placement_evictions.contains(of_cluster));
}

TEST(DisruptionObjects, WrongFieldsAreNamed) {
  struct Case {
    const char* says;
    const char* kind;
    const char* spec;
    const char* problem;
  };
  const Case cases[] = {
      {"both limits", kBudget, "{maxUnavailable: 1, minAvailable: 1}", "spec: must have exactly"},
      {"no limit", kBudget, "{}", "spec: must have exactly"},
      {"below none", kBudget, "{minAvailable: -1}", "spec.minAvailable: "},
      {"more than all", kBudget, "{maxUnavailable: 101%}", "spec.maxUnavailable: must be a number"},
      {"no number", kBudget, "{maxUnavailable: some}", "spec.maxUnavailable: must be a number"},
      {"no amount", kBudget, "{maxUnavailable: true}", "spec.maxUnavailable: must be a number"},
      {"another field", kBudget, "{minAvailable: 1, selector: {}}", "spec.selector: "},
      {"no placement", kEviction, "{clusterName: east}", "spec.placementName: is required"},
      {"no member", kEviction, "{placementName: p}", "spec.clusterName: is required"},
      {"no member's name", kEviction, "{placementName: p, clusterName: a_b}", "spec.clusterName: "},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(ProblemsOf(ParseObject(Object(one.kind, one.spec))),
                testing::HasSubstr(one.problem))
        << one.says;
  }
}

TEST(DisruptionObjects, AnEvictionIsForOnePlacementOnOneMember) {
  ConfigView config;
  const auto put = [&](const std::string& spec) {
    return ApplyTo(&config, ObjectKind::kResourcePlacementEviction, Object(kEviction, spec));
  };
  ASSERT_TRUE(put("{placementName: a, clusterName: east}").ok());
  EXPECT_TRUE(put("{placementName: a, clusterName: east}").ok());
  EXPECT_EQ(put("{placementName: b, clusterName: east}").error().fields.at(0).field,
            "spec.placementName");
  EXPECT_EQ(put("{placementName: a, clusterName: west}").error().fields.at(0).field,
            "spec.clusterName");
}

TEST(DisruptionObjects, AStatusSaysWhetherAnEvictionIsOver) {
  const std::pair<const char*, bool> cases[] = {
      {"{type: Valid, status: 'True'}", false},
      {"{type: Valid, status: 'False'}", true},
      {"{type: Executed, status: 'False'}", true},
      {"{type: Executed, status: 'True'}", true},
  };
  for (const auto& [condition, over] : cases) {
    ConfigView config;
    json::value manifest = Object(kEviction, "{placementName: a, clusterName: east}");
    manifest.as_object()["status"] = Yaml("{conditions: [" + std::string(condition) + "]}");
    ASSERT_TRUE(ApplyTo(&config, ObjectKind::kResourcePlacementEviction, manifest).ok());
    EXPECT_EQ(config.placement_evictions.at({"ml", "p"}).over, over) << condition;
    EXPECT_FALSE(ParseObject(manifest)->manifest.as_object().contains("status"))
        << "nobody else writes it";
  }
}

TEST(DisruptionObjects, AStatusSaysWhenAnEvictionWasCarriedOut) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"{type: Executed, status: 'True', lastTransitionTime: '1970-01-01T00:01:00.000007Z'}",
       60'000'007},
      {"{type: Executed, status: 'False', lastTransitionTime: '1970-01-01T00:01:00Z'}", 0},
      {"{type: Valid, status: 'True', lastTransitionTime: '1970-01-01T00:01:00Z'}", 0},
      {"{type: Executed, status: 'True'}", 0},
  };
  for (const auto& [condition, at] : cases) {
    ConfigView config;
    json::value manifest = Object(kEviction, "{placementName: a, clusterName: east}");
    manifest.as_object()["status"] = Yaml("{conditions: [" + std::string(condition) + "]}");
    ASSERT_TRUE(ApplyTo(&config, ObjectKind::kResourcePlacementEviction, manifest).ok());
    EXPECT_EQ(config.placement_evictions.at({"ml", "p"}).executed_at.us, at) << condition;
  }
}

}  // namespace
}  // namespace muster::shapes
