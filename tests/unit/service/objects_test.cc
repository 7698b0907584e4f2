#include <gtest/gtest.h>

#include <functional>

#include "api/service/member_facts.h"
#include "api/service/object_versions.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

json::value Get(ServiceWorld& w, ObjectKind kind, const std::string& ns, const std::string& name,
                const std::string& version = "") {
  const Result<json::value> object = w.service.GetObject(w.alice, kind, ns, name, version);
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().detail);
  return object.ok() ? *object : json::value();
}

TEST(Objects, AClusterQueue_AnswersAsKubernetesWould_WithUsageAndCounts) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("a", "queue", "3")).ok());
  ASSERT_TRUE(w.Submit(JobManifest("b", "queue", "3")).ok());
  const json::value queue = Get(w, ObjectKind::kClusterQueue, "", "cq");
  EXPECT_EQ(queue.at("kind"), "ClusterQueue");
  EXPECT_TRUE(queue.at_pointer("/metadata/uid").is_string());
  EXPECT_NE(queue.at_pointer("/metadata/resourceVersion"), "0");
  EXPECT_EQ(queue.at_pointer("/metadata/generation"), 1);
  EXPECT_EQ(queue.at_pointer("/status/conditions/0/reason"), "Ready");
  EXPECT_EQ(queue.at_pointer("/status/flavorsReservation/0/name"), "default");
  EXPECT_EQ(queue.at_pointer("/status/flavorsReservation/0/resources/0/total"), "3");
  EXPECT_EQ(queue.at_pointer("/status/flavorsReservation/0/resources/0/borrowed"), "0");
  EXPECT_EQ(queue.at_pointer("/status/pendingWorkloads"), 1);
  EXPECT_EQ(queue.at_pointer("/status/reservingWorkloads"), 1);
  EXPECT_EQ(queue.at_pointer("/status/admittedWorkloads"), 1);
}

TEST(Objects, ALocalQueue_CountsOnlyItsOwnJobs) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("other", "cq")}).ok());
  ASSERT_TRUE(w.Submit(JobManifest("a", "queue", "3")).ok());
  ASSERT_TRUE(w.Submit(JobManifest("b", "other", "3")).ok());
  const json::value queue = Get(w, ObjectKind::kLocalQueue, "default", "queue");
  EXPECT_EQ(queue.at_pointer("/status/conditions/0/message"),
            "Can submit new workloads to localQueue");
  EXPECT_EQ(queue.at_pointer("/status/admittedWorkloads"), 1);
  EXPECT_EQ(queue.at_pointer("/status/pendingWorkloads"), 0);
  EXPECT_EQ(queue.at_pointer("/status/flavorsReservation/0/resources/0/total"), "3");
  const json::value other = Get(w, ObjectKind::kLocalQueue, "default", "other");
  EXPECT_EQ(other.at_pointer("/status/pendingWorkloads"), 1);
}

TEST(Objects, InactiveQueues_SayWhyInKueuesWords) {
  ServiceWorld w;
  ASSERT_TRUE(w.world
                  .Apply({ClusterQueueObject({.name = "stopped", .stop_policy = "Hold"}),
                          ClusterQueueObject({.name = "lost", .flavor = "gone"}),
                          LocalQueueObject("a", "nowhere"), LocalQueueObject("b", "stopped"),
                          LocalQueueObject("c", "cq", "Hold")})
                  .ok());
  struct Case {
    ObjectKind kind;
    const char* ns;
    const char* name;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {ObjectKind::kClusterQueue, "", "stopped", "Stopped",
       "Can't admit new workloads: is stopped."},
      {ObjectKind::kClusterQueue, "", "lost", "FlavorNotFound",
       "Can't admit new workloads: references missing ResourceFlavor(s): gone."},
      {ObjectKind::kLocalQueue, "default", "a", "ClusterQueueDoesNotExist",
       "Can't submit new workloads to clusterQueue"},
      {ObjectKind::kLocalQueue, "default", "b", "ClusterQueueIsInactive",
       "Can't submit new workloads to clusterQueue"},
      {ObjectKind::kLocalQueue, "default", "c", "Stopped", "LocalQueue is stopped"},
  };
  for (const Case& one : cases) {
    const json::value object = Get(w, one.kind, one.ns, one.name);
    EXPECT_EQ(object.at_pointer("/status/conditions/0/status"), "False") << one.name;
    EXPECT_EQ(object.at_pointer("/status/conditions/0/reason"), one.reason) << one.name;
    EXPECT_EQ(object.at_pointer("/status/conditions/0/message"), one.message) << one.name;
  }
}

TEST(Objects, BothServedVersions_AreAnsweredInTheirOwnSpelling) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({ClusterQueueObject({.name = "lent", .cohort = "all"})}).ok());
  const json::value old = Get(w, ObjectKind::kClusterQueue, "", "lent", "v1beta1");
  EXPECT_EQ(old.at("apiVersion"), "kueue.x-k8s.io/v1beta1");
  EXPECT_EQ(old.at_pointer("/spec/cohort"), "all");
  const json::value fresh = Get(w, ObjectKind::kClusterQueue, "", "lent", "v1beta2");
  EXPECT_EQ(fresh.at("apiVersion"), "kueue.x-k8s.io/v1beta2");
  EXPECT_EQ(fresh.at_pointer("/spec/cohortName"), "all");
  EXPECT_FALSE(fresh.at("spec").as_object().contains("cohort"));
  ASSERT_TRUE(w.world.Apply({ClusterQueueObject({.name = "checked", .checks = {"budget"}})}).ok());
  const json::value spec = Get(w, ObjectKind::kClusterQueue, "", "checked", "v1beta2").at("spec");
  EXPECT_EQ(spec.at_pointer("/admissionChecksStrategy/admissionChecks/0/name"), "budget");
  EXPECT_FALSE(spec.as_object().contains("admissionChecks"));
}

TEST(Objects, PostPutAndDelete_KeepKubernetesPreconditions) {
  ServiceWorld w;
  ObjectChange post = FlavorObject("spot");
  post.must_not_exist = true;
  const auto created = w.Change(post);
  ASSERT_TRUE(created.ok()) << created.error().detail;
  EXPECT_EQ(w.Change(post).error().code, Code::kAlreadyExists);

  ObjectChange put = FlavorObject("spot");
  put.manifest =
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor","metadata":{"name":"spot",
      "resourceVersion":")" +
      std::to_string((*created)[0].object->resource_version) +
      R"("},"spec":{"nodeLabels":{"a":"b"}}})";
  put.must_exist = true;
  ASSERT_TRUE(w.Change(put).ok());
  const auto stale = w.Change(put);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, Code::kAborted);

  ObjectChange misnamed = FlavorObject("spot");
  misnamed.name = "other";
  EXPECT_EQ(FieldsOf(w.Change(misnamed).error()), "metadata.name");
  ASSERT_TRUE(w.Change(Removal(ObjectKind::kResourceFlavor, "", "spot")).ok());
  EXPECT_EQ(w.Change(Removal(ObjectKind::kResourceFlavor, "", "spot")).error().code,
            Code::kNotFound);
}

TEST(Objects, AnAggregatedClusterRole_ShowsTheRulesThatItCollects) {
  ServiceWorld w;
  const auto role = [](const std::string& name, const std::string& rest) {
    ObjectChange change;
    change.kind = ObjectKind::kClusterRole;
    change.name = name;
    change.manifest =
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":")" +
        name + R"(","labels":{"part":")" + name + R"("}},)" + rest + "}";
    return change;
  };
  ASSERT_TRUE(w.Change(role("part-a", R"("rules":[{"verbs":["get"],"apiGroups":["batch"],
      "resources":["jobs"],"resourceNames":["j"]},{"verbs":["get"],"nonResourceURLs":["/m"]}])"))
                  .ok());
  ASSERT_TRUE(w.Change(role("all", R"("aggregationRule":{"clusterRoleSelectors":
      [{"matchLabels":{"part":"part-a"}}]},"rules":[])"))
                  .ok());
  const json::value rules = Json(R"([{"verbs":["get"],"apiGroups":["batch"],"resources":["jobs"],
      "resourceNames":["j"]},{"verbs":["get"],"nonResourceURLs":["/m"]}])");
  EXPECT_EQ(Get(w, ObjectKind::kClusterRole, "", "all").at("rules"), rules);
  const auto listed = w.service.ListObjects(w.alice, ObjectKind::kClusterRole, "");
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->front().at("rules"), rules);
  // What a client read and puts back changes nothing.
  ObjectChange again = role("all", R"("aggregationRule":{"clusterRoleSelectors":
      [{"matchLabels":{"part":"part-a"}}]},"rules":)" +
                                       WriteJson(rules));
  const auto put = w.Change(again);
  ASSERT_TRUE(put.ok()) << put.error().detail;
  EXPECT_EQ((*put)[0].outcome, ApplyOutcome::kUnchanged);
}

TEST(Objects, Lists_AreOfOneKindAndNamespace) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("z", "cq")}).ok());
  EXPECT_EQ(w.service.ListObjects(w.alice, ObjectKind::kLocalQueue, "default")->size(), 2u);
  EXPECT_EQ(w.service.ListObjects(w.alice, ObjectKind::kLocalQueue, "nowhere")->size(), 0u);
  EXPECT_EQ(w.service.ListObjects(w.alice, ObjectKind::kClusterQueue, "")->size(), 1u);
  EXPECT_EQ(w.service.GetObject(w.alice, ObjectKind::kCohort, "", "none").error().code,
            Code::kNotFound);
}

TEST(JobObject, ShowsTheManifestWithKubernetesMetadataAndStatus) {
  ServiceWorld w;
  const Result<SubmittedJob> submitted = w.Submit(JobManifest("a"));
  ASSERT_TRUE(submitted.ok());
  const JobId id = submitted->job->id;
  w.world.Run();
  const JobPtr running = w.world.Job(id);
  const json::value manifest = *w.service.JobManifest(w.alice, id);
  const json::value object = w.service.JobObject(*running, manifest);
  EXPECT_EQ(object.at_pointer("/metadata/uid"), json::value(running->uid.ToString()));
  EXPECT_EQ(object.at_pointer("/spec/suspend"), false);
  ASSERT_TRUE(w.world.members.End(w.world.KeyOf(id), RemotePhase::kSucceeded));
  w.world.Run();
  const json::value ended = w.service.JobObject(*w.world.Job(id), manifest);
  EXPECT_EQ(ended.at_pointer("/status/conditions/0/type"), "Complete");
  const json::value workload = w.service.WorkloadObject(*running, "v1beta1");
  EXPECT_EQ(workload.at_pointer("/status/admission/clusterQueue"), "cq");
  EXPECT_EQ(workload.at_pointer("/status/admission/podSetAssignments/0/flavors/cpu"), "default");
}

TEST(Clusters, FactsShowRoom_AndCordonShowsAtOnce) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("a", "queue", "3")).ok());
  const json::value facts = *w.service.ClusterFactsOf(w.alice, "east");
  EXPECT_EQ(facts.at_pointer("/allocatable/cpu"), "4");
  EXPECT_EQ(facts.at_pointer("/free/cpu"), "1");
  std::optional<Result<ObjectPtr>> answer;
  w.service.Cordon(w.alice, "east", true,
                   [&](Result<ObjectPtr> done) { answer = std::move(done); });
  w.world.Settle();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ(w.service.ClusterFactsOf(w.alice, "east")->at("cordoned"), true);
  EXPECT_EQ(w.service.ClusterFactsOf(w.alice, "west").error().code, Code::kNotFound);
}

TEST(Clusters, WhatIsQuarantinedShowsInTheMembersStatusUntilItIsReleased) {
  ServiceWorld w;
  const DispatchKey unknown{UidOf("never stored"), 1, "east"};
  w.world.members.objects[unknown] = {.uid = "uid-1",
                                      .phase = RemotePhase::kSuspended,
                                      .object = {"batch/v1", "Job", "default", "x"},
                                      .held = true,
                                      .sequence = 1};
  w.world.members.List("east");
  w.world.Run();
  const auto status = [&] {
    const auto& objects = *w.world.engine->View()->objects;
    return w.service.ObjectWithStatus(*objects.at({ObjectKind::kMemberCluster, "", "east"}));
  };
  const json::value before = status();
  EXPECT_EQ(before.at_pointer("/status/leftAlone/0/name"), "x");
  EXPECT_EQ(before.at_pointer("/status/leftAlone/0/why"), "ahead of the database");
  EXPECT_EQ(before.at_pointer("/status/conditions/2/type"), "Quarantined");
  std::optional<Result<std::size_t>> answer;
  w.service.Collect(w.alice, "east", [&](Result<std::size_t> done) { answer = std::move(done); });
  w.world.Settle();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ(answer->value(), 1U);
  EXPECT_EQ(status().at("status").at("conditions").as_array().size(), 2U);
}

// The MemberCluster object of east, edited.
ObjectChange EditOfEast(ServiceWorld& w, const std::function<void(json::object*)>& edit) {
  json::value object = Get(w, ObjectKind::kMemberCluster, "", "east");
  edit(&object.as_object());
  ObjectChange change;
  change.kind = ObjectKind::kMemberCluster;
  change.name = "east";
  change.manifest = WriteJson(object);
  change.must_exist = true;
  return change;
}

TEST(Clusters, TaintsPropertiesAndDataSetsAreTheAdministrators) {
  ServiceWorld w;
  const auto edited = w.Change(EditOfEast(w, [](json::object* member) {
    json::object& annotations = member->at("metadata").at("annotations").as_object();
    annotations["muster.io/properties"] = R"({"muster.io/cost.cpu":"0.04","region":"eu-1"})";
    annotations["muster.io/datasets"] = "imagenet,laion";
    (*member)["spec"] = Json(R"({"taints":[{"key":"spot","value":"yes","effect":"NoSchedule"}]})");
  }));
  ASSERT_TRUE(edited.ok()) << edited.error().detail;
  const json::value facts = *w.service.ClusterFactsOf(w.alice, "east");
  EXPECT_EQ(facts.at_pointer("/taints/0/key"), "spot");
  EXPECT_EQ(facts.at("properties").at("muster.io/cost.cpu"), "0.04");
  EXPECT_EQ(facts.at("properties").at("region"), "eu-1");
  EXPECT_EQ(WriteJson(facts.at("datasets")), R"(["imagenet","laion"])");
  const json::value status = Get(w, ObjectKind::kMemberCluster, "", "east").at("status");
  EXPECT_EQ(status.at("properties").at("region").at("value"), "eu-1");
  EXPECT_EQ(status.at_pointer("/conditions/0/type"), "Joined");
  // The fields are removed again, and no trace is left.
  const auto cleared = w.Change(EditOfEast(w, [](json::object* member) {
    json::object& annotations = member->at("metadata").at("annotations").as_object();
    annotations.erase("muster.io/properties");
    annotations["muster.io/datasets"] = nullptr;
    member->at("spec").as_object().erase("taints");
  }));
  ASSERT_TRUE(cleared.ok()) << cleared.error().detail;
  EXPECT_EQ(w.service.ClusterFactsOf(w.alice, "east")->at("taints").as_array().size(), 0U);
  EXPECT_FALSE(
      w.service.ClusterFactsOf(w.alice, "east")->at("properties").as_object().contains("region"));
}

TEST(Clusters, WhatTheFlagsSayOfAMemberCannotBeChanged) {
  using Member = json::object;
  const struct {
    const char* sentence;
    std::function<void(Member*)> edit;
    const char* field;
  } cases[] =
      {
          {"a label is the flags'",
           [](Member* m) { m->at("metadata").as_object()["labels"] = Json(R"({"a":"b"})"); },
           "kind"},
          {"another annotation too",
           [](Member* m) {
    m->at("metadata").at("annotations").as_object()["muster.io/cordoned"] = "true";
           },
           "kind"},
          {"another field of the spec too",
           [](Member* m) { (*m)["spec"] = Json(R"({"deleteOptions":{}})"); }, "kind"},
          {"a heartbeat has bounds",
           [](Member* m) { (*m)["spec"] = Json(R"({"heartbeatPeriodSeconds":601})"); },
           "spec.heartbeatPeriodSeconds"},
          {"a spec is an object", [](Member* m) { (*m)["spec"] = "taints"; }, "spec"},
          {"a taint needs an effect that a member can have",
           [](Member* m) { (*m)["spec"] = Json(R"({"taints":[{"key":"a","effect":"Never"}]})"); },
           "spec.taints[0].effect"},
  };
  for (const auto& one : cases) {
    ServiceWorld w;
    const auto edited = w.Change(EditOfEast(w, one.edit));
    ASSERT_FALSE(edited.ok()) << one.sentence;
    EXPECT_EQ(FieldsOf(edited.error()), one.field) << one.sentence;
  }
}

TEST(Clusters, FactsTellTheRoomOfMachines_AndTheirAge) {
  core::ClusterView cluster;
  cluster.member.name = "east";
  cluster.member.observed_at = {1'000 * kMicrosPerSecond};
  cluster.member.allocatable = {{"cpu", 8000}, {"gpu", 16}};
  cluster.member.capacity = {{"cpu", 12000}, {"gpu", 24}};
  cluster.member.node_count = 3;
  cluster.member.version = "v1.34.1";
  cluster.free = {{"cpu", -500}, {"gpu", 9}};
  const auto without = api::FactsJson(cluster, {1'012 * kMicrosPerSecond});
  EXPECT_EQ(without.at("ageSeconds"), 12);
  EXPECT_EQ(without.at("stale"), false);
  EXPECT_EQ(without.at("heartbeatPeriodSeconds"), 60);
  EXPECT_FALSE(without.contains("machines")) << "it has told nothing of them";
  EXPECT_EQ(without.at("free").at("cpu"), "0") << "more is held than there is";
  EXPECT_EQ(without.at("capacity").at("gpu"), "24");
  EXPECT_EQ(without.at("properties").at("kubernetes-fleet.io/node-count"), "3");
  EXPECT_EQ(without.at("properties").at("k8s.io/k8s-version"), "v1.34.1");
  cluster.member.machines = std::make_shared<const MachineGroups>(
      MachineGroups{{{}, {}, {{"cpu", 3500}, {"gpu", 8}}, 1},
                    {{}, {}, {{"cpu", 500}, {"gpu", 7}}, 2},
                    {{}, {}, {{"cpu", 4000}, {"gpu", 0}}, 3}});
  EXPECT_EQ(api::FactsJson(cluster, {1'090 * kMicrosPerSecond}).at("stale"), false);
  const auto facts = api::FactsJson(cluster, {1'091 * kMicrosPerSecond});
  EXPECT_EQ(facts.at("stale"), true);
  EXPECT_EQ(facts.at("machines").at("ready"), 6);
  EXPECT_EQ(WriteJson(facts.at("machines").at("largestFree")), R"({"cpu":"4","gpu":"8"})");
  EXPECT_EQ(WriteJson(facts.at("machines").at("freeSlots").at("gpu")),
            R"([{"atLeast":"8","machines":1},{"atLeast":"4","machines":2},)"
            R"({"atLeast":"0","machines":3}])");
  EXPECT_EQ(WriteJson(facts.at("machines").at("freeSlots").at("cpu")),
            R"([{"atLeast":"4","machines":3},{"atLeast":"2","machines":1},)"
            R"({"atLeast":"0","machines":2}])");
}

TEST(Objects, ATokenNeedsAnEndWithinAYear) {
  ServiceWorld w;
  const auto put = [&w](const std::string& expires) {
    json::object spec{{"user", "alice"}, {"sha256", std::string(64, 'a')}};
    if (!expires.empty()) spec["expires"] = expires;
    ObjectChange change;
    change.kind = ObjectKind::kAccessToken;
    change.name = "t";
    change.manifest = WriteJson(json::object{{"apiVersion", "muster.io/v1"},
                                             {"kind", "AccessToken"},
                                             {"metadata", json::object{{"name", "t"}}},
                                             {"spec", std::move(spec)}});
    const bool applied = w.Apply({Json(change.manifest)}, true).ok();
    const auto changed = w.Change(std::move(change));
    EXPECT_EQ(applied, changed.ok());
    return changed.ok() ? "" : FieldsOf(changed.error());
  };
  const WallTime now = w.world.engine->WallNow();
  EXPECT_EQ(put(""), "spec.expires");
  EXPECT_EQ(put(FormatRfc3339(now.PlusSeconds(367LL * 24 * 3600))), "spec.expires");
  EXPECT_EQ(put(FormatRfc3339(now.PlusSeconds(366LL * 24 * 3600))), "");
}

}  // namespace
}  // namespace muster::test
