// PUT and PATCH on Kubernetes paths: patches, versions, and the writes of controllers of admission
// checks.
#include <gtest/gtest.h>

#include <atomic>

#include "api/auth/audit_sink.h"
#include "api/rest/json_patch.h"
#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const std::string kKueue = "/apis/kueue.x-k8s.io/v1beta2";
const std::string kMerge = "Content-Type: application/merge-patch+json\r\n";
const std::string kJsonPatch = "Content-Type: application/json-patch+json\r\n";

rest::Request PatchRequest(const char* type, const std::string& body) {
  rest::Request request;
  request.method = rest::Method::kPatch;
  request.content_type = type;
  request.body = body;
  return request;
}

TEST(Patches, AreAppliedAsTheirRfcsSay) {
  const struct {
    const char* what;
    const char* type;
    const char* now;
    const char* patch;
    const char* after;  // nullptr: refused
  } cases[] = {
      {"a merge sets, replaces, removes", "application/merge-patch+json",
       R"({"a":1,"b":{"c":2,"d":3}})", R"({"a":null,"b":{"c":4},"e":[1]})",
       R"({"b":{"c":4,"d":3},"e":[1]})"},
      {"a merge makes objects where there were none", "application/merge-patch+json; charset=utf-8",
       R"({"a":[1]})", R"({"a":{"b":{"c":null}}})", R"({"a":{"b":{}}})"},
      {"a merge patch is an object", "application/merge-patch+json", "{}", "[]", nullptr},
      {"a merge is for any version", "application/merge-patch+json",
       R"({"metadata":{"resourceVersion":"7"}})", R"({"a":1})", R"({"metadata":{},"a":1})"},
      {"a merge that names the version is for it", "application/merge-patch+json",
       R"({"metadata":{"resourceVersion":"7"}})", R"({"metadata":{"resourceVersion":"5"}})",
       R"({"metadata":{"resourceVersion":"5"}})"},
      {"a strategic merge keeps items that it does not name",
       "application/strategic-merge-patch+json",
       R"({"containers":[{"name":"a","image":"x","env":[{"name":"E","value":"1"}]},{"name":"b"}]})",
       R"({"containers":[{"name":"a","image":"y","env":[{"name":"F","value":"2"}]},{"name":"c"}]})",
       R"({"containers":[{"name":"a","image":"y","env":[{"name":"E","value":"1"},
           {"name":"F","value":"2"}]},{"name":"b"},{"name":"c"}]})"},
      {"its other lists are replaced", "application/strategic-merge-patch+json",
       R"({"rules":[{"verbs":["get"]}],"x":1})", R"({"rules":[{"verbs":["list"]}],"x":null})",
       R"({"rules":[{"verbs":["list"]}]})"},
      {"it removes and orders items", "application/strategic-merge-patch+json",
       R"({"volumes":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
       R"({"volumes":[{"name":"a","$patch":"delete"}],
           "$setElementOrder/volumes":[{"name":"c"},{"name":"b"}]})",
       R"({"volumes":[{"name":"c"},{"name":"b"}]})"},
      {"it replaces a list or an object if it says so", "application/strategic-merge-patch+json",
       R"({"volumes":[{"name":"a"}],"spec":{"a":1,"b":2}})",
       R"({"volumes":[{"name":"z"},{"$patch":"replace"}],"spec":{"$patch":"replace","c":3}})",
       R"({"volumes":[{"name":"z"}],"spec":{"c":3}})"},
      {"it unites and thins lists of texts", "application/strategic-merge-patch+json",
       R"({"finalizers":["a","b"]})",
       R"({"finalizers":["c","b"],"$deleteFromPrimitiveList/finalizers":["a"]})",
       R"({"finalizers":["b","c"]})"},
      {"it keeps only what it lists", "application/strategic-merge-patch+json",
       R"({"s":{"a":1,"b":2}})", R"({"s":{"$retainKeys":["b","c"],"c":3}})",
       R"({"s":{"b":2,"c":3}})"},
      {"an item without its key", "application/strategic-merge-patch+json", R"({})",
       R"({"containers":[{"image":"x"}]})", nullptr},
      {"an unknown directive", "application/strategic-merge-patch+json", R"({})",
       R"({"$imagine":1})", nullptr},
      {"operations go in order", "application/json-patch+json", R"({"l":[1,2],"x":{"a/b":1}})",
       R"([{"op":"add","path":"/l/1","value":9},{"op":"add","path":"/l/-","value":3},
           {"op":"remove","path":"/l/0"},{"op":"replace","path":"/x/a~1b","value":2},
           {"op":"test","path":"/l/0","value":9}])",
       R"({"l":[9,2,3],"x":{"a/b":2}})"},
      {"a test that fails", "application/json-patch+json", R"({"a":1})",
       R"([{"op":"test","path":"/a","value":2}])", nullptr},
      {"what is not there cannot be removed", "application/json-patch+json", R"({"a":1})",
       R"([{"op":"remove","path":"/b"}])", nullptr},
      {"nor replaced", "application/json-patch+json", R"({"a":[1]})",
       R"([{"op":"replace","path":"/a/1","value":2}])", nullptr},
      {"no place below text", "application/json-patch+json", R"({"a":"b"})",
       R"([{"op":"add","path":"/a/b/c","value":2}])", nullptr},
      {"an operation that is not taken", "application/json-patch+json", R"({"a":1})",
       R"([{"op":"copy","from":"/a","path":"/b"}])", nullptr},
      {"the whole object stays", "application/json-patch+json", R"({"a":1})",
       R"([{"op":"replace","path":"","value":{}}])", nullptr},
      {"a pointer begins with a slash", "application/json-patch+json", R"({"a":1})",
       R"([{"op":"remove","path":"a"}])", nullptr},
  };
  for (const auto& one : cases) {
    const Result<json::value> after =
        rest::Patched(PatchRequest(one.type, one.patch), Json(one.now));
    ASSERT_EQ(after.ok(), one.after != nullptr) << one.what;
    if (after.ok()) {
      EXPECT_EQ(*after, Json(one.after)) << one.what << ": " << WriteJson(*after);
    }
  }
}

// A patch of a megabyte would otherwise be merged for minutes.
TEST(Patches, LongListsAreRefusedBeforeTheyAreMergedItemByItem) {
  const auto containers = [](int first, int count) {
    json::array list;
    for (int i = first; i < first + count; ++i)
      list.push_back(json::object{{"name", std::to_string(i)}});
    return list;
  };
  constexpr char kStrategic[] = "application/strategic-merge-patch+json";
  const auto merged = [&](json::object patch, json::object now) {
    return rest::Patched(PatchRequest(kStrategic, WriteJson(patch)), std::move(now));
  };
  const auto usual = merged(
      {{"containers", containers(0, 1000)}, {"$setElementOrder/containers", containers(0, 1000)}},
      {{"containers", containers(500, 1000)}});
  ASSERT_TRUE(usual.ok()) << usual.error().detail;
  EXPECT_EQ(usual->at("containers").as_array().size(), 1500U);
  const json::object many{{"containers", containers(0, 30'000)}};
  const json::array words(30'000, json::value("x"));
  EXPECT_FALSE(merged(many, {}).ok());
  EXPECT_FALSE(merged({{"$setElementOrder/containers", containers(0, 30'000)}}, many).ok());
  EXPECT_FALSE(
      merged({{"$deleteFromPrimitiveList/args", words}}, {{"args", json::array(words)}}).ok());
  json::object wide;
  for (int i = 0; i < 30'000; ++i) wide[std::to_string(i)] = 1;
  EXPECT_FALSE(merged({{"s", json::object{{"$retainKeys", words}}}}, {{"s", wide}}).ok());
  EXPECT_FALSE(merged({{"containers", json::array{json::object{{"name", words}}}}}, {}).ok())
      << "a name is one value";
}

TEST(KubeWrites, AConfigurationObjectIsPatched) {
  ApiWorld api;
  const std::string queue = kKueue + "/clusterqueues/cq";
  const json::value before = Json(api.Get(queue).body);
  const Answer held = api.Ask("PATCH", queue, R"({"spec":{"stopPolicy":"Hold"}})", kMerge);
  ASSERT_EQ(held.status, 200) << held.body;
  json::value after = Json(held.body);
  EXPECT_EQ(after.at_pointer("/spec/stopPolicy"), "Hold");
  EXPECT_EQ(after.at_pointer("/spec/resourceGroups"), before.at_pointer("/spec/resourceGroups"));
  EXPECT_EQ(after.at_pointer("/status/conditions/0/reason"), "Stopped");
  const std::string stale = R"({"metadata":{"resourceVersion":)" +
                            WriteJson(before.at_pointer("/metadata/resourceVersion")) +
                            R"(},"spec":{}})";
  EXPECT_EQ(api.Ask("PATCH", queue, stale, kMerge).status, 409);
  EXPECT_EQ(api.Ask("PATCH", queue, R"({"spec":{"colour":"red"}})", kMerge).status, 400);
  EXPECT_EQ(
      api.Ask("PATCH", queue, R"([{"op":"remove","path":"/spec/stopPolicy"}])", kJsonPatch).status,
      200);
  EXPECT_FALSE(Json(api.Get(queue).body).at("spec").as_object().contains("stopPolicy"));
  EXPECT_EQ(api.Ask("PATCH", kKueue + "/clusterqueues/none", "{}", kMerge).status, 404);
  for (const char* type : {"application/json", "application/strategic-merge-patch+json",
                           "application/apply-patch+yaml"}) {
    const Answer refused =
        api.Ask("PATCH", queue, "{}", std::string("Content-Type: ") + type + "\r\n");
    EXPECT_EQ(refused.status, 415) << type;
    EXPECT_EQ(Json(refused.body).at("kind"), "Status") << type;
  }
}

// Counts the reads that are noted.
class ReadSink final : public auth::AuditSink {
 public:
  void Refused(const auth::Principal&, std::string_view, const auth::ResourceRef&,
               const Error&) override {}
  void Failed(const auth::Principal&, std::string_view, std::string_view, const Error&) override {}
  Status Read(const auth::Principal&, auth::Verb, const auth::ResourceRef& what) override {
    if (what.resource == "secrets") ++reads;
    return Done{};
  }
  std::atomic<int> reads{0};
};

TEST(KubeWrites, APatchThatOnlyShowsASecretIsNotedAsARead) {
  ReadSink sink;
  ApiWorld api;
  api.service.SetAudit(&sink);
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  ASSERT_EQ(api.Post(secrets, Json(R"({"metadata":{"name":"s"},"data":{"k":"dg=="}})")).status,
            201);
  const Answer shown = api.Ask("PATCH", secrets + "/s?dryRun=All", "{}", kMerge);
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(Json(shown.body).at_pointer("/data/k"), "dg==");
  EXPECT_EQ(sink.reads, 1);
  EXPECT_EQ(api.Ask("PATCH", secrets + "/s", R"({"data":{"k":"dw=="}})", kMerge).status, 200);
  EXPECT_EQ(sink.reads, 1) << "a change has a row of its own";
}

TEST(KubeWrites, OnlyControllersStatusIsWritten) {
  ApiWorld api;
  const std::string checks = kKueue + "/admissionchecks";
  ASSERT_EQ(api.Post(checks, Json(R"({"metadata":{"name":"budget"},
                                      "spec":{"controllerName":"example.com/budget"}})"))
                .status,
            201);
  const std::string active = R"({"status":{"conditions":[{"type":"Active","status":"True",
      "reason":"Up","message":"listening"}]}})";
  const Answer said = api.Ask("PATCH", checks + "/budget/status", active, kMerge);
  ASSERT_EQ(said.status, 200) << said.body;
  EXPECT_EQ(Json(said.body).at_pointer("/status/conditions/0/reason"), "Up");
  EXPECT_EQ(Json(said.body).at_pointer("/metadata/generation"), 1);
  json::value object = Json(said.body);
  EXPECT_EQ(api.Ask("PUT", checks + "/budget/status", WriteJson(object)).status, 200);
  object.at_pointer("/metadata").as_object()["resourceVersion"] = "1";
  object.at_pointer("/status/conditions/0").as_object()["status"] = "False";
  EXPECT_EQ(api.Ask("PUT", checks + "/budget/status", WriteJson(object)).status, 409);
  EXPECT_EQ(api.Ask("PATCH", checks + "/none/status", active, kMerge).status, 404);
  const Answer queue = api.Ask("PATCH", kKueue + "/clusterqueues/cq/status", active, kMerge);
  EXPECT_EQ(queue.status, 405);
  EXPECT_NE(queue.body.find("written by Muster alone"), std::string::npos);
  EXPECT_EQ(api.Ask("PATCH", checks + "/budget/status?dryRun=All", active, kMerge).status, 501);
}

TEST(KubeWrites, TheClassOfAJobChangesByItsLabel_AndNothingElseOfIt) {
  ApiWorld api;
  ASSERT_EQ(api.Post(kKueue + "/workloadpriorityclasses",
                     Json(R"({"metadata":{"name":"high"},"value":9})"))
                .status,
            201);
  ASSERT_EQ(
      api.Ask("PATCH", kKueue + "/clusterqueues/cq", R"({"spec":{"stopPolicy":"Hold"}})", kMerge)
          .status,
      200);
  const std::string id = api.Submit("train");
  const std::string job = "/apis/batch/v1/namespaces/default/jobs/train";
  const std::string label = R"({"metadata":{"labels":{"kueue.x-k8s.io/priority-class":"high"}}})";
  const Answer labelled = api.Ask("PATCH", job, label, kMerge);
  ASSERT_EQ(labelled.status, 200) << labelled.body;
  EXPECT_EQ(Json(labelled.body).at_pointer("/metadata/labels/kueue.x-k8s.io~1priority-class"),
            "high");
  EXPECT_EQ(Json(api.Get("/v1/jobs/" + id).body).at("priority"), 9);
  const Answer same = api.Ask("PUT", job, api.Get(job).body);
  EXPECT_EQ(same.status, 200) << same.body;
  const Answer other = api.Ask("PATCH", job, R"({"spec":{"parallelism":3}})", kMerge);
  EXPECT_EQ(other.status, 400);
  EXPECT_NE(other.body.find("spec.parallelism"), std::string::npos) << other.body;
  const std::string workload = kKueue + "/namespaces/default/workloads/" +
                               WorkloadNames(api, kKueue + "/namespaces/default/workloads").at(0);
  const Answer stopped = api.Ask("PATCH", workload, R"({"spec":{"active":false}})", kMerge);
  ASSERT_EQ(stopped.status, 200) << stopped.body;
  EXPECT_EQ(Json(stopped.body).at_pointer("/spec/active"), false);
  EXPECT_EQ(Json(api.Get("/v1/jobs/" + id).body).at("reason"), "Deactivated");
}

TEST(KubeWrites, DiscoveryNamesStatusAndPatch) {
  ApiWorld api;
  const json::value list = Json(api.Get(kKueue).body);
  json::value workload_status, queue;
  for (const json::value& one : list.at("resources").as_array()) {
    if (one.at("name") == "workloads/status") workload_status = one;
    if (one.at("name") == "clusterqueues") queue = one;
  }
  EXPECT_EQ(workload_status.at("verbs"), Json(R"(["get","patch","update"])"));
  EXPECT_EQ(queue.at("verbs"), Json(R"(["create","delete","get","list","patch","update"])"));
}

}  // namespace
}  // namespace muster::test
