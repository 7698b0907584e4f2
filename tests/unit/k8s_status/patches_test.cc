// The patches that Muster writes on a member.
#include "backends/k8s/batch_pods.h"
#include "backends/k8s/patches.h"

#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

TEST(Decorate, AddsTheFinalizerAndTheSequenceAndNothingElse) {
  json::object object = Yaml("{metadata: {name: a, annotations: {note: y}}, spec: {x: 1}}");
  Decorate(42, false, &object);
  EXPECT_EQ(WriteJson(object),
            R"({"metadata":{"name":"a","annotations":{"note":"y","muster.io/dispatch-sequence":)"
            R"("42"},"finalizers":["muster.io/record"]},"spec":{"x":1}})");
}

TEST(Decorate, MarksWhatRunsAtOnceAsReleasedAndNothingElse) {
  json::object object = Yaml("{metadata: {annotations: {muster.io/released: 'true'}}}");
  Decorate(1, false, &object);
  EXPECT_EQ(ReadObject(KindNamed("Job"), object).released, false) << "the user cannot set it";
  Decorate(1, true, &object);
  EXPECT_EQ(ReadObject(KindNamed("Job"), object).released, true);
}

struct ReleaseCase {
  const char* kind;
  const char* rendered;
  const char* operations;  // after the tests, before the mark
};

TEST(ReleasePatch, LetsEachKindRunByItsOwnField) {
  const std::vector<ReleaseCase> cases = {
      {"Job", "{spec: {suspend: false}}", R"({"op":"add","path":"/spec/suspend","value":false})"},
      {"Job", "{spec: {suspend: false, parallelism: 4, completions: 8}}",
       R"({"op":"add","path":"/spec/parallelism","value":4},)"
       R"({"op":"add","path":"/spec/completions","value":8},)"
       R"({"op":"add","path":"/spec/suspend","value":false})"},
      {"JobSet", "{}", R"({"op":"add","path":"/spec/suspend","value":false})"},
      {"PyTorchJob", "{}", R"({"op":"add","path":"/spec/runPolicy/suspend","value":false})"},
      {"RayJob", "{}", R"({"op":"add","path":"/spec/suspend","value":false})"},
      {"RayCluster", "{}", R"({"op":"add","path":"/spec/suspend","value":false})"},
      {"LeaderWorkerSet", "{spec: {replicas: 3}}",
       R"({"op":"add","path":"/spec/replicas","value":3})"},
      {"LeaderWorkerSet", "{spec: {}}", R"({"op":"add","path":"/spec/replicas","value":1})"},
  };
  for (const ReleaseCase& c : cases) {
    EXPECT_EQ(ReleasePatch(KindNamed(c.kind), Yaml(c.rendered), {"u1", "7"}),
              std::string(R"([{"op":"test","path":"/metadata/uid","value":"u1"},)"
                          R"({"op":"test","path":"/metadata/resourceVersion","value":"7"},)") +
                  c.operations +
                  R"(,{"op":"add","path":"/metadata/annotations/muster.io~1released",)"
                  R"("value":"true"}])")
        << c.kind;
  }
}

TEST(ReleasePatch, TestsTheUidAlwaysAndTheVersionOnlyIfOneIsGiven) {
  const std::string patch = ReleasePatch(KindNamed("JobSet"), Yaml("{}"), {"u1", ""});
  EXPECT_EQ(patch.find("resourceVersion"), std::string::npos);
  EXPECT_NE(patch.find(R"("path":"/metadata/uid","value":"u1")"), std::string::npos);
}

TEST(ReleasePatch, TestsTheGenerationInPlaceOfTheVersion_WhereTheMemberCountsIt) {
  const std::string patch = ReleasePatch(KindNamed("JobSet"), Yaml("{}"), {"u1", "7", 3});
  EXPECT_NE(patch.find(R"({"op":"test","path":"/metadata/generation","value":3})"),
            std::string::npos);
  EXPECT_EQ(patch.find("resourceVersion"), std::string::npos);
}

TEST(ResizePatch, ChangesOnlyWhatDiffersAndOnlyOfAJob) {
  const json::value live = Yaml("{spec: {parallelism: 2, completions: 2}}");
  const json::value larger = Yaml("{spec: {parallelism: 3, completions: 3}}");
  const json::value without = Yaml("{spec: {parallelism: 2}}");
  const KindInfo& job = KindNamed("Job");
  EXPECT_EQ(ResizePatch(job, live, larger, {"u1", ""}),
            R"([{"op":"test","path":"/metadata/uid","value":"u1"},)"
            R"({"op":"add","path":"/spec/parallelism","value":3},)"
            R"({"op":"add","path":"/spec/completions","value":3}])");
  EXPECT_EQ(ResizePatch(job, live, live, {"u1", ""}), std::nullopt);
  EXPECT_EQ(ResizePatch(job, live, without, {"u1", ""}), std::nullopt)
      << "completions that the user left out are not taken away";
  EXPECT_EQ(ResizePatch(KindNamed("LeaderWorkerSet"), live, larger, {"u1", ""}), std::nullopt);
}

TEST(AcknowledgePatch, TakesOurFinalizerAndNoOther) {
  EXPECT_EQ(AcknowledgePatch("u1", 2),
            R"([{"op":"test","path":"/metadata/uid","value":"u1"},)"
            R"({"op":"test","path":"/metadata/finalizers/2","value":"muster.io/record"},)"
            R"({"op":"remove","path":"/metadata/finalizers/2"}])");
}

TEST(DeleteBody, WaitsForThePodsAndNamesTheUid) {
  EXPECT_EQ(DeleteBody("u1", -1),
            R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground",)"
            R"("preconditions":{"uid":"u1"}})");
  EXPECT_NE(DeleteBody("u1", 0).find(R"("gracePeriodSeconds":0)"), std::string::npos);
}

TEST(AddOwner, MakesADependentGoWithEveryObjectThatNeedsIt) {
  json::object map = Yaml("{kind: ConfigMap, metadata: {name: m}}");
  const RemoteObject owner = {"batch/v1", "Job", "team", "a"};
  EXPECT_TRUE(AddOwner(owner, "u1", &map));
  EXPECT_FALSE(AddOwner(owner, "u1", &map)) << "it is one already";
  EXPECT_TRUE(AddOwner({"batch/v1", "Job", "team", "b"}, "u2", &map));
  EXPECT_EQ(WriteJson(map["metadata"].at("ownerReferences")),
            R"([{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"u1"},)"
            R"({"apiVersion":"batch/v1","kind":"Job","name":"b","uid":"u2"}])");
}

TEST(CheckImages, RefusesAContainerThatHasNoImageWhereverItStands) {
  const std::string script = "{name: script, image: muster.io/host}";
  for (const std::string& spec :
       {"{template: {spec: {containers: [" + script + "]}}}",
        "{template: {spec: {containers: [], initContainers: [" + script + "]}}}",
        "{replicatedJobs: [{template: {spec: {template: {spec: {containers: [" + script +
            "]}}}}}]}"}) {
    const Status checked = CheckImages(Yaml("{spec: " + spec + "}"));
    ASSERT_FALSE(checked.ok()) << spec;
    EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(checked.error().detail,
              "container script has no image, and Kubernetes runs none without: set annotation "
              "muster.io/default-image on its LocalQueue or ClusterQueue, or default-image of the "
              "daemon");
  }
  EXPECT_TRUE(CheckImages(Yaml("{spec: {template: {spec: {containers: [{image: i}]}}}}")).ok());
}

TEST(AddBatchParts, GivesTheScriptsContainerToolsAndDirectories) {
  json::value job = Yaml(
      "{kind: Job, spec: {template: {metadata: {annotations: {muster.io/tools-image: tools, "
      "muster.io/shared-directories: \"home:/home,data:/data:ro\"}}, spec: {volumes: [{name: own}], "
      "containers: [{name: script, resources: {requests: {cpu: \"1\"}}, volumeMounts: [{name: "
      "own, mountPath: /own}]}]}}}}");
  AddBatchParts(&job);
  const json::value& pod = job.at("spec").at("template").at("spec");
  const json::value& copies = pod.at("initContainers").at(0);
  EXPECT_EQ(copies.at("image"), "tools");
  EXPECT_EQ(WriteJson(copies.at("volumeMounts")),
            R"([{"name":"muster-tools","mountPath":"/opt/muster"}])");
  EXPECT_EQ(WriteJson(copies.at("resources")), R"({"requests":{"cpu":"1"}})");
  EXPECT_EQ(WriteJson(pod.at("volumes")),
            R"([{"name":"own"},{"name":"muster-tools","emptyDir":{}},)"
            R"({"name":"muster-shared-0","persistentVolumeClaim":{"claimName":"home","readOnly":false}},)"
            R"({"name":"muster-shared-1","persistentVolumeClaim":{"claimName":"data","readOnly":true}}])");
  EXPECT_EQ(WriteJson(pod.at("containers").at(0).at("volumeMounts")),
            R"([{"name":"own","mountPath":"/own"},)"
            R"({"name":"muster-tools","mountPath":"/opt/muster","readOnly":true},)"
            R"({"name":"muster-shared-0","mountPath":"/home"},)"
            R"({"name":"muster-shared-1","mountPath":"/data","readOnly":true}])");
  json::value plain = Yaml("{spec: {template: {metadata: {}, spec: {containers: [{name: a}]}}}}");
  const json::value before = plain;
  AddBatchParts(&plain);
  EXPECT_EQ(plain, before);
}

TEST(DropPriorityClasses, LeavesThoseThatTheMemberHas) {
  json::object object = Yaml(
      "{spec: {a: {spec: {priorityClassName: high, containers: []}}, b: [{spec: "
      "{priorityClassName: unknown, containers: []}}]}, metadata: {priorityClassName: mine}}");
  DropPriorityClasses({"high"}, &object);
  EXPECT_EQ(WriteJson(object),
            R"({"spec":{"a":{"spec":{"priorityClassName":"high","containers":[]}},"b":[{"spec":)"
            R"({"containers":[]}}]},"metadata":{"priorityClassName":"mine"}})");
}

}  // namespace
}  // namespace muster::k8s
