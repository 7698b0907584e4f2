// Objects, versions, patches, deletion, lists and discovery of the fake member.
#include <gtest/gtest.h>

#include "tests/unit/fake_member/manifests.h"
#include "tests/unit/fake_member/plain_client.h"

namespace muster::fake {
namespace {

FakeMemberOptions StillTime() {
  FakeMemberOptions options;
  options.manual_clock = true;
  return options;
}

class FakeApi : public ::testing::Test {
 protected:
  FakeMember member_{StillTime()};
  PlainClient client_{member_};
  std::string Uid(const std::string& path) {
    return Text(member_.Object(path), {"metadata", "uid"});
  }
};

TEST_F(FakeApi, Create_FillsInMetadataAndDefaults_AndDropsStatus) {
  const PlainAnswer made = client_.Post(
      kJobs, R"({"kind":"Job","metadata":{"name":"a"},"status":{"active":7},"spec":{"template":)" +
                 PodTemplate(kRun) + "}}");
  ASSERT_EQ(made.status, 201) << made.body;
  const json::object job = made.object();
  EXPECT_EQ(Text(job, {"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(Text(job, {"metadata", "namespace"}), "default");
  EXPECT_EQ(Number(job, {"metadata", "generation"}), 1);
  EXPECT_FALSE(Text(job, {"metadata", "resourceVersion"}).empty());
  EXPECT_EQ(TimeOf(Text(job, {"metadata", "creationTimestamp"})) > 0, true);
  EXPECT_EQ(Number(job, {"spec", "backoffLimit"}), 6);
  EXPECT_EQ(Text(job, {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}),
            Text(job, {"metadata", "uid"}));
  EXPECT_EQ(Find(job, {"status", "active"}), nullptr);
}

struct Refusal {
  const char* name;
  std::string method, target, body;
  int status;
  std::string reason, message;
};

class FakeRefuses : public FakeApi, public ::testing::WithParamInterface<Refusal> {};

TEST_P(FakeRefuses, AsTheRealOneDoes) {
  ASSERT_EQ(client_.Post(kJobs, Job("there", kRun, R"("suspend":true,)")).status, 201);
  const Refusal& refusal = GetParam();
  const PlainAnswer said = client_.Ask(refusal.method, refusal.target, refusal.body);
  EXPECT_EQ(said.status, refusal.status) << said.body;
  EXPECT_EQ(Text(said.object(), {"kind"}), "Status");
  EXPECT_EQ(Text(said.object(), {"reason"}), refusal.reason) << said.body;
  EXPECT_NE(Text(said.object(), {"message"}).find(refusal.message), std::string::npos) << said.body;
}

INSTANTIATE_TEST_SUITE_P(
    Requests, FakeRefuses,
    ::testing::Values(
        Refusal{"ANameThatIsTaken", "POST", kJobs, Job("there", kRun), 409, "AlreadyExists",
                "jobs.batch \"there\" already exists"},
        Refusal{"AMissingNamespace", "POST", "/apis/batch/v1/namespaces/nope/jobs", Job("a", kRun),
                404, "NotFound", "namespaces \"nope\" not found"},
        Refusal{"AnotherNamespaceInTheBody", "POST", kJobs,
                Job("a", kRun, "", R"("namespace":"other",)"), 400, "BadRequest",
                "does not match the namespace sent on the request"},
        Refusal{"AnObjectThatIsNotThere", "GET", kJobs + "/none", "", 404, "NotFound",
                "jobs.batch \"none\" not found"},
        Refusal{"ABadName", "POST", kJobs, Job("Bad_Name", kRun), 422, "Invalid", "metadata.name"},
        Refusal{
            "AJobWithoutRestartPolicy", "POST", kJobs,
            R"({"kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"x"}]}}}})",
            422, "Invalid", "spec.template.spec.restartPolicy: Required value"},
        Refusal{"ASelectorOfTheUsers", "POST", kJobs,
                Job("a", kRun, R"("selector":{"matchLabels":{"a":"b"}},)"), 422, "Invalid",
                "`selector` not auto-generated"},
        Refusal{"BrokenJson", "POST", kJobs, "{bad", 400, "BadRequest", "json parse error"},
        Refusal{"AnotherKind", "POST", kJobs, R"({"kind":"CronJob","metadata":{"name":"a"}})", 400,
                "BadRequest", "cannot be handled as a Job"},
        Refusal{"AStaleUpdate", "PUT", kJobs + "/there",
                Job("there", kRun, "", R"("resourceVersion":"1",)"), 409, "Conflict",
                "the object has been modified"},
        Refusal{"APatchOfNoKnownType", "PATCH", kJobs + "/there", "{}", 415, "UnsupportedMediaType",
                "415"},
        Refusal{"DeletionOfAnotherUid", "DELETE", kJobs + "/there",
                R"({"preconditions":{"uid":"zz"}})", 409, "Conflict",
                "the UID in the precondition (zz) does not match the UID in record"},
        Refusal{"DeletionOfAnotherVersion", "DELETE", kJobs + "/there",
                R"({"preconditions":{"resourceVersion":"1"}})", 409, "Conflict",
                "the ResourceVersion in the precondition (1) does not match"},
        Refusal{"AVersionThatIsNotServed", "GET", "/apis/batch/v2", "", 404, "NotFound",
                "could not find the requested resource"},
        Refusal{"AnUnknownFieldSelector", "GET", kJobs + "?fieldSelector=spec.x%3D1", "", 400,
                "BadRequest", "field label \"spec.x\" not supported for Job"},
        Refusal{"ABadLabelSelector", "GET", kJobs + "?labelSelector=a%20in%20b", "", 400,
                "BadRequest", "unable to parse requirement"},
        Refusal{"AVersionFromTheFuture", "GET", kJobs + "?resourceVersion=99999", "", 504,
                "Timeout", "Too large resource version: 99999"},
        Refusal{"AMalformedContinueToken", "GET", kJobs + "?limit=1&continue=zzz", "", 400,
                "BadRequest", "continue key is not valid"}),
    [](const auto& one) { return one.param.name; });

TEST_F(FakeApi, AnUnknownGroup_IsNoStatus_AndAKindCanBeMissing) {
  EXPECT_EQ(client_.Get("/apis/nope.io/v1").body, "404 page not found\n");
  EXPECT_EQ(client_.Get("/apis/jobset.x-k8s.io/v1alpha2").status, 200);
  member_.SetInstalled("jobsets", false);
  EXPECT_EQ(client_.Get("/apis/jobset.x-k8s.io/v1alpha2").status, 404);
  EXPECT_EQ(client_.Get(kJobSets).status, 404);
}

TEST_F(FakeApi, SystemPaths_Answer) {
  EXPECT_EQ(client_.Get("/readyz").body, "ok");
  EXPECT_EQ(Text(client_.Get("/version").object(), {"gitVersion"}), "v1.36.3");
  EXPECT_EQ(Text(member_.Object("/api/v1/namespaces/kube-system"), {"metadata", "uid"}),
            member_.incarnation());
}

TEST_F(FakeApi, JsonPatch_DoesAllOrNothing_AndItsTestsAreConditions) {
  ASSERT_EQ(client_.Post(kJobs, Job("a", kRun, R"("suspend":true,)")).status, 201);
  const std::string path = kJobs + "/a";
  const std::string right =
      R"({"op":"test","path":"/metadata/uid","value":")" + Uid(path) + R"("})";
  const PlainAnswer wrong =
      client_.JsonPatch(path, R"([{"op":"add","path":"/metadata/labels","value":{"x":"y"}},)"
                              R"({"op":"test","path":"/metadata/uid","value":"zz"}])");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(Text(wrong.object(), {"message"}),
            "the server rejected our request due to an error in our request");
  EXPECT_EQ(Find(member_.Object(path), {"metadata", "labels", "x"}), nullptr);
  const PlainAnswer done = client_.JsonPatch(
      path,
      "[" + right + R"(,{"op":"add","path":"/metadata/annotations","value":{"a~b/c":"1"}},)" +
          R"({"op":"replace","path":"/metadata/annotations/a~0b~1c","value":"2"},)" +
          R"({"op":"copy","from":"/metadata/annotations/a~0b~1c","path":"/metadata/annotations/d"}])");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(Text(done.object(), {"metadata", "annotations", "a~b/c"}), "2");
  EXPECT_EQ(Text(done.object(), {"metadata", "annotations", "d"}), "2");
}

TEST_F(FakeApi, MergeAndApply_ChangeWhatTheyName) {
  ASSERT_EQ(client_.Post(kMaps, Map("a")).status, 201);
  const PlainAnswer merged = client_.Ask("PATCH", kMaps + "/a", R"({"data":{"a":null,"c":"d"}})",
                                         "application/merge-patch+json");
  EXPECT_EQ(merged.status, 200) << merged.body;
  EXPECT_EQ(json::serialize(*FindObject(merged.object(), {"data"})), R"({"c":"d"})");
  const std::string apply = "application/apply-patch+yaml";
  EXPECT_EQ(client_.Ask("PATCH", kMaps + "/new", Map("new"), apply).status, 422)
      << "no fieldManager";
  EXPECT_EQ(client_.Ask("PATCH", kMaps + "/new?fieldManager=m", Map("new"), apply).status, 201);
  EXPECT_EQ(client_.Ask("PATCH", kMaps + "/new?fieldManager=m", Map("new"), apply).status, 200);
}

TEST_F(FakeApi, Apply_KnowsWhoWroteWhichField_AndADryRunChangesNothing) {
  const std::string apply = "application/apply-patch+yaml";
  const std::string path = kMaps + "/a";
  const auto say = [&](const std::string& query, const std::string& data) {
    return client_.Ask("PATCH", path + "?fieldManager=" + query,
                       R"({"metadata":{"name":"a"},"data":)" + data + "}", apply);
  };
  const auto data = [&] { return json::serialize(*FindObject(member_.Object(path), {"data"})); };
  ASSERT_EQ(say("m", R"({"a":"1","b":"1"})").status, 201);
  ASSERT_EQ(client_
                .Ask("PATCH", path + "?fieldManager=k", R"({"data":{"b":"2","c":"2"}})",
                     "application/merge-patch+json")
                .status,
            200);
  const PlainAnswer refused = say("m", R"({"a":"1","b":"1"})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find(R"(conflict with \"k\")"), std::string::npos) << refused.body;
  EXPECT_EQ(say("m", R"({"a":"1","b":"2"})").status, 200) << "the same value is no conflict";
  const PlainAnswer shown = say("m&force=true&dryRun=All", R"({"b":"3"})");
  EXPECT_EQ(json::serialize(*FindObject(shown.object(), {"data"})), R"({"c":"2","b":"3"})");
  EXPECT_EQ(data(), R"({"a":"1","b":"2","c":"2"})");
  EXPECT_EQ(say("m&force=true", R"({"b":"3"})").status, 200);
  EXPECT_EQ(data(), R"({"c":"2","b":"3"})") << "what it applied before and leaves out goes";
  const PlainAnswer other = client_.Ask("PATCH", kMaps + "/none?fieldManager=m",
                                        R"({"metadata":{"name":"none","uid":"u"}})", apply);
  EXPECT_EQ(other.status, 409) << "no object of that uid";
}

TEST_F(FakeApi, Versions_GrowWithChangesOnly_AndGenerationWithTheSpec) {
  const json::object made = client_.Post(kJobs, Job("a", kRun, R"("suspend":true,)")).object();
  const std::string path = kJobs + "/a";
  const json::object before = member_.Object(path);
  const PlainAnswer same =
      client_.Ask("PATCH", path, R"({"spec":{"suspend":true}})", "application/merge-patch+json");
  EXPECT_EQ(Text(same.object(), {"metadata", "resourceVersion"}),
            Text(before, {"metadata", "resourceVersion"}));
  const PlainAnswer labelled = client_.Ask("PATCH", path, R"({"metadata":{"labels":{"x":"y"}}})",
                                           "application/merge-patch+json");
  EXPECT_NE(Text(labelled.object(), {"metadata", "resourceVersion"}),
            Text(before, {"metadata", "resourceVersion"}));
  EXPECT_EQ(Number(labelled.object(), {"metadata", "generation"}), 1);
  EXPECT_EQ(Number(client_.JsonPatch(path, kRelease).object(), {"metadata", "generation"}), 2);
}

TEST_F(FakeApi, ATemplate_IsFreeUntilTheJobHasRun) {
  ASSERT_EQ(client_.Post(kJobs, Job("a", kRun, R"("suspend":true,)")).status, 201);
  const std::string add =
      R"([{"op":"add","path":"/spec/template/spec/nodeSelector","value":{"pool":"x"}}])";
  const std::string image =
      R"([{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"y"}])";
  EXPECT_EQ(client_.JsonPatch(kJobs + "/a", add).status, 200);
  EXPECT_EQ(client_.JsonPatch(kJobs + "/a", image).status, 422);
  EXPECT_EQ(client_.JsonPatch(kJobs + "/a", kRelease).status, 200);
  EXPECT_EQ(
      client_
          .JsonPatch(kJobs + "/a", R"([{"op":"remove","path":"/spec/template/spec/nodeSelector"}])")
          .status,
      422);
}

TEST_F(FakeApi, Deletion_WaitsForFinalizers_AndTakesNoNewOnes) {
  ASSERT_EQ(client_.Post(kJobs, Job("a", kRun, R"("suspend":true,)", kHeld)).status, 201);
  const std::string path = kJobs + "/a";
  const PlainAnswer deleted = client_.Ask(
      "DELETE", path,
      R"({"preconditions":{"uid":")" + Uid(path) + R"("},"propagationPolicy":"Foreground"})");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_FALSE(Text(deleted.object(), {"metadata", "deletionTimestamp"}).empty());
  EXPECT_TRUE(HasFinalizer(deleted.object(), "foregroundDeletion"));
  EXPECT_FALSE(HasFinalizer(member_.Object(path), "foregroundDeletion")) << "it owns nothing";
  EXPECT_EQ(
      client_.JsonPatch(path, R"([{"op":"add","path":"/metadata/finalizers/-","value":"x/y"}])")
          .status,
      422);
  EXPECT_EQ(client_.JsonPatch(path, R"([{"op":"remove","path":"/metadata/finalizers/0"}])").status,
            200);
  EXPECT_EQ(client_.Get(path).status, 404);
}

TEST_F(FakeApi, Deletion_OfAnOwner_TakesWhatItOwns_OrLeavesIt) {
  const auto owned = [&](const std::string& name, const std::string& owner) {
    return Map(name, R"("ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" +
                         owner + R"(","uid":")" + Uid(kMaps + "/" + owner) + R"("}],)");
  };
  for (const char* policy : {"Background", "Foreground", "Orphan"}) {
    ASSERT_EQ(client_.Post(kMaps, Map("owner")).status, 201);
    ASSERT_EQ(client_.Post(kMaps, owned("child", "owner")).status, 201);
    ASSERT_EQ(client_.Ask("DELETE", kMaps + "/owner?propagationPolicy=" + policy).status, 200);
    EXPECT_EQ(client_.Get(kMaps + "/owner").status, 404) << policy;
    const bool stays = std::string(policy) == "Orphan";
    EXPECT_EQ(client_.Get(kMaps + "/child").status, stays ? 200 : 404) << policy;
  }
  ASSERT_EQ(
      client_
          .Post(
              kMaps,
              R"({"kind":"ConfigMap","metadata":{"name":"lost","ownerReferences":[{"uid":"nobody"}]}})")
          .status,
      201);
  EXPECT_EQ(client_.Get(kMaps + "/lost").status, 404) << "its owner was never there";
}

TEST_F(FakeApi, ANamespace_EndsWithAllThatIsInIt) {
  ASSERT_EQ(client_.Post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  const std::string jobs = "/apis/batch/v1/namespaces/n/jobs";
  ASSERT_EQ(client_.Post(jobs, Job("held", kRun, "", kHeld)).status, 201);
  EXPECT_EQ(client_.Ask("DELETE", "/api/v1/namespaces/n").status, 200);
  EXPECT_EQ(Text(member_.Object("/api/v1/namespaces/n"), {"status", "phase"}), "Terminating");
  const PlainAnswer late = client_.Post(jobs, Job("late", kRun));
  EXPECT_EQ(late.status, 403);
  EXPECT_NE(late.body.find("NamespaceTerminating"), std::string::npos);
  client_.JsonPatch(jobs + "/held", R"([{"op":"remove","path":"/metadata/finalizers"}])");
  EXPECT_EQ(client_.Get("/api/v1/namespaces/n").status, 404);
}

TEST_F(FakeApi, Lists_SelectByLabelsAndFields) {
  client_.Post(kMaps, Map("a", R"("labels":{"x":"1"},)"));
  client_.Post(kMaps, Map("b", R"("labels":{"x":"2","y":""},)"));
  client_.Post(kMaps, Map("c"));
  const auto names = [&](const std::string& query) {
    std::string text;
    const json::object list = client_.Get(kMaps + "?" + query).object();
    for (const json::value& one : Items(list, {"items"}))
      text += Text(one.as_object(), {"metadata", "name"});
    return text;
  };
  EXPECT_EQ(names("labelSelector=x%3D1"), "a");
  EXPECT_EQ(names("labelSelector=x!%3D1"), "bc");
  EXPECT_EQ(names("labelSelector=x%20in%20(1,2)"), "ab");
  EXPECT_EQ(names("labelSelector=x,!y"), "a");
  EXPECT_EQ(names("labelSelector=x%20notin%20(1)"), "bc");
  EXPECT_EQ(names("fieldSelector=metadata.name%3Db"), "b");
  const json::object all = client_.Get(kMaps).object();
  const json::object& first = Items(all, {"items"}).at(0).as_object();
  EXPECT_EQ(first.if_contains("kind"), nullptr) << "items of built-in kinds carry none";
}

TEST_F(FakeApi, Pages_AreOneConsistentList_UntilTheTokenIsTooOld) {
  for (const char* name : {"a", "b", "c", "d"}) client_.Post(kMaps, Map(name));
  const json::object first = client_.Get(kMaps + "?limit=2").object();
  EXPECT_EQ(Number(first, {"metadata", "remainingItemCount"}), 2);
  client_.Ask("DELETE", kMaps + "/d");
  client_.Post(kMaps, Map("e"));
  const std::string token = Text(first, {"metadata", "continue"});
  const json::object second = client_.Get(kMaps + "?limit=2&continue=" + token).object();
  ASSERT_EQ(Items(second, {"items"}).size(), 2u);
  EXPECT_EQ(Text(Items(second, {"items"}).at(1).as_object(), {"metadata", "name"}), "d");
  EXPECT_EQ(Text(second, {"metadata", "resourceVersion"}),
            Text(first, {"metadata", "resourceVersion"}));
  EXPECT_EQ(Text(second, {"metadata", "continue"}), "");
  member_.Compact();
  const PlainAnswer old = client_.Get(kMaps + "?limit=2&continue=" + token);
  EXPECT_EQ(old.status, 410);
  EXPECT_EQ(Text(old.object(), {"reason"}), "Expired");
  const json::object rest =
      client_.Get(kMaps + "?continue=" + Text(old.object(), {"metadata", "continue"})).object();
  ASSERT_EQ(Items(rest, {"items"}).size(), 2u);
  EXPECT_EQ(Text(Items(rest, {"items"}).at(1).as_object(), {"metadata", "name"}), "e");
}

TEST_F(FakeApi, DryRun_MakesNothing) {
  EXPECT_EQ(client_.Post(kJobs + "?dryRun=All", Job("a", kRun)).status, 201);
  EXPECT_EQ(client_.Get(kJobs + "/a").status, 404);
}

TEST_F(FakeApi, Token_IsAsked) {
  member_.SetToken("secret");
  EXPECT_EQ(client_.Get(kJobs).status, 401);
  EXPECT_EQ(PlainClient(member_, "other").Get(kJobs).status, 401);
  EXPECT_EQ(PlainClient(member_, "secret").Get(kJobs).status, 200);
  EXPECT_NE(member_.Kubeconfig().find("token: secret"), std::string::npos);
}

TEST_F(FakeApi, Wipe_MakesAnotherCluster_RestoreGoesBackInTime) {
  client_.Post(kMaps, Map("a"));
  const std::string first = member_.incarnation();
  const std::string version = Text(client_.Get(kMaps).object(), {"metadata", "resourceVersion"});
  member_.Save("then");
  client_.Post(kMaps, Map("b"));
  member_.Restore("then");
  EXPECT_EQ(client_.Get(kMaps + "/b").status, 404);
  EXPECT_EQ(Text(client_.Get(kMaps).object(), {"metadata", "resourceVersion"}), version);
  member_.Wipe();
  EXPECT_NE(member_.incarnation(), first);
  EXPECT_EQ(client_.Get(kMaps + "/a").status, 404);
}

}  // namespace
}  // namespace muster::fake
