// The plain parts of configuration objects: marks, differences, merge patches, availability.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/k8s/object_availability.h"
#include "backends/k8s/object_diff.h"
#include "backends/k8s/object_marks.h"
#include "backends/k8s/permissions.h"
#include "schedd/base/limits.h"

namespace muster::k8s {
namespace {

json::object Parse(const std::string& text) { return ParseJson(text).value().as_object(); }

// "path: member -> hub" of each, absent as "-".
std::vector<std::string> Texts(const Differences& found) {
  std::vector<std::string> out;
  for (const Difference& one : found.kept)
    out.push_back(one.path + ": " + one.in_member.value_or("-") + " -> " +
                  one.in_hub.value_or("-"));
  return out;
}

TEST(ObjectDiffTest, TellsWhereAMemberDiffersFromTheHub) {
  struct Case {
    const char* name;
    const char* member;
    const char* hub;
    bool whole;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {"another value",
       R"({"spec":{"a":1,"b":"x"}})",
       R"({"spec":{"a":2,"b":"x"}})",
       false,
       {"/spec/a: 1 -> 2"}},
      {"what only the member has counts only when all is compared, absent from the hub",
       R"({"spec":{"a":1,"more":true}})",
       R"({"spec":{"a":1}})",
       false,
       {}},
      {"and then it is named",
       R"({"spec":{"a":1,"more":true}})",
       R"({"spec":{"a":1}})",
       true,
       {"/spec/more: true -> -"}},
      {"what the member lacks",
       "{}",
       R"({"spec":{"a":{"b":1}}})",
       false,
       {"/spec: - -> {\"a\":{\"b\":1}}"}},
      {"elements of lists by their place, one too many in any case",
       R"({"spec":{"l":[{"a":1},{"a":2}]}})",
       R"({"spec":{"l":[{"a":3}]}})",
       false,
       {"/spec/l/0/a: 1 -> 3", "/spec/l/1: {\"a\":2} -> -"}},
      {"keys are escaped as JSON pointers",
       R"({"metadata":{"labels":{"a/b~c":"x"}}})",
       R"({"metadata":{"labels":{"a/b~c":"y"}}})",
       false,
       {"/metadata/labels/a~1b~0c: x -> y"}},
      {"null and empty are absent",
       R"({"spec":{}})",
       R"({"spec":{"a":null,"b":{},"c":[]},"data":null})",
       true,
       {}},
      {"of metadata labels and annotations count, and Muster's marks and others' notes do not",
       R"({"metadata":{"uid":"1","resourceVersion":"5","finalizers":["f"],"managedFields":[],
           "labels":{"muster.io/propagated":"true","kubernetes.io/metadata.name":"n"},
           "annotations":{"muster.io/placement":"x",
                          "kubectl.kubernetes.io/last-applied-configuration":"{}"}}})",
       R"({"metadata":{"name":"n","creationTimestamp":null}})",
       true,
       {}},
      {"status never counts", R"({"status":{"a":1}})", R"({"status":{"a":2}})", true, {}},
      {"a whole number is the same as a real one",
       R"({"spec":{"a":1}})",
       R"({"spec":{"a":1.0}})",
       true,
       {}},
      {"quotas are compared as amounts",
       R"({"spec":{"nominalQuota":"1"}})",
       R"({"spec":{"nominalQuota":"1000m"}})",
       true,
       {}},
      {"a quota as a number is the amount",
       R"({"spec":{"nominalQuota":"9"}})",
       R"({"spec":{"nominalQuota":9}})",
       true,
       {}},
      {"other texts are not",
       R"({"spec":{"version":"1"}})",
       R"({"spec":{"version":"1000m"}})",
       true,
       {"/spec/version: 1 -> 1000m"}},
      {"a Secret's values are never shown",
       R"({"kind":"Secret","data":{"k":"b25l"},"metadata":{"annotations":{"a":"leak"}}})",
       R"({"kind":"Secret","data":{"k":"dHdv"},"metadata":{"annotations":{"a":"b"}}})",
       true,
       {"/metadata/annotations/a: (redacted) -> (redacted)", "/data/k: (redacted) -> (redacted)"}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Texts(CompareObjects(Parse(one.member), Parse(one.hub), one.whole)), one.expected)
        << one.name;
  }
}

TEST(ObjectDiffTest, KeepsSoMany_AndCountsAll) {
  json::object member, hub;
  for (int i = 0; i < 150; ++i) {
    member["k" + std::to_string(i)] = std::string(5000, 'm');
    hub["k" + std::to_string(i)] = std::string(5000, 'h');
  }
  const Differences found = CompareObjects({{"data", member}}, {{"data", hub}}, true);
  EXPECT_EQ(found.total, 150u);
  ASSERT_EQ(found.kept.size(), limits::kDifferencesKept);
  EXPECT_EQ(found.kept[0].in_hub->size(), limits::kDifferenceBytes);
}

TEST(ThreeWayPatchTest, SetsWhatIsWanted_AndTakesAwayWhatOnlyTheManifestBeforeHad) {
  struct Case {
    const char* name;
    const char* last;
    const char* wanted;
    const char* live;
    const char* expected;
  };
  const Case cases[] = {
      {"nothing to do", R"({"spec":{"a":1}})", R"({"spec":{"a":1}})",
       R"({"spec":{"a":1,"theirs":2}})", "{}"},
      {"another value", R"({"spec":{"a":1}})", R"({"spec":{"a":2}})", R"({"spec":{"a":1}})",
       R"({"spec":{"a":2}})"},
      {"what was dropped from the manifest goes, what others added stays",
       R"({"spec":{"a":1,"b":{"c":1,"d":1}}})", R"({"spec":{"b":{"c":1}}})",
       R"({"spec":{"a":1,"b":{"c":1,"d":1,"theirs":1},"theirs":1}})",
       R"({"spec":{"b":{"d":null},"a":null}})"},
      {"what is gone already is not taken away", R"({"spec":{"a":1,"b":1}})", R"({"spec":{"b":1}})",
       R"({"spec":{"b":1}})", "{}"},
      {"lists are replaced", "{}", R"({"l":[1,2]})", R"({"l":[1]})", R"({"l":[1,2]})"},
      {"an object in the place of something else", "{}", R"({"a":{"b":1}})", R"({"a":5})",
       R"({"a":{"b":1}})"},
      {"an empty object that is wanted is made", "{}", R"({"a":{}})", "{}", R"({"a":{}})"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(ThreeWayPatch(Parse(one.last), Parse(one.wanted), Parse(one.live)),
              Parse(one.expected))
        << one.name;
  }
}

TEST(ObjectMarksTest, AManifestIsCleanedForTheMember) {
  const ResourceRef ref{"kueue.x-k8s.io", "v1beta1", "LocalQueue", "ml", "q"};
  const json::object clean = CleanManifest(ref, Parse(R"({
      "apiVersion":"other/v1","kind":"Other","status":{"a":1},
      "metadata":{"name":"x","namespace":"y","uid":"u","resourceVersion":"1","finalizers":["f"],
                  "ownerReferences":[{}],"creationTimestamp":null,"generateName":"z",
                  "labels":{"a":"b","muster.io/instance":"other"},
                  "annotations":{"muster.io/placement":"stolen"}},
      "spec":{"clusterQueue":"cq","null":null,"in":[{"n":null,"m":1}]}})"));
  EXPECT_EQ(clean, Parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"LocalQueue",
      "metadata":{"name":"q","namespace":"ml","labels":{"a":"b"}},
      "spec":{"clusterQueue":"cq","in":[{"m":1}]}})"));
}

TEST(ObjectMarksTest, ASecretsStringData_IsTheDataThatItBecomes) {
  const json::object clean =
      CleanManifest({"", "v1", "Secret", "n", "s"},
                    Parse(R"({"data":{"a":"eA==","b":"eA=="},"stringData":{"b":"one"}})"));
  EXPECT_EQ(clean, Parse(R"({"apiVersion":"v1","kind":"Secret",
      "metadata":{"name":"s","namespace":"n"},"data":{"a":"eA==","b":"b25l"}})"));
}

TEST(ObjectMarksTest, MarksComeBackAsTheyWerePut) {
  json::object manifest = Parse(R"({"metadata":{"name":"n","labels":{"a":"b"}}})");
  PutMarks({OwnerMark("here", "/crp"), "h", "{}", true, true}, &manifest);
  const ObjectMarks marks = ReadMarks(manifest);
  EXPECT_EQ(marks.owner, "here//crp");
  EXPECT_EQ(marks.hash, "h");
  EXPECT_EQ(marks.last_applied, "{}");
  EXPECT_TRUE(marks.created);
  EXPECT_TRUE(marks.labelled);
  EXPECT_EQ(MentionOwner("here", "here//crp"), "ClusterResourcePlacement crp");
  EXPECT_EQ(MentionOwner("here", "here/ml/rp"), "ResourcePlacement ml/rp");
  EXPECT_EQ(MentionOwner("here", "there/ml/rp"), "a placement of another Muster (there/ml/rp)");
}

TEST(ObjectMarksTest, WhatBelongsToJobsIsTold) {
  EXPECT_TRUE(BelongsToJobs(Parse(R"({"metadata":{"labels":{"muster.io/job-uid":"u"}}})")));
  EXPECT_TRUE(BelongsToJobs(Parse(R"({"metadata":{"finalizers":["a","muster.io/record"]}})")));
  EXPECT_TRUE(BelongsToJobs(
      Parse(R"({"kind":"ConfigMap","metadata":{"labels":{"muster.io/instance":"here"}}})")));
  EXPECT_FALSE(BelongsToJobs(
      Parse(R"({"kind":"Namespace","metadata":{"labels":{"muster.io/instance":"here"}}})")))
      << "a namespace that was made for a job may be taken over";
  EXPECT_FALSE(BelongsToJobs(Parse(R"({"metadata":{"labels":{"muster.io/propagated":"true"}}})")));
}

TEST(ConfigurationPermissionsTest, AreInTheRole_AndAreNotDemanded) {
  const std::vector<Permission> useful = ConfigurationPermissions();
  for (const char* verb : {"create", "get", "list", "watch", "patch", "update", "delete"}) {
    for (const Permission& one : {Permission{"kueue.x-k8s.io", "clusterqueues", "", verb},
                                  Permission{"", "namespaces", "", verb}}) {
      EXPECT_NE(std::find(useful.begin(), useful.end(), one), useful.end()) << verb;
    }
  }
  for (const char* verb : {"list", "watch"}) {
    const Permission all_secrets{"", "secrets", "", verb};
    EXPECT_EQ(std::find(useful.begin(), useful.end(), all_secrets), useful.end()) << "S26";
  }
  const Permission leftovers{"apps", "statefulsets", "", "delete"};
  EXPECT_NE(std::find(useful.begin(), useful.end(), leftovers), useful.end())
      << "what a LeaderWorkerSet may leave behind";
  for (const Permission& one : PermissionsFor({})) {
    EXPECT_NE(one.group, "kueue.x-k8s.io");
    EXPECT_NE(one.group, "apps");
  }
  const std::string role = ClusterRoleYaml(useful);
  EXPECT_NE(role.find("localqueues"), std::string::npos);
}

TEST(ObjectAvailabilityTest, IsToldByTheKind) {
  struct Case {
    const char* name;
    ResourceRef ref;
    const char* object;
    ManifestAvailability expected;
  };
  const ResourceRef deployment{"apps", "v1", "Deployment", "n", "x"};
  const ResourceRef stateful{"apps", "v1", "StatefulSet", "n", "x"};
  const ResourceRef daemons{"apps", "v1", "DaemonSet", "n", "x"};
  const ResourceRef service{"", "v1", "Service", "n", "x"};
  const ResourceRef crd{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "x"};
  const auto yes = ManifestAvailability::kAvailable, no = ManifestAvailability::kNotYet,
             untold = ManifestAvailability::kNotTrackable;
  const Case cases[] = {
      {"data is there at once", {"", "v1", "ConfigMap", "n", "x"}, "{}", yes},
      {"a kind of the same name in another group is not data",
       {"x.io", "v1", "ConfigMap", "n", "x"},
       "{}",
       untold},
      {"Kueue's kinds do not tell",
       {"kueue.x-k8s.io", "v1beta1", "ClusterQueue", "", "x"},
       "{}",
       untold},
      {"a namespace that stays",
       {"", "v1", "Namespace", "", "x"},
       R"({"status":{"phase":"Active"}})",
       yes},
      {"a namespace that goes",
       {"", "v1", "Namespace", "", "x"},
       R"({"status":{"phase":"Terminating"}})",
       no},
      {"a Deployment with all its pods", deployment,
       R"({"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,
           "replicas":2,"updatedReplicas":2,"availableReplicas":2}})",
       yes},
      {"one of an older generation", deployment,
       R"({"metadata":{"generation":3},"spec":{"replicas":2},"status":{"observedGeneration":2,
           "replicas":2,"updatedReplicas":2,"availableReplicas":2}})",
       no},
      {"one with an old pod left", deployment,
       R"({"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,
           "replicas":3,"updatedReplicas":2,"availableReplicas":2}})",
       no},
      {"a StatefulSet of one revision", stateful,
       R"({"metadata":{"generation":1},"status":{"observedGeneration":1,"availableReplicas":1,
           "currentReplicas":1,"updatedReplicas":1,"currentRevision":"a","updateRevision":"a"}})",
       yes},
      {"one between revisions", stateful,
       R"({"metadata":{"generation":1},"status":{"observedGeneration":1,"availableReplicas":1,
           "currentReplicas":1,"updatedReplicas":1,"currentRevision":"a","updateRevision":"b"}})",
       no},
      {"a DaemonSet on all nodes", daemons,
       R"({"metadata":{"generation":1},"status":{"observedGeneration":1,"numberAvailable":3,
           "desiredNumberScheduled":3,"currentNumberScheduled":3,"updatedNumberScheduled":3}})",
       yes},
      {"a Service with an address", service, R"({"spec":{"clusterIP":"10.0.0.1"}})", yes},
      {"one without", service, R"({"spec":{"type":"NodePort"}})", no},
      {"one that waits for its load balancer", service,
       R"({"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"}})", no},
      {"one that has it", service,
       R"({"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}})",
       yes},
      {"an external name", service, R"({"spec":{"type":"ExternalName"}})", untold},
      {"a definition that is established", crd,
       R"({"status":{"conditions":[{"type":"Established","status":"True"},
                                   {"type":"NamesAccepted","status":"True"}]}})",
       yes},
      {"one whose names are refused", crd,
       R"({"status":{"conditions":[{"type":"Established","status":"True"},
                                   {"type":"NamesAccepted","status":"False"}]}})",
       no},
  };
  for (const Case& one : cases)
    EXPECT_EQ(AvailabilityOf(one.ref, Parse(one.object)), one.expected) << one.name;
}

}  // namespace
}  // namespace muster::k8s
