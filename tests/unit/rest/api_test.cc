// /v1 through a socket: jobs, batches, apply, lists, logs and events as the API promises them.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "schedd/base/limits.h"

#include "tests/unit/rest/api_world.h"

namespace muster::test {
namespace {

const char kJobs[] = "/v1/namespaces/default/jobs";

TEST(RestJobs, ASubmittedJobIsAnsweredWithItsViewAndFoundByNumberUidAndName) {
  ApiWorld api;
  const Answer made = api.Post(kJobs, JobManifest("train"));
  ASSERT_EQ(made.status, 201) << made.body;
  const json::value job = Json(made.body);
  EXPECT_EQ(job.at("name"), "train");
  EXPECT_EQ(job.at("user"), "alice");
  const std::string id = std::to_string(job.at("id").to_number<int>());
  EXPECT_NE(made.head.find("Location: /v1/jobs/" + id + "\r\n"), std::string::npos) << made.head;
  for (const std::string& path :
       {id, std::string(job.at("uid").as_string()), std::string("default%2Ftrain")}) {
    const Answer found = api.Get("/v1/jobs/" + path);
    EXPECT_EQ(found.status, 200) << path;
    EXPECT_EQ(Json(found.body).at("uid"), job.at("uid"));
  }
  EXPECT_EQ(api.Ask("HEAD", "/v1/jobs/" + id).status, 200);
  EXPECT_EQ(api.Get("/v1/jobs/999").status, 404);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/explain").status, 200);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/pods").status, 200);
  const Answer events = api.Get("/v1/jobs/" + id + "/events");
  EXPECT_NE(events.body.find("JobAccepted"), std::string::npos) << events.body;
}

// Member `east` runs a queue of its own, according to its answers.
class OneQueue final : public MemberQueues {
 public:
  bool RunsQueue(const std::string& cluster) const override { return cluster == "east"; }
  void EnsureCopy(const CopyOrder&, Callback<Done> done) override { done(Done{}); }
  void RemoveCopy(const CopyRemoval&, Callback<Done> done) override { done(Done{}); }
  void ListCopies(const std::string&, Callback<std::vector<MemberCopy>> done) override {
    done(std::vector<MemberCopy>{});
  }
};

TEST(RestJobs, MembersAreNominatedForAJobOfAnExternalQueue) {
  ApiWorld api;
  OneQueue queues;
  api.service.SetMemberQueues(&queues);
  const ObjectChange queue =
      WithAnnotation(ClusterQueueObject({}), "muster.io/dispatch-mode", "External");
  ASSERT_EQ(api.Ask("POST", "/v1/apply", queue.manifest).status, 200);
  const Answer made = api.Post(kJobs, JobManifest("train"));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string path =
      "/v1/jobs/" + std::to_string(Json(made.body).at("id").to_number<int>()) + ":nominate";
  Answer named;
  for (int i = 0; i < 200 && named.status != 200; ++i) {  // until it holds quota
    named = api.Post(path, Json(R"({"clusters":["east"]})"));
    if (named.status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(named.status, 200) << named.body;
  EXPECT_EQ(Json(named.body).at("name"), "train");
  struct Case {
    const char* body;
    int status;
    const char* field;
  };
  const Case cases[] = {
      {R"({"clusters":["nowhere"]})", 400, "clusters[0]"},
      {R"({"clusters":["east","east"]})", 400, "clusters[1]"},
      {R"({"clusters":"east"})", 400, "clusters"},
      {R"({"clusters":[1]})", 400, "clusters[0]"},
      {R"({"clusters":[],"more":1})", 400, "more"},
      {R"({})", 400, "clusters"},
  };
  for (const Case& one : cases) {
    const Answer refused = api.Post(path, Json(one.body));
    EXPECT_EQ(refused.status, one.status) << one.body << refused.body;
    EXPECT_NE(refused.body.find("\"field\":\"" + std::string(one.field) + "\""), std::string::npos)
        << one.body << refused.body;
  }
  api.service.SetMemberQueues(nullptr);
  const Answer without = api.Post(path, Json(R"({"clusters":["east"]})"));
  EXPECT_NE(without.body.find("runs no queue of its own"), std::string::npos) << without.body;
  EXPECT_EQ(api.Post(path, Json(R"({"clusters":[]})")).status, 200) << "they are withdrawn";
}

TEST(RestJobs, TheSameKeyGivesTheSameJobAndATakenNameIsAConflict) {
  ApiWorld api;
  const Answer first = api.Post(kJobs, JobManifest("train"), "Idempotency-Key: k-1\r\n");
  const Answer again = api.Post(kJobs, JobManifest("train"), "Idempotency-Key: k-1\r\n");
  ASSERT_EQ(first.status, 201) << first.body;
  ASSERT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(Json(first.body).at("id"), Json(again.body).at("id"));
  EXPECT_NE(again.head.find("Idempotent-Replayed: true"), std::string::npos);
  const Answer taken = api.Post(kJobs, JobManifest("train"));
  EXPECT_EQ(taken.status, 409);
  EXPECT_NE(taken.head.find("application/problem+json"), std::string::npos);
  EXPECT_EQ(api.Post(kJobs, JobManifest("b"), "Idempotency-Key: " + std::string(256, 'k') + "\r\n")
                .status,
            400);
}

TEST(RestJobs, BodiesAreJsonOrYamlAndNothingElse) {
  ApiWorld api;
  const std::string yaml =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: y, labels: {kueue.x-k8s.io/queue-name: "
      "queue}}\n"
      "spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - "
      "{name: c, image: busybox, command: [\"true\"],"
      " resources: {requests: {cpu: 1}}}\n";
  EXPECT_EQ(api.Ask("POST", kJobs, yaml, "Content-Type: application/yaml\r\n").status, 201);
  EXPECT_EQ(
      api.Ask("POST", kJobs, yaml + "---\n" + yaml, "Content-Type: application/yaml\r\n").status,
      400);
  EXPECT_EQ(api.Ask("POST", kJobs, WriteJson(JobManifest("j")),
                    "Content-Type: application/json; charset=utf-8\r\n")
                .status,
            201);
  for (const char* type :
       {"text/plain", "application/x-www-form-urlencoded", "application/vnd.kubernetes.protobuf"}) {
    const Answer refused =
        api.Ask("POST", kJobs, "{}", std::string("Content-Type: ") + type + "\r\n");
    EXPECT_EQ(refused.status, 415) << type;
  }
  for (const char* body : {"{", "[]", "{\"a\":1,\"a\":2}", "  ", "null"}) {
    const Answer refused = api.Ask("POST", kJobs, body);
    EXPECT_EQ(refused.status, 400) << body << refused.body;
    EXPECT_TRUE(Json(refused.body).at("detail").is_string());
  }
  EXPECT_EQ(api.Ask("POST", kJobs, std::string(100'000, '[')).status, 400);
  EXPECT_EQ(api.Ask("POST", kJobs, std::string((1 << 20) + 1, ' ')).status, 413);
}

TEST(RestJobs, TwoNamesToActAsReachNoHandler) {
  ApiWorld api;
  RawClient client(api.server.port());
  client.Send(
      "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Muster-User: a\r\n"
      "Impersonate-User: b\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
}

TEST(RequestIds, AreTakenOverIfTheyAreSane_AndElseMade) {
  ApiWorld api;
  EXPECT_NE(
      api.Ask("GET", "/livez", "", "X-Request-Id: a.b-1\r\n").head.find("X-Request-Id: a.b-1\r\n"),
      std::string::npos);
  const std::string made = api.Ask("GET", "/livez", "", "X-Request-Id: a b\r\n").head;
  EXPECT_NE(made.find("X-Request-Id: "), std::string::npos) << made;
  EXPECT_EQ(made.find("X-Request-Id: a b"), std::string::npos) << made;
  EXPECT_NE(made, api.Ask("GET", "/livez").head);
}

TEST(RestJobs, ABatchAnswersPerItemInOrder) {
  ApiWorld api;
  const json::array items{JobManifest("a"), json::object{{"kind", "Nonsense"}}, JobManifest("b"),
                          JobManifest("a")};
  const Answer answer = api.Post(std::string(kJobs) + ":batch", items);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::value parsed = Json(answer.body);
  const json::array& all = parsed.as_array();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].at("name"), "a");
  EXPECT_EQ(all[1].at("status"), 400);
  EXPECT_EQ(all[2].at("name"), "b");
  EXPECT_EQ(all[3].at("status"), 409);
  EXPECT_EQ(api.Post(std::string(kJobs) + ":batch", json::array(1001, json::object())).status, 400);
  EXPECT_EQ(api.Post(std::string(kJobs) + ":batch", items, "Idempotency-Key: k\r\n").status, 400);
}

TEST(RestJobs, AFullQueueIs429WithARetryTimeAndPerItemInABatch) {
  EngineOptions options;
  options.max_waiting_jobs = 1;
  ApiWorld api(options);
  const json::array items{JobManifest("a", "queue", "64"), JobManifest("b")};
  const Answer batch = api.Post(std::string(kJobs) + ":batch", items);
  ASSERT_EQ(batch.status, 200) << batch.body;
  EXPECT_EQ(Json(batch.body).at(0).at("name"), "a");
  EXPECT_EQ(Json(batch.body).at(1).at("status"), 429);
  const Answer refused = api.Post(kJobs, JobManifest("b"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After: 10\r\n"), std::string::npos) << refused.head;
  EXPECT_NE(refused.body.find("keeps at most 1 waiting jobs"), std::string::npos) << refused.body;
}

TEST(RestJobs, StepsOfAJobAreTakenAndRefusedAsTheyMake) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  const Answer cancelled = api.Ask("DELETE", "/v1/jobs/" + id);
  EXPECT_EQ(cancelled.status, 202) << cancelled.body;
  EXPECT_EQ(api.Post("/v1/jobs/" + id + ":nonsense", json::object()).status, 405);
  EXPECT_EQ(api.Ask("POST", "/v1/jobs/999:hold").status, 404);
  const Answer drain = api.Ask("POST", "/v1/memberclusters/east:drain");
  EXPECT_EQ(drain.status, 200) << drain.body;
  EXPECT_EQ(Json(drain.body).at("waiting"), 0);
  EXPECT_EQ(api.Ask("POST", "/v1/memberclusters/east:drain?force=perhaps").status, 400);
}

TEST(RestLists, PagesAreWholeInOrderAndJson) {
  ApiWorld api;
  for (int batch = 0; batch < 3; ++batch) {
    json::array items;
    for (int i = 0; i < 100; ++i)
      items.push_back(JobManifest("j" + std::to_string(batch * 100 + i)));
    ASSERT_EQ(api.Post(std::string(kJobs) + ":batch", items).status, 200);
  }
  const Answer whole = api.Get("/v1/jobs?limit=200000");
  ASSERT_EQ(whole.status, 200);
  EXPECT_NE(whole.head.find("chunked"), std::string::npos) << "long lists are streamed";
  const json::value all = Json(whole.body);
  ASSERT_EQ(all.at("items").as_array().size(), 300u);
  EXPECT_EQ(all.at("next_page_token"), "");
  std::int64_t last = 0;
  std::size_t seen = 0;
  std::string token;
  do {
    const json::value page = Json(api.Get("/v1/jobs?limit=70&page_token=" + token).body);
    for (const json::value& job : page.at("items").as_array()) {
      EXPECT_GT(job.at("id").to_number<std::int64_t>(), last);
      last = job.at("id").to_number<std::int64_t>();
      ++seen;
    }
    token = page.at("next_page_token").as_string();
  } while (!token.empty());
  EXPECT_EQ(seen, 300u);
  EXPECT_EQ(Json(api.Get("/v1/jobs?namespace=other").body).at("items").as_array().size(), 0u);
  EXPECT_EQ(Json(api.Get("/v1/jobs?state=Succeeded,Failed").body).at("items").as_array().size(),
            0u);
}

TEST(RestLists, FieldsLeavesOutTheOtherMembers_OfShortAndOfStreamedLists) {
  ApiWorld api;
  json::array items;
  for (int i = 0; i < 100; ++i) items.push_back(JobManifest("j" + std::to_string(i)));
  ASSERT_EQ(api.Post(std::string(kJobs) + ":batch", items).status, 200);
  for (const char* limit : {"3", "100"}) {
    const json::value page =
        Json(api.Get(std::string("/v1/jobs?fields=name,id&limit=") + limit).body);
    for (const json::value& job : page.at("items").as_array()) {
      ASSERT_EQ(job.as_object().size(), 2u) << limit;
      EXPECT_TRUE(job.at("name").as_string().starts_with("j"));
      EXPECT_GT(job.at("id").to_number<std::int64_t>(), 0);
    }
    EXPECT_EQ(std::to_string(page.at("items").as_array().size()), limit);
  }
}

TEST(RestLists, MisspeltFiltersAreRefusedByName) {
  ApiWorld api;
  for (const char* query :
       {"?naemspace=a", "?state=Runing", "?limit=0", "?limit=200001", "?limit=x", "?page_token=x",
        "?user=a&user=b", "?kind=Pod", "?fields=id,nmae", "?fields="}) {
    const Answer refused = api.Get(std::string("/v1/jobs") + query);
    EXPECT_EQ(refused.status, 400) << query << refused.body;
    EXPECT_FALSE(Json(refused.body).at("errors").as_array().empty()) << query;
  }
}

TEST(RestApply, OneBadDocumentChangesNothingAndIsNamed) {
  ApiWorld api;
  const json::value good = Json(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor","metadata":{"name":"new"}})");
  const json::value bad = Json(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor","metadata":{"name":"x"},"spec":{"typo":1}})");
  const Answer refused = api.Post("/v1/apply", json::array{good, bad});
  ASSERT_EQ(refused.status, 400) << refused.body;
  const std::string field(Json(refused.body).at("errors").at(0).at("field").as_string());
  EXPECT_TRUE(field.starts_with("documents[1]")) << field;
  EXPECT_EQ(api.Get("/apis/kueue.x-k8s.io/v1beta1/resourceflavors/new").status, 404);
  EXPECT_EQ(Json(api.Post("/v1/apply?dryRun=true", json::array{good}).body)
                .at("items")
                .at(0)
                .at("outcome"),
            "created");
  EXPECT_EQ(api.Get("/apis/kueue.x-k8s.io/v1beta1/resourceflavors/new").status, 404)
      << "a dry run changes nothing";
  const json::value applied = Json(api.Post("/v1/apply", json::array{good, JobManifest("t")}).body);
  EXPECT_EQ(applied.at("items").at(0).at("outcome"), "created");
  EXPECT_EQ(applied.at("items").at(1).at("job").at("name"), "t");
  EXPECT_EQ(Json(api.Post("/v1/apply", good).body).at("items").at(0).at("outcome"), "unchanged");
}

TEST(RestAccounting, JobsComeWithTheirAttempts) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  const json::value one = Json(api.Get("/v1/accounting?ids=" + id).body);
  EXPECT_EQ(one.at("items").at(0).at("job").at("name"), "train");
  EXPECT_TRUE(one.at("items").at(0).at("attempts").is_array());
  EXPECT_EQ(Json(api.Get("/v1/accounting?user=alice&since=2020-01-01T00:00:00Z").body)
                .at("items")
                .as_array()
                .size(),
            1u);
  EXPECT_EQ(Json(api.Get("/v1/accounting?user=bob").body).at("items").as_array().size(), 0u);
  EXPECT_EQ(api.Get("/v1/accounting?ids=999").status, 404);
  EXPECT_EQ(api.Get("/v1/accounting?since=yesterday").status, 400);
}

TEST(RestAdmin, StatusSaysWhetherItServes_AndWhatItWarnsOf) {
  ApiWorld api;
  const json::value status = Json(api.Get("/v1/status").body);
  EXPECT_TRUE(status.at("ready").as_bool());
  EXPECT_TRUE(status.at("reasons").as_array().empty());
  EXPECT_TRUE(status.at("warnings").is_array());
  EXPECT_FALSE(status.at("version").as_string().empty());
}

TEST(RestAdmin, QuotasAndClustersAnswer) {
  ApiWorld api;
  const json::value quotas = Json(api.Get("/v1/quotas?clusterQueue=cq").body);
  EXPECT_EQ(quotas.at("items").at(0).at("nominal"), "4");
  EXPECT_EQ(api.Get("/v1/memberclusters/east/facts").status, 200);
  EXPECT_EQ(api.Ask("POST", "/v1/memberclusters/nowhere:cordon").status, 404);
  EXPECT_EQ(api.Ask("POST", "/v1/memberclusters/nowhere:fence").status, 404);
  EXPECT_EQ(api.Ask("POST", "/v1/memberclusters/nowhere:collect").status, 404);
  EXPECT_NE(api.Ask("POST", "/v1/memberclusters/east:fence").status, 200) << "it answers";
  const auto collected = api.Ask("POST", "/v1/memberclusters/east:collect");
  EXPECT_EQ(collected.status, 200);
  EXPECT_EQ(Json(collected.body).at("objectsReleased"), 0);
}

TEST(RestAdmin, VerbsThatKnowNoDryRunRefuseIt) {
  ApiWorld api;
  for (const char* verb : {"cordon", "uncordon", "fence", "collect", "drain"}) {
    const std::string path = std::string("/v1/memberclusters/east:") + verb + "?dryRun=true";
    EXPECT_EQ(api.Ask("POST", path).status, 400) << verb;
  }
  EXPECT_EQ(api.Ask("POST", "/v1/tokens?dryrun=true", "{}").status, 400);
}

TEST(RestSystem, TheDaemonsOwnPathsAnswer) {
  ApiWorld api;
  for (const char* path : {"/", "/livez", "/healthz", "/readyz", "/metrics", "/openapi.yaml",
                           "/version", "/version/"}) {
    EXPECT_EQ(api.Get(path).status, 200) << path;
  }
  EXPECT_NE(api.Get("/metrics").body.find("muster_http_requests_total"), std::string::npos);
  EXPECT_EQ(Json(api.Get("/version").body).at("major"), "1");
}

TEST(RestLogs, WholeTailAndMissing) {
  ApiWorld api;
  const std::string id = api.SubmitSent("train");
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  api.backend.Append(text, true);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs").body, text);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs?tail=2").body, "line 99998\nline 99999\n");
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs?tail=0").body, "");
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs?tail=60000").body.substr(0, 11), "line 40000\n");
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs?container=absent").status, 404);
  EXPECT_EQ(api.Get("/v1/jobs/" + id + "/logs?follow=perhaps").status, 400);
}

TEST(RestLogs, AnAnswerSaysWhereItBeginsAndALaterOneGoesOnThere) {
  ApiWorld api;
  const std::string id = api.SubmitSent("train");
  const std::string logs = "/v1/jobs/" + id + "/logs";
  const auto begins = [&api](const std::string& target) {
    const std::string head = api.Get(target).head, name = "Muster-Log-Offset: ";
    const std::size_t at = head.find(name);
    if (at == std::string::npos) return "absent: " + head;
    return head.substr(at + name.size(), head.find("\r\n", at) - at - name.size());
  };
  EXPECT_EQ(begins(logs + "?tail=2"), "0");
  api.backend.Append("one\ntwo\nthree\n");
  EXPECT_EQ(begins(logs), "0");
  EXPECT_EQ(begins(logs + "?tail=2"), "4");
  EXPECT_EQ(begins(logs + "?tail=9"), "0");
  EXPECT_EQ(begins(logs + "?tail=0"), "14");
  EXPECT_EQ(begins(logs + "?offset=6"), "6");
  EXPECT_EQ(api.Get(logs + "?offset=6").body, "o\nthree\n");
  EXPECT_EQ(api.Get(logs + "?offset=4.5").body, "hree\n") << "five bytes of it are left out";
  EXPECT_EQ(begins(logs + "?offset=4.5"), "9");
  EXPECT_EQ(api.Get(logs + "?offset=14").body, "");
  // Without a time before its lines too, since that is the member's choice: a point all the same.
  EXPECT_EQ(begins(logs + "?timestamps=true"), "0.0");
  // With times, what is left out is counted in what is printed.
  EXPECT_EQ(begins(logs + "?tail=1&timestamps=true"), "0.8");
  EXPECT_EQ(begins(logs + "?offset=0.8&timestamps=true"), "0.8");
  EXPECT_EQ(api.Get(logs + "?offset=0.8&timestamps=true").body, "three\n");
  for (const char* bad : {"-1", "x", "1.", ".1", "1.-1", "1.2.3", "99999999999999999999", "1%20"})
    EXPECT_EQ(api.Get(logs + "?offset=" + bad).status, 400) << bad;
  EXPECT_EQ(api.Get(logs + "?offset=1&tail=1").status, 400);
  // What is left out may be longer than one piece of the log.
  std::string text = "one\ntwo\nthree\n";
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  api.backend.Append(text.substr(14), true);
  EXPECT_EQ(api.Get(logs + "?offset=1000.524288").body, text.substr(1000 + 524288));
  EXPECT_EQ(api.Get(logs + "?offset=3.99999999").body, "");
  EXPECT_EQ(begins(logs + "?tail=2"), std::to_string(text.size() - 22));
}

TEST(RestLogs, ReadersThatWaitForAMember_KeepNobodyElseWaiting) {
  ApiWorld api;
  const std::string job = api.SubmitSent("train");
  api.backend.log_reads.Hold();
  std::vector<std::thread> readers;
  for (int i = 0; i < limits::kRestPoolThreads; ++i) {
    readers.emplace_back(
        [&api, &job] { EXPECT_EQ(api.Get("/v1/jobs/" + job + "/logs").status, 200); });
  }
  api.backend.log_reads.Await(limits::kRestPoolThreads);
  EXPECT_EQ(api.Get("/v1/jobs/" + job).status, 200);
  EXPECT_EQ(api.Get("/v1/jobs").status, 200);
  api.backend.log_reads.LetGo();
  for (std::thread& one : readers) one.join();
}

TEST(RestLogs, AFollowerGoesOnFromAnOffset) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  api.backend.Append("first\n");
  RawClient client(api.server.port());
  client.Send("GET /v1/jobs/" + id +
              "/logs?follow=true&offset=3 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("Muster-Log-Offset: 3\r\n"));
  ASSERT_TRUE(client.ReadUntil("\r\nst\n"));
  api.backend.Append("second\n", true);
  EXPECT_TRUE(client.ReadUntil("second\n"));
}

TEST(RestLogs, AFollowerGetsWhatComesAndEndsWithTheContainer) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  api.backend.Append("first\n");
  RawClient client(api.server.port());
  client.Send("GET /v1/jobs/" + id + "/logs?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("first\n"));
  api.backend.Append("second\n");
  ASSERT_TRUE(client.ReadUntil("second\n"));
  api.backend.Append("last\n", true);
  EXPECT_TRUE(client.ReadUntil("last\n"));
  EXPECT_TRUE(client.ReadUntil("0\r\n\r\n"));
}

TEST(RestLogs, AFollowerOfAServerThatStops_SeesThatTheLogGoesOn) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  api.backend.Append("first\n");
  RawClient client(api.server.port());
  client.Send("GET /v1/jobs/" + id + "/logs?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("first\n"));
  api.server.Stop();
  EXPECT_FALSE(client.ReadUntil("0\r\n\r\n")) << "the last chunk would end the log";
}

TEST(RestLogs, AFollowerWhoseRightGoesIsToldSo) {
  ApiWorld api;
  const std::string id = api.Submit("train");
  api.backend.Append("first\n");
  RawClient client(api.server.port());
  client.Send("GET /v1/jobs/" + id + "/logs?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("first\n"));
  api.w.authorizer.refuses_all = true;
  EXPECT_TRUE(client.ReadUntil("muster: the log is not followed any more: "));
  EXPECT_TRUE(client.ReadUntil("0\r\n\r\n"));
}

Event EventOf(std::int64_t seq) {
  Event event;
  event.seq = seq;
  event.type = "JobStarted";
  event.object = "job/default/train";
  return event;
}

TEST(RestEvents, AFollowerResumesFromItsNumberAndThenLives) {
  ApiWorld api;
  api.Submit("train");
  RawClient client(api.server.port());
  client.Send("GET /v1/events?since=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("event: JobAccepted\ndata: {"));
  const std::int64_t far = 1'000'000;
  api.server.PublishEvents({EventOf(far), EventOf(far + 1)});
  ASSERT_TRUE(client.ReadUntil("id: 1000001\n"));
  api.server.PublishEvents({EventOf(far + 1), EventOf(far + 2)});
  ASSERT_TRUE(client.ReadUntil("id: 1000002\n"));
  std::size_t doubled = 0;
  for (std::size_t at = 0; (at = client.buffer().find("id: 1000001\n", at)) != std::string::npos;
       ++at)
    ++doubled;
  EXPECT_EQ(doubled, 1u) << "an event is sent once";
  RawClient late(api.server.port());
  late.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1000000\r\n\r\n");
  ASSERT_TRUE(late.ReadUntil(": following from 1000000"));
  EXPECT_EQ(late.buffer().find("JobAccepted"), std::string::npos);
  EXPECT_EQ(api.Get("/v1/events?since=x").status, 400);
}

// A stream asks again when its hub ticks, which is each second.
static_assert(limits::kAskAgainMs + 1000 <= 5000);

TEST(RestEvents, AStreamWhoseCredentialIsRevokedEndsWithin5s_AndSaysWhy) {
  ApiWorld api;
  RawClient client(api.server.port());
  client.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil(": following"));
  api.authenticator.good = false;
  EXPECT_TRUE(client.ReadUntil(": the stream ends: the credentials were revoked\n"));
  EXPECT_TRUE(client.ReadUntil("0\r\n\r\n"));
}

TEST(RestEvents, StreamsAreCountedAndGivenBack) {
  ApiWorld api;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 0; i < limits::kStreams; ++i) {
    clients.push_back(std::make_unique<RawClient>(api.server.port()));
    clients.back()->Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(clients.back()->ReadUntil(": following")) << i;
  }
  RawClient one_more(api.server.port());
  one_more.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Answer refused = one_more.Read();
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After: 5"), std::string::npos) << refused.head;
  // Another user gets a fair share: the oldest stream of the user who has all of them ends.
  RawClient alice(api.server.port());
  alice.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nX-Muster-User: alice\r\n\r\n");
  EXPECT_TRUE(alice.ReadUntil(": following"));
  EXPECT_TRUE(clients[0]->ReadUntil("0\r\n\r\n"));
  clients.clear();
  int status = 429;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int i = 0; status == 429 && std::chrono::steady_clock::now() < give_up; ++i) {
    api.server.PublishEvents(
        // The hub notices at the next event that a client has left.
        {EventOf(2'000'000 + i)});
    RawClient again(api.server.port());
    again.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    status = again.Read(true).status;
  }
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace muster::test
