// Rendering of a snapshot for one member: overrides, their rules, variables and patches.
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kQueue =
    R"({"kind":"ClusterQueue","metadata":{"labels":{"a":"b"},"name":"gpu"},)"
    R"("spec":{"groups":[{"cpu":4},{"cpu":8}],"cohort":"all"}})";
constexpr const char* kMap = R"({"kind":"ConfigMap","data":{"where":"hub"}})";

JsonPatch Add(const std::string& path, const std::string& value) {
  return {PatchOp::kAdd, path, value};
}
JsonPatch Replace(const std::string& path, const std::string& value) {
  return {PatchOp::kReplace, path, value};
}
JsonPatch Remove(const std::string& path) { return {PatchOp::kRemove, path, ""}; }

OverrideRule Everywhere(const std::vector<JsonPatch>& patches) {
  return {std::vector<LabelSelector>{}, false, patches};
}
OverrideRule Where(const LabelMap& labels, const std::vector<JsonPatch>& patches) {
  return {std::vector<LabelSelector>{{labels, {}}}, false, patches};
}
OverrideRule DeletedWhere(const LabelMap& labels) {
  return {std::vector<LabelSelector>{{labels, {}}}, true, {}};
}

class RenderTest : public ::testing::Test {
 protected:
  RenderTest() {
    snapshot_.placement = "spread";
    snapshot_.resources = {{{"", "v1", "Namespace", "", "ml"}, "", R"({"kind":"Namespace"})"},
                           {{"", "v1", "ConfigMap", "ml", "settings"}, "", kMap},
                           {{kKueue, "v1beta1", "ClusterQueue", "", "gpu"}, "", kQueue}};
    member_.name = "east";
    member_.labels = {{"region", "eu"}, {"fast/net", "yes"}};
  }

  static ResourceOverride OfQueue(const std::vector<OverrideRule>& rules,
                                  const std::string& name = "tune") {
    return {"", name, "", false, {{kKueue, "v1beta2", "ClusterQueue", "", "gpu"}}, rules};
  }
  static ResourceOverride OfMap(const std::vector<OverrideRule>& rules,
                                const std::string& name = "tune") {
    return {"ml", name, "", false, {{"", "v1", "ConfigMap", "ml", "settings"}}, rules};
  }
  RenderedSnapshot RenderWith(const std::vector<ResourceOverride>& overrides) const {
    ConfigView config;
    for (const auto& one : overrides) config.overrides[{one.ns, one.name}] = one;
    return Render(config, snapshot_, member_);
  }
  // The manifest of the object of this kind, or the error; "" if it is not for the member.
  static std::string Of(const std::string& kind, const RenderedSnapshot& rendered) {
    for (const auto& object : rendered.objects) {
      if (object.ref.kind == kind) return object.manifest;
    }
    return rendered.error;
  }
  std::string Queue(const std::vector<JsonPatch>& patches) const {
    return Of("ClusterQueue", RenderWith({OfQueue({Everywhere(patches)})}));
  }

  ResourceSnapshot snapshot_;
  MemberCluster member_;
};

TEST_F(RenderTest, WithoutOverrides_EachMemberHasTheSnapshotAsItIs) {
  const RenderedSnapshot rendered = RenderWith({});
  ASSERT_EQ(rendered.objects.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rendered.objects[i].ref, snapshot_.resources[i].ref);
    EXPECT_EQ(rendered.objects[i].manifest, snapshot_.resources[i].manifest);
    EXPECT_EQ(rendered.objects[i].hash.size(), 32u);
  }
  EXPECT_THAT(rendered.overrides, IsEmpty());
  EXPECT_EQ(rendered.error, "");
  member_.name = "west";
  EXPECT_EQ(RenderWith({}).hash, rendered.hash);
}

TEST_F(RenderTest, Patches_ChangeManifestsAsRfc6902Says) {
  struct Case {
    const char* what;
    std::vector<JsonPatch> patches;
    const char* spec;
  };
  for (const Case& one : std::vector<Case>{
           {"replace",
            {Replace("/spec/cohort", R"("eu")")},
            R"({"groups":[{"cpu":4},{"cpu":8}],"cohort":"eu"})"},
           {"add of a new member",
            {Add("/spec/x", "1")},
            R"({"groups":[{"cpu":4},{"cpu":8}],"cohort":"all","x":1})"},
           {"add of one that is there replaces it",
            {Add("/spec/cohort", "null")},
            R"({"groups":[{"cpu":4},{"cpu":8}],"cohort":null})"},
           {"remove keeps the order of the rest", {Remove("/spec/groups")}, R"({"cohort":"all"})"},
           {"into a list",
            {Replace("/spec/groups/1/cpu", "16")},
            R"({"groups":[{"cpu":4},{"cpu":16}],"cohort":"all"})"},
           {"add in front of a place of a list",
            {Add("/spec/groups/0", "{}")},
            R"({"groups":[{},{"cpu":4},{"cpu":8}],"cohort":"all"})"},
           {"add at the end of a list",
            {Add("/spec/groups/-", "{}")},
            R"({"groups":[{"cpu":4},{"cpu":8},{}],"cohort":"all"})"},
           {"remove from a list",
            {Remove("/spec/groups/0")},
            R"({"groups":[{"cpu":8}],"cohort":"all"})"},
           {"each on what the one before left",
            {Add("/spec/o", "{}"), Add("/spec/o/p", "[]"), Remove("/spec/groups"),
             Remove("/spec/cohort")},
            R"({"o":{"p":[]}})"},
           {"parts with / and ~",
            {Replace("/spec", R"({"a/b":{"c~d":1}})"), Replace("/spec/a~1b/c~0d", "2")},
            R"({"a/b":{"c~d":2}})"},
       }) {
    EXPECT_EQ(Queue(one.patches),
              R"({"kind":"ClusterQueue","metadata":{"labels":{"a":"b"},"name":"gpu"},"spec":)" +
                  std::string(one.spec) + "}")
        << one.what;
  }
}

TEST_F(RenderTest, APatchThatCannotBeApplied_NamesOverrideRulePathAndObject) {
  struct Case {
    std::vector<JsonPatch> patches;
    const char* error;
  };
  for (const Case& one : std::vector<Case>{
           {{Replace("/spec/none", "1")},
            "replace /spec/none of ClusterQueue gpu: there is nothing at the path"},
           {{Remove("/spec/none")},
            "remove /spec/none of ClusterQueue gpu: there is nothing at the path"},
           {{Add("/spec/none/x", "1")},
            "add /spec/none/x of ClusterQueue gpu: there is nothing at /spec/none"},
           {{Add("/spec/cohort/x", "1")},
            "add /spec/cohort/x of ClusterQueue gpu: there is neither an object nor a list at "
            "/spec/cohort"},
           {{Add("/spec/groups/3", "1")},
            "add /spec/groups/3 of ClusterQueue gpu: the list there has 2 entries"},
           {{Remove("/spec/groups/2")},
            "remove /spec/groups/2 of ClusterQueue gpu: the list there has 2 entries"},
           {{Remove("/spec/groups/-")},
            "remove /spec/groups/- of ClusterQueue gpu: the list there has 2 entries"},
           {{Replace("/spec/groups/01", "1")},
            "replace /spec/groups/01 of ClusterQueue gpu: the list there has 2 entries"},
           {{Add("/spec/x", R"("${MEMBER-CLUSTER-LABEL-KEY-zone}")")},
            "add /spec/x of ClusterQueue gpu: member cluster east does not have label zone"},
       }) {
    const RenderedSnapshot rendered = RenderWith(
        {OfQueue({Where({{"region", "us"}}, {Remove("/kind")}), Everywhere(one.patches)})});
    EXPECT_EQ(rendered.error, "ClusterResourceOverride tune, rule 2, " + std::string(one.error));
    EXPECT_THAT(rendered.objects, IsEmpty());
  }
  EXPECT_EQ(RenderWith({OfMap({Everywhere({Remove("/x")})})}).error,
            "ResourceOverride ml/tune, rule 1, remove /x of ConfigMap ml/settings: there is "
            "nothing at the path");
}

TEST_F(RenderTest, Variables_AreFilledInWhereverAValueHasText) {
  struct Case {
    const char* value;
    const char* made;
  };
  for (
      const Case& one : std::vector<Case>{
          {R"("${MEMBER-CLUSTER-NAME}")", R"("east")"},
          {R"("q-${MEMBER-CLUSTER-NAME}-${MEMBER-CLUSTER-LABEL-KEY-region}-${MEMBER-CLUSTER-NAME}")",
           R"("q-east-eu-east")"},
          {R"({"${MEMBER-CLUSTER-LABEL-KEY-fast/net}":["${MEMBER-CLUSTER-NAME}",1]})",
           R"({"yes":["east",1]})"},
          {R"("${MEMBER-CLUSTER-LABEL-KEY-kubernetes-fleet.io/member-name}")", R"("east")"},
          {R"("$MEMBER-CLUSTER-NAME ${OTHER}")", R"("$MEMBER-CLUSTER-NAME ${OTHER}")"},
      }) {
    EXPECT_EQ(Queue({Replace("/spec", one.value)}),
              R"({"kind":"ClusterQueue","metadata":{"labels":{"a":"b"},"name":"gpu"},"spec":)" +
                  std::string(one.made) + "}");
  }
}

TEST_F(RenderTest, Rules_AreForMembersByTheirLabels) {
  const auto patch = [](const std::string& value) {
    return std::vector<JsonPatch>{Replace("/data/where", value)};
  };
  OverrideRule nobody{std::nullopt, false, patch("1")};
  OverrideRule either{
      std::vector<LabelSelector>{{{{"region", "us"}}, {}}, {{{"region", "eu"}}, {}}}, false,
      patch("1")};
  struct Case {
    const char* what;
    std::vector<OverrideRule> rules;
    // nullptr: the member does not get it
    const char* where;
  };
  for (const Case& one : std::vector<Case>{
           {"no selector: nobody", {nobody}, R"("hub")"},
           {"an empty selector: everybody", {Everywhere(patch("1"))}, "1"},
           {"labels that match", {Where({{"region", "eu"}}, patch("1"))}, "1"},
           {"labels that do not", {Where({{"region", "us"}}, patch("1"))}, R"("hub")"},
           {"one of several terms", {either}, "1"},
           {"the member's name",
            {Where({{"kubernetes-fleet.io/member-name", "east"}}, patch("1"))},
            "1"},
           {"the last of two that match counts",
            {Everywhere(patch("1")), Where({{"region", "eu"}}, patch("2"))},
            "2"},
           {"both apply",
            {Everywhere({Add("/data", "{}")}), Everywhere({Add("/data/where", "3")})},
            "3"},
           {"Delete takes the object away",
            {DeletedWhere({{"region", "eu"}}), Everywhere(patch("1"))},
            nullptr},
           {"Delete for others does not", {DeletedWhere({{"region", "us"}})}, R"("hub")"},
       }) {
    const RenderedSnapshot rendered = RenderWith({OfMap(one.rules)});
    const std::string expected = one.where == nullptr ? ""
                                                      : R"({"kind":"ConfigMap","data":{"where":)" +
                                                            std::string(one.where) + "}}";
    EXPECT_EQ(Of("ConfigMap", rendered), expected) << one.what;
    EXPECT_EQ(rendered.error, "") << one.what;
  }
}

TEST_F(RenderTest, OverridesOfTheCluster_ComeBeforeThoseOfTheNamespace_AndByName) {
  const auto said = [](const char* value) {
    return std::vector<OverrideRule>{Everywhere({Replace("/data/where", value)})};
  };
  ResourceOverride space{"", "z", "", false, {{"", "v1", "Namespace", "", "ml"}}, said("1")};
  space.rules[0].patches = {Add("/data", R"({"where":1})")};
  const RenderedSnapshot both = RenderWith({OfMap(said("2"), "b"), OfMap(said("3"), "a"), space});
  EXPECT_EQ(Of("ConfigMap", both), R"({"kind":"ConfigMap","data":{"where":2}})");
  EXPECT_THAT(both.overrides, ElementsAre("ClusterResourceOverride/z", "ResourceOverride/ml/a",
                                          "ResourceOverride/ml/b"));
  // The rule holds for the Namespace itself too, but not for objects outside of namespaces.
  EXPECT_EQ(Of("Namespace", both), R"({"kind":"Namespace","data":{"where":1}})");
  EXPECT_EQ(Of("ClusterQueue", both), kQueue);
}

TEST_F(RenderTest, ADeleteOfTheCluster_IsNotUndoneInTheNamespace) {
  ResourceOverride space{
      "", "z", "", false, {{"", "v1", "Namespace", "", "ml"}}, {DeletedWhere({})}};
  const RenderedSnapshot rendered = RenderWith({space, OfMap({Everywhere({Remove("/none")})})});
  EXPECT_EQ(Of("ConfigMap", rendered), "");
  EXPECT_THAT(rendered.overrides, ElementsAre("ClusterResourceOverride/z"));
}

TEST_F(RenderTest, AnOverrideForAPlacement_IsForNoOther) {
  struct Case {
    const char* what;
    const char* snapshot_ns;
    const char* placement;
    bool of_cluster;
    bool counts;
  };
  for (const Case& one : std::vector<Case>{
           {"every placement", "", "", false, true},
           {"this one", "", "spread", true, true},
           {"another one", "", "other", true, false},
           {"a ResourcePlacement of that name", "", "spread", false, false},
           {"this ResourcePlacement", "ml", "spread", false, true},
           {"a ClusterResourcePlacement of that name", "ml", "spread", true, false},
           {"one of that name in another namespace", "web", "spread", false, false},
       }) {
    snapshot_.ns = one.snapshot_ns;
    ResourceOverride override = OfMap({Everywhere({Replace("/data/where", "1")})});
    override.placement = one.placement;
    override.placement_of_cluster = one.of_cluster;
    EXPECT_EQ(Of("ConfigMap", RenderWith({override})) != kMap, one.counts) << one.what;
  }
}

TEST_F(RenderTest, AnOverride_IsForWhatItNames_InWhateverVersion) {
  ResourceOverride queue = OfQueue({Everywhere({Remove("/spec")})});
  EXPECT_NE(Of("ClusterQueue", RenderWith({queue})), kQueue);
  queue.resources[0].name = "cpu";
  EXPECT_EQ(Of("ClusterQueue", RenderWith({queue})), kQueue);
  queue.resources[0].name = "gpu";
  queue.resources[0].group = "x.io";
  EXPECT_EQ(Of("ClusterQueue", RenderWith({queue})), kQueue);
  ResourceOverride map = OfMap({Everywhere({Remove("/data")})});
  map.ns = map.resources[0].ns = "web";  // an object of that name elsewhere
  EXPECT_EQ(Of("ConfigMap", RenderWith({map})), kMap);
}

TEST_F(RenderTest, TheHash_TellsMembersApartThatGetSomethingElse) {
  const auto by_name = OfQueue({Everywhere({Add("/spec/x", R"("${MEMBER-CLUSTER-NAME}")")})});
  const std::string east = RenderWith({by_name}).hash;
  member_.name = "west";
  EXPECT_NE(RenderWith({by_name}).hash, east);
  EXPECT_NE(RenderWith({OfMap({DeletedWhere({})})}).hash, RenderWith({}).hash);
  const ConfigView none;
  const Renderer renderer(none, snapshot_);
  EXPECT_EQ(renderer.For(member_, false).hash, RenderWith({}).hash);
  EXPECT_EQ(renderer.For(member_, false).objects[0].manifest, "");
  EXPECT_TRUE(renderer.same_for_all());
}

}  // namespace
}  // namespace muster::propagation::testing
