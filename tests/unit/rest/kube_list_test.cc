// Lists on Kubernetes paths: pages, selectors, quantities, names of Workloads, and permissions.
#include <gtest/gtest.h>

#include "api/rest/kube_selectors.h"
#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const std::string kKueue = "/apis/kueue.x-k8s.io/v1beta1";
const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kJobs = "/apis/batch/v1/namespaces/default/jobs";

std::string Encoded(const std::string& text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0) {
      out.push_back(static_cast<char>(c));
    } else {
      out += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return out;
}

void AddMap(ApiWorld& api, const std::string& name, const std::string& tier) {
  const Answer made =
      api.Post(kMaps, Json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                           R"(","labels":{"tier":")" + tier + R"("}},"data":{}})"));
  MUSTER_CHECK(made.status == 201);
}

// All pages of a list.
std::vector<std::string> AllPages(ApiWorld& api, const std::string& path, int limit,
                                  std::size_t* pages) {
  std::vector<std::string> names;
  std::string token;
  for (*pages = 0; *pages == 0 || !token.empty(); ++*pages) {
    const Answer answer = api.Get(path + (path.find('?') == std::string::npos ? "?" : "&") +
                                  "limit=" + std::to_string(limit) +
                                  (token.empty() ? "" : "&continue=" + Encoded(token)));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json::value list = Json(answer.body);
    const auto page = NamesOf(list);
    EXPECT_LE(page.size(), static_cast<std::size_t>(limit));
    names.insert(names.end(), page.begin(), page.end());
    const json::value* next = list.at("metadata").as_object().if_contains("continue");
    token = next == nullptr ? "" : std::string(next->as_string());
  }
  return names;
}

TEST(KubeLists, OfObjectsComeInPagesThatMissNothing) {
  ApiWorld api;
  for (const char* name : {"a", "b", "c", "d", "e"}) AddMap(api, name, name[0] < 'c' ? "x" : "y");
  std::size_t pages = 0;
  EXPECT_EQ(AllPages(api, kMaps, 2, &pages), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(pages, 3u);
  EXPECT_EQ(AllPages(api, "/api/v1/configmaps?labelSelector=tier%3Dy", 2, &pages),
            (std::vector<std::string>{"c", "d", "e"}));
  const json::value first = Json(api.Get(kMaps + "?limit=2").body);
  EXPECT_EQ(first.at("metadata").at("remainingItemCount"), 3);
  const std::string next(first.at("metadata").at("continue").as_string());
  AddMap(api, "aa", "x");
  EXPECT_EQ(NamesOf(Json(api.Get(kMaps + "?limit=2&continue=" + Encoded(next)).body)),
            (std::vector<std::string>{"c", "d"}))
      << "what comes between two pages does not shift the next";
  const json::value selected = Json(api.Get(kMaps + "?limit=1&labelSelector=tier").body);
  EXPECT_FALSE(selected.at("metadata").as_object().contains("remainingItemCount"))
      << "as in Kubernetes, where a selector is given";
  EXPECT_EQ(NamesOf(Json(api.Get(kMaps + "?limit=500").body)).size(), 6u);
  for (const char* bad :
       {"?limit=-1", "?limit=x", "?limit=1&continue=nonsense", "?continue=YWZ0ZXI6"}) {
    const Answer answer = api.Get(kMaps + bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_EQ(Json(answer.body).at("kind"), "Status") << bad;
  }
}

TEST(KubeLists, OfJobsComeInPagesThatMissNothing) {
  ApiWorld api;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    json::value job = JobManifest(name);
    job.at_pointer("/metadata/labels").as_object()["tier"] = name[0] < 'd' ? "x" : "y";
    ASSERT_EQ(api.Post(kJobs, job).status, 201);
  }
  std::size_t pages = 0;
  EXPECT_EQ(AllPages(api, kJobs, 2, &pages), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(pages, 3u);
  EXPECT_EQ(AllPages(api, kJobs + "?labelSelector=tier%3Dy", 1, &pages),
            (std::vector<std::string>{"d", "e"}))
      << "a page is full as long as there is more";
  EXPECT_EQ(pages, 2u);
  EXPECT_EQ(NamesOf(Json(api.Get(kJobs + "?fieldSelector=metadata.name%3Dc").body)),
            (std::vector<std::string>{"c"}));
  const Answer bad = api.Get(kJobs + "?continue=nonsense");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("\"continue\""), std::string::npos) << bad.body;
}

TEST(KubeLists, SelectorsSelectByKubernetesGrammar) {
  const json::value object = Json(R"({"metadata":{"name":"n","namespace":"ns",
    "labels":{"app":"web","tier":"","size":"7","example.org/a":"b"}}})");
  const std::pair<const char*, bool> cases[] = {
      {"", true},
      {"app", true},
      {"!app", false},
      {"none", false},
      {"!none", true},
      {"! none", true},
      {"app=web", true},
      {"app==web", true},
      {" app = web ", true},
      {"app!=web", false},
      {"app=dog", false},
      {"none!=web", true},
      {"none=web", false},
      {"tier=", true},
      {"none=", false},
      {"app in (dog,web)", true},
      {"app in(dog)", false},
      {"app notin (dog)", true},
      {"none notin (dog)", true},
      {"tier in (,x)", true},
      {"size>6", true},
      {"size > 7", false},
      {"size<8", true},
      {"app>1", false},
      {"none>1", false},
      {"example.org/a=b,app", true},
      {"app=web,tier=x", false},
  };
  for (const auto& [text, wanted] : cases) {
    const auto selector = rest::KubeSelector::Parse(text, "");
    ASSERT_TRUE(selector.ok()) << text << ": " << selector.error().detail;
    EXPECT_EQ(selector->Matches(object), wanted) << text;
  }
  const std::pair<const char*, bool> fields[] = {
      {"metadata.name=n", true},
      {"metadata.name==n,metadata.namespace=ns", true},
      {"metadata.name!=n", false},
      {"metadata.namespace=other", false},
      {"", true},
  };
  for (const auto& [text, wanted] : fields) {
    const auto selector = rest::KubeSelector::Parse("", text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_EQ(selector->Matches(object), wanted) << text;
  }
}

TEST(KubeLists, BadSelectorsAreRefusedByName) {
  ApiWorld api;
  for (const std::string& path : {kMaps, kJobs, kKueue + "/clusterqueues", kKueue + "/workloads"}) {
    for (const char* bad :
         {"a=b=c", "=b",  "a in", "a in b", "a in (b", "a in (b c)", "a b",     "a=b c", "a,,b",
          "a,",    ",a",  "!",    "!!a",    "a!",      "a!b",        "a=b%20c", "a>x",   "-a",
          "a/b/c", "a=-", "(a)",  "a=b)",   "in (a)",  "a notin",    "a=~b",    "a<>1"}) {
      const Answer answer = api.Get(path + "?labelSelector=" + Encoded(bad));
      EXPECT_EQ(answer.status, 400) << path << " " << bad << " " << answer.body;
      EXPECT_EQ(Json(answer.body).at("kind"), "Status") << bad;
      EXPECT_NE(answer.body.find("labelSelector"), std::string::npos) << answer.body;
    }
    for (const char* bad :
         {"spec.x=1", "metadata.name", "=n", "metadata.name>1", "metadata.labels=a"}) {
      const Answer answer = api.Get(path + "?fieldSelector=" + Encoded(bad));
      EXPECT_EQ(answer.status, 400) << path << " " << bad;
      EXPECT_NE(answer.body.find("fieldSelector"), std::string::npos) << answer.body;
    }
  }
}

TEST(KubeLists, QuantitiesAreTextsWhateverWasWritten) {
  ApiWorld api;
  const Answer made = api.Post(kKueue + "/clusterqueues",
                               Json(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
    "metadata":{"name":"numbers"},"spec":{"cohort":"c","resourceGroups":[{"coveredResources":["cpu"],
    "flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":9,"borrowingLimit":0.5}]}]}]}})"));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string quota = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota";
  EXPECT_EQ(Json(made.body).at_pointer(quota), "9");
  const json::value read = Json(api.Get(kKueue + "/clusterqueues/numbers").body);
  EXPECT_EQ(read.at_pointer(quota), "9");
  EXPECT_EQ(read.at_pointer("/spec/resourceGroups/0/flavors/0/resources/0/borrowingLimit"), "500m");
  const Answer again = api.Ask("PUT", kKueue + "/clusterqueues/numbers", WriteJson(read));
  EXPECT_EQ(Json(again.body).at("metadata").at("generation"), 1) << "nothing changed";

  json::value job = JobManifest("train");
  job.at("spec").as_object()["suspend"] = true;
  const std::string cpu = "/spec/template/spec/containers/0/resources/requests/cpu";
  job.at_pointer(cpu) = 1;
  const Answer dry = api.Post(kJobs + "?dryRun=All", job);
  EXPECT_EQ(Json(dry.body).at_pointer(cpu), "1") << dry.body;
  const Answer submitted = api.Post(kJobs, job);
  EXPECT_EQ(Json(submitted.body).at_pointer(cpu), "1");
  EXPECT_EQ(Json(api.Get(kJobs).body).at("items").at(0).at_pointer(cpu), "1");
  // The engine may write why it waits between the read and the write: that is a conflict.
  const auto put_back = [&](const auto& change) {
    Answer answer;
    for (int tries = 0; tries < 100; ++tries) {
      json::value train = Json(api.Get(kJobs + "/train").body);
      change(&train);
      answer = api.Ask("PUT", kJobs + "/train", WriteJson(train));
      if (answer.status != 409) break;
    }
    return answer;
  };
  const Answer same = put_back([](json::value*) {});
  EXPECT_EQ(same.status, 200) << same.body;
  EXPECT_EQ(put_back([&cpu](json::value* train) { train->at_pointer(cpu) = 1; }).status, 200)
      << "an amount written in another way is no change";
  const Answer applied = api.Post("/v1/apply", json::array{Json(api.Get(kJobs + "/train").body)});
  EXPECT_EQ(applied.status, 200) << applied.body;
  EXPECT_NE(applied.body.find("unchanged"), std::string::npos) << applied.body;
}

TEST(KubeLists, WorkloadsHaveNamesOfTheirOwn) {
  ApiWorld api;
  api.Submit("same");
  const json::value set = Json(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
    "metadata":{"name":"same","labels":{"kueue.x-k8s.io/queue-name":"queue"}},"spec":{"replicatedJobs":
    [{"name":"a","replicas":1,"template":{"spec":{"template":{"spec":{"restartPolicy":"Never",
    "containers":[{"name":"main","image":"busybox"}]}}}}}]}})");
  const Answer made = api.Post("/v1/namespaces/default/jobs", set);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string workloads = kKueue + "/namespaces/default/workloads";
  const json::value list = Json(api.Get(workloads).body);
  ASSERT_EQ(NamesOf(list).size(), 2u);
  EXPECT_TRUE(NamesOf(list)[0].starts_with("job-same-")) << NamesOf(list)[0];
  EXPECT_TRUE(NamesOf(list)[1].starts_with("jobset-same-")) << NamesOf(list)[1];
  EXPECT_EQ(NamesOf(list)[0].size(), std::string("job-same-").size() + 5);
  for (const json::value& one : list.at("items").as_array()) {
    const std::string name(one.at("metadata").at("name").as_string());
    const Answer read = api.Get(workloads + "/" + name);
    ASSERT_EQ(read.status, 200) << read.body;
    EXPECT_EQ(Json(read.body).at("metadata").at("uid"), one.at("metadata").at("uid"));
    EXPECT_EQ(NamesOf(Json(api.Get(workloads + "?fieldSelector=metadata.name%3D" + name).body)),
              std::vector<std::string>{name});
    EXPECT_EQ(api.Ask("DELETE", workloads + "/" + name).status, 409) << "its job is to be deleted";
  }
  for (const char* none : {"same", "job-same-00000", "jobset-same", "job-", "rayjob-same-12345"})
    EXPECT_EQ(api.Get(workloads + "/" + none).status, 404) << none;
}

TEST(KubeLists, VersionHasEveryFieldOfKubernetesAsText) {
  ApiWorld api;
  const json::value version = Json(api.Get("/version").body);
  for (const char* key : {"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate",
                          "goVersion", "compiler", "platform", "musterVersion"}) {
    const json::value* value = version.as_object().if_contains(key);
    ASSERT_NE(value, nullptr) << key;
    EXPECT_TRUE(value->is_string()) << key;
  }
  EXPECT_EQ(version.at("major"), "1");
  EXPECT_TRUE(std::string(version.at("platform").as_string()).starts_with("linux/"));
}

TEST(Credentials, ThatNobodyCanCheckAreRefusedEverywhereButForHealth) {
  ApiWorld api;
  for (const std::string header :
       {"Authorization: Bearer nonsense\r\n", "authorization: Basic YTpi\r\n"}) {
    for (const std::string path : {"/v1/jobs", "/apis", "/api/v1/namespaces", "/version",
                                   "/metrics", "/apis/batch/v1/jobs"}) {
      const Answer answer = api.Ask("GET", path, "", header);
      EXPECT_EQ(answer.status, 401) << path << header;
      EXPECT_NE(answer.head.find("WWW-Authenticate: Bearer"), std::string::npos) << answer.head;
    }
    EXPECT_EQ(
        api.Ask("POST", "/v1/namespaces/default/jobs", WriteJson(JobManifest("a")), header).status,
        401);
    EXPECT_EQ(api.Ask("GET", "/livez", "", header).status, 200);
  }
  // Nothing is said, but the header is there: it must not count as absent.
  EXPECT_EQ(api.Ask("GET", "/v1/jobs", "", "Authorization:\r\n").status, 400);
  EXPECT_EQ(NamesOf(Json(api.Get(kJobs).body)).size(), 0u);
  const Answer answer = api.Ask("GET", "/api/v1/namespaces", "", "Authorization: Bearer x\r\n");
  EXPECT_EQ(Json(answer.body).at("kind"), "Status");
  EXPECT_EQ(Json(answer.body).at("reason"), "Unauthorized");
}

}  // namespace
}  // namespace muster::test
