// Placements and member clusters as `muster` shows them, and `muster cluster taint`.
#include <gtest/gtest.h>
#include <time.h>

#include "clients/cli/commands.h"
#include "clients/cli/describe_page.h"
#include "schedd/base/time.h"
#include "tests/unit/clients/fake_server.h"

namespace muster::cli {
namespace {

using testing::Capture;
using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;

class CliFleet : public ::testing::Test {
 protected:
  CliFleet() : server_([this](const FakeRequest& request) { return answer_(request); }) {}
  Session Connect() {
    client::Settings settings;
    settings.server.port = server_.port();
    settings.as_user = "alice";
    return Session(settings);
  }
  std::function<FakeAnswer(const FakeRequest&)> answer_;
  FakeServer server_;
};

// Every AT is a moment ten days ago, the same one each time.
std::string AtMoment(std::string text) {
  static const std::string stamp = FormatRfc3339({(::time(nullptr) - 864'000) * kMicrosPerSecond});
  for (std::size_t at = text.find("AT"); at != std::string::npos; at = text.find("AT", at))
    text.replace(at, 2, stamp);
  return text;
}

constexpr const char* kPlacement = R"json({
"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ResourcePlacement",
"metadata":{"name":"job1-placement","namespace":"compute-jobs","generation":1,
 "creationTimestamp":"AT","resourceVersion":"4416159",
 "uid":"91666f24-9b16-43cd-90f3-9a2e715733be","annotations":{"b":"2","a":"1"}},
"spec":{"resourceSelectors":[{"group":"batch","version":"v1","kind":"Job","name":"mock-workload"}],
 "policy":{"placementType":"PickN","numberOfClusters":1,"affinity":null},
 "strategy":{"rollingUpdate":{"maxSurge":"25%"}}},
"status":{"conditions":[
 {"type":"ResourcePlacementScheduled","status":"True","reason":"SchedulingPolicyFulfilled",
  "lastTransitionTime":"AT","observedGeneration":1,"message":"found 1\ncluster(s)"},
 {"type":"ResourcePlacementRolloutStarted","status":"True","reason":"RolloutStarted",
  "lastTransitionTime":"AT","observedGeneration":1,"message":"All 1 cluster(s) start"},
 {"type":"ResourcePlacementApplied","status":"Unknown","reason":"ApplyPending",
  "lastTransitionTime":"AT","observedGeneration":1,"message":"pending"}],
 "observedResourceIndex":"0","placementStatuses":[],
 "selectedResources":[{"group":"batch","kind":"Job","name":"mock-workload"}]}})json";

// Laid out as the fleet guide's listing.
constexpr const char* kPage =
    "Name:         job1-placement\n"
    "Namespace:    compute-jobs\n"
    "Labels:       <none>\n"
    "Annotations:  a: 1\n"
    "              b: 2\n"
    "API Version:  placement.kubernetes-fleet.io/v1beta1\n"
    "Kind:         ResourcePlacement\n"
    "Metadata:\n"
    "  Creation Timestamp:  AT\n"
    "  Generation:          1\n"
    "  Resource Version:    4416159\n"
    "  UID:                 91666f24-9b16-43cd-90f3-9a2e715733be\n"
    "Spec:\n"
    "  Policy:\n"
    "    Affinity:            <nil>\n"
    "    Number Of Clusters:  1\n"
    "    Placement Type:      PickN\n"
    "  Resource Selectors:\n"
    "    Group:    batch\n"
    "    Kind:     Job\n"
    "    Name:     mock-workload\n"
    "    Version:  v1\n"
    "  Strategy:\n"
    "    Rolling Update:\n"
    "      Max Surge:  25%\n"
    "Status:\n"
    "  Conditions:\n"
    "    Last Transition Time:   AT\n"
    "    Message:                found 1 cluster(s)\n"
    "    Observed Generation:    1\n"
    "    Reason:                 SchedulingPolicyFulfilled\n"
    "    Status:                 True\n"
    "    Type:                   ResourcePlacementScheduled\n"
    "    Last Transition Time:   AT\n"
    "    Message:                All 1 cluster(s) start\n"
    "    Observed Generation:    1\n"
    "    Reason:                 RolloutStarted\n"
    "    Status:                 True\n"
    "    Type:                   ResourcePlacementRolloutStarted\n"
    "    Last Transition Time:   AT\n"
    "    Message:                pending\n"
    "    Observed Generation:    1\n"
    "    Reason:                 ApplyPending\n"
    "    Status:                 Unknown\n"
    "    Type:                   ResourcePlacementApplied\n"
    "  Observed Resource Index:  0\n"
    "  Placement Statuses:\n"
    "  Selected Resources:\n"
    "    Group:  batch\n"
    "    Kind:   Job\n"
    "    Name:   mock-workload\n"
    "Events:\n"
    "  Type    Reason                   Age   From                  Message\n"
    "  ----    ------                   ----  ----                  -------\n"
    "  Normal  PlacementRolloutStarted  10d   placement-controller  Started rolling out the latest "
    "resources\n";

TEST_F(CliFleet, DescribeOfAPlacementReadsLikeKubectls) {
  const std::string object = AtMoment(kPlacement);
  answer_ = [&](const FakeRequest&) { return FakeAnswer{200, object}; };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return Describe(session, {"rp", {"job1-placement"}}); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, AtMoment(kPage));
  EXPECT_EQ(server_.requests().at(0).target,
            "/apis/placement.kubernetes-fleet.io/v1beta1/namespaces/default/resourceplacements/"
            "job1-placement");
}

TEST_F(CliFleet, DescribeOfASecretShowsSizesAndNoValue) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"json({"apiVersion":"v1","kind":"Secret","type":"Opaque",
"metadata":{"name":"db","namespace":"default","annotations":{
  "kubectl.kubernetes.io/last-applied-configuration":"{aHVzaA==}","note":"n"}},
"data":{"password":"aHVzaA==","zeroes":"AAAA","user":""},"stringData":{"plain":"hidden"}})json"};
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return Describe(session, {"secret", {"db"}}); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Name:         db\n"
            "Namespace:    default\n"
            "Labels:       <none>\n"
            "Annotations:  note: n\n"
            "\n"
            "Type:  Opaque\n"
            "\n"
            "Data\n"
            "====\n"
            "password:  4 bytes\n"
            "plain:     6 bytes\n"
            "user:      0 bytes\n"
            "zeroes:    3 bytes\n");
}

TEST_F(CliFleet, DoctorAuthNamesTheWayToTheServer) {
  client::Settings settings;
  settings.server.port = 1;  // nobody answers there
  const auto told = [&settings] {
    Session session(settings);
    return Capture([&] { return DoctorAuth(session); }).out;
  };
  EXPECT_NE(told().find("TCP without TLS\n"), std::string::npos);
  settings.server.tls = true;
  EXPECT_NE(told().find("TLS; the server's certificate is checked\n"), std::string::npos);
  settings.tls.skip_verify = true;
  EXPECT_NE(told().find("TLS; the server's certificate is not checked\n"), std::string::npos);
}

TEST_F(CliFleet, DoctorAuthTellsAllThatIsSent) {
  client::Settings settings;
  settings.server.port = 1;  // nobody answers there
  settings.server.tls = true;
  settings.tls.certificate_file = settings.tls.key_file = "/nonexistent";
  const auto told = [&settings] {
    Session session(settings);
    return Capture([&] { return DoctorAuth(session); }).out;
  };
  EXPECT_NE(told().find("a client certificate\n"), std::string::npos);
  settings.token = "t";
  EXPECT_NE(told().find("a token, and a client certificate\n"), std::string::npos);
}

TEST_F(CliFleet, WhatAServerSaysCannotActOnTheTerminal) {
  const std::string evil = "\\u001b]0;x\\u0007";
  answer_ = [&](const FakeRequest&) {
    return FakeAnswer{200, R"({"user":")" + evil + R"(","name":")" + evil + R"(","token":")" +
                               evil + R"(","version":")" + evil + R"(","gitVersion":")" + evil +
                               R"(","reasons":[")" + evil + R"("],"warnings":[{"type":")" + evil +
                               R"("}]})"};
  };
  Session session = Connect();
  const auto shown = [](const CommandResult& ran) { return ran.out + ran.err; };
  const std::string all =
      shown(Capture([&] { return WhoAmI(session, ""); })) +
      shown(Capture([&] { return TokenCreate(session, {}); })) +
      shown(Capture([&] { return ServerStatus(session, ""); })) +
      shown(Capture([&] { return Version(session, false); })) + shown(Capture([&] {
        return PrintWarnings(json::object{{"warnings", json::array{"\x1b[2J"}}}), 0;
      }));
  EXPECT_EQ(all.find('\x1b'), std::string::npos) << all;
  EXPECT_NE(all.find("\\033]0;x\\007"), std::string::npos) << all;
}

TEST_F(CliFleet, DoctorNamesWhatTheDaemonSaysOfItselfAndOfItsMembers) {
  const auto members = [](const std::string& quarantined) {
    return R"({"items":[
      {"metadata":{"name":"east"},"status":{"conditions":[{"type":"Healthy","status":"True"}]}},
      {"metadata":{"name":"west"},"status":{"conditions":[{"type":"Healthy","status":"True"},
        {"type":"Quarantined","status":")" +
           quarantined + R"(","message":"1 object is ahead"}]}}]})";
  };
  std::string quarantined = "True", status = R"({"ready":true,"role":"leader",
    "leader":{"address":"http://a"},"warnings":[{"type":"JobsRunAsRoot","message":"as root"}],
    "database":{"promise":"crash","message":"survives a crash"}})";
  answer_ = [&](const FakeRequest& request) {
    return FakeAnswer{200, request.target == "/v1/status" ? status : members(quarantined)};
  };
  Session session = Connect();
  const auto ask = [&] { return Capture([&] { return Doctor(session, {}); }); };
  const CommandResult off = ask();
  EXPECT_EQ(off.exit, kRefused);
  EXPECT_EQ(off.out,
            "CHECK         STATE   WHAT\n"
            "daemon        ok      ready\n"
            "leader        ok      leader; http://a leads\n"
            "database      ok      survives a crash\n"
            "warning       note    JobsRunAsRoot: as root\n"
            "member east   ok      its objects are those of its attempts\n"
            "member west   off     Quarantined is True: 1 object is ahead\n"
            "database: not asked (--data-dir, --postgres or --config)\n");
  quarantined = "False";
  EXPECT_EQ(ask().exit, 0);
  status = R"({"ready":true,"database":{"promise":"none","message":"fsync is off"}})";
  const CommandResult unsafe = ask();
  EXPECT_EQ(unsafe.exit, kRefused);
  EXPECT_NE(unsafe.out.find("database      off     fsync is off"), std::string::npos) << unsafe.out;
  status = R"({"ready":false,"role":"standby","reasons":["another daemon leads"],
    "leader":{"address":"http://a"},"copyAgeSeconds":1.5})";
  const CommandResult standby = ask();
  EXPECT_EQ(standby.exit, 0);
  EXPECT_NE(standby.out.find("copy          note    1.5"), std::string::npos) << standby.out;
}

TEST_F(CliFleet, ADrainIsFollowedUntilNothingIsLeft) {
  int asked = 0;
  answer_ = [&asked](const FakeRequest&) {
    return FakeAnswer{200, ++asked == 1 ? R"({"evicting":2,"blocked":1,"waiting":0,
        "reasons":["job 7: a budget keeps it"]})"
                                        : R"({"evicting":0,"blocked":0,"waiting":0,"reasons":[]})"};
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return ClusterDrain(session, {"east", true, true}); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "membercluster/east draining: 2 evicting, 1 blocked, 0 waited for\n"
            "  job 7: a budget keeps it\n"
            "membercluster/east drained\n");
  EXPECT_EQ(server_.requests().at(0).target, "/v1/memberclusters/east:drain?force=true");
}

TEST_F(CliFleet, APlacementThatHasComeToItsEndHasAllSixEvents) {
  json::array conditions;
  for (const char* type :
       {"Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available"}) {
    conditions.push_back(json::object{{"type", std::string("ClusterResourcePlacement") + type},
                                      {"status", "True"},
                                      {"lastTransitionTime", "2020-01-01T00:00:00Z"}});
  }
  const std::string page =
      PlacementPage(json::object{{"kind", "ClusterResourcePlacement"},
                                 {"metadata", json::object{{"name", "all"}}},
                                 {"status", json::object{{"conditions", std::move(conditions)}}}});
  std::size_t after = 0;
  for (const char* event :
       {"PlacementRolloutStarted ", "PlacementOverriddenSucceeded ", "PlacementWorkSynchronized ",
        "PlacementApplied ", "PlacementAvailable ", "PlacementRolloutCompleted "}) {
    const std::size_t at = page.find(event, after);
    ASSERT_NE(at, std::string::npos) << event << page;
    after = at;
  }
}

TEST(DescribePage, APlacementThatOnlyComparesTellsThatItHas) {
  const json::array conditions = {
      json::object{{"type", "ResourcePlacementWorkSynchronized"}, {"status", "True"}},
      json::object{{"type", "ResourcePlacementDiffReported"}, {"status", "True"}}};
  const std::string page =
      PlacementPage(json::object{{"kind", "ResourcePlacement"},
                                 {"metadata", json::object{{"name", "all"}}},
                                 {"status", json::object{{"conditions", conditions}}}});
  const std::size_t reported = page.find("PlacementDiffReported ");
  ASSERT_NE(reported, std::string::npos) << page;
  EXPECT_LT(page.find("PlacementWorkSynchronized "), reported);
  EXPECT_NE(page.find("PlacementRolloutCompleted ", reported), std::string::npos) << page;
  EXPECT_EQ(page.find("PlacementAvailable "), std::string::npos) << page;
}

// As the fleet guide's listing of a placement that has drifted.
TEST(DescribePage, ListsInListsAreIndentedAndAlignedAsKubectlDoes) {
  const json::value status = json::parse(R"json({"placementStatuses":[{"clusterName":"cluster-3",
    "driftedPlacements":[{"group":"batch","kind":"Job","name":"mock-workload",
      "namespace":"compute-jobs","version":"v1","observationTime":"T2",
      "firstDriftedObservedTime":"T1","targetClusterObservedGeneration":2,"observedDrifts":[
        {"path":"/spec/suspend","valueInMember":"false","valueInHub":"true"},
        {"path":"/spec/selector","valueInMember":"f9e6"}]}],
    "failedPlacements":[{"group":"batch","kind":"Job","name":"mock-workload","version":"v1",
      "condition":{"type":"Applied","status":"False","observedGeneration":2}}],
    "observedResourceIndex":"0"}]})json");
  const std::string page = PlacementPage(json::object{{"kind", "ResourcePlacement"},
                                                      {"metadata", json::object{{"name", "all"}}},
                                                      {"status", status}});
  const std::string expected =
      "  Placement Statuses:\n"
      "    Cluster Name:  cluster-3\n"
      "    Drifted Placements:\n"
      "      First Drifted Observed Time:  T1\n"
      "      Group:                        batch\n"
      "      Kind:                         Job\n"
      "      Name:                         mock-workload\n"
      "      Namespace:                    compute-jobs\n"
      "      Observation Time:             T2\n"
      "      Observed Drifts:\n"
      "        Path:                              /spec/suspend\n"
      "        Value In Hub:                      true\n"
      "        Value In Member:                   false\n"
      "        Path:                              /spec/selector\n"
      "        Value In Member:                   f9e6\n"
      "      Target Cluster Observed Generation:  2\n"
      "      Version:                             v1\n"
      "    Failed Placements:\n"
      "      Condition:\n"
      "        Observed Generation:  2\n"
      "        Status:               False\n"
      "        Type:                 Applied\n"
      "      Group:                  batch\n"
      "      Kind:                   Job\n"
      "      Name:                   mock-workload\n"
      "      Version:                v1\n"
      "    Observed Resource Index:  0\n";
  EXPECT_NE(page.find(expected), std::string::npos) << page;
}

TEST(DescribePage, TitlesAreWordsAndKeysOfUsersStayAsTheyAre) {
  const std::pair<const char*, const char*> cases[] = {
      {"lastTransitionTime", "Last Transition Time"},
      {"apiVersion", "API Version"},
      {"uid", "UID"},
      {"metadata", "Metadata"},
      {"loadPDFFile", "Load PDF File"},
      {"app.kubernetes.io/name", "app.kubernetes.io/name"},
      {"v1", "v1"},
      {"", ""}};
  for (const auto& [key, title] : cases) EXPECT_EQ(TitleOf(key), title);
}

constexpr const char* kFacts = R"json({"name":"east","backend":"kubernetes","healthy":true,
"observedAt":"2026-11-21T10:00:00Z","ageSeconds":75,"heartbeatPeriodSeconds":30,"stale":true,"cordoned":false,
"version":"v1.34.1","nodeCount":3,"labels":{"zone":"a"},
"taints":[{"key":"spot","value":"yes","effect":"NoSchedule"},
 {"key":"old","value":"","effect":"NoExecute"}],
"properties":{"k8s.io/k8s-version":"v1.34.1","muster.io/cost.cpu":"0.04"},
"datasets":["imagenet","laion"],"kinds":["Job","RayJob"],
"capacity":{"cpu":"12"},"allocatable":{"cpu":"8"},"usedByOthers":{"cpu":"500m"},"free":{"cpu":"3"},
"machines":{"ready":2,"largestFree":{"cpu":"2"},
 "freeSlots":{"cpu":[{"atLeast":"2","machines":1},{"atLeast":"0","machines":1}]}}})json";

constexpr const char* kFactsPage = R"(Name:       east
Backend:    kubernetes
State:      Ready
Heartbeat:  75s old (2026-11-21T10:00:00Z), at least every 30s, stale: it has told nothing since
Version:    v1.34.1
Machines:   3
Labels:     zone=a
Taints:     spot=yes:NoSchedule, old:NoExecute
Data sets:  imagenet, laion
Serves:     Job, RayJob
Resources:
  RESOURCE   CAPACITY   ALLOCATABLE   USED BY OTHERS   FREE   MOST ON ONE MACHINE
  cpu        12         8             500m             3      2
Properties:
  PROPERTY             VALUE
  k8s.io/k8s-version   v1.34.1
  muster.io/cost.cpu   0.04
Free on its 2 ready machines:
  RESOURCE   MACHINES WITH AT LEAST SO MUCH FREE
  cpu        1 with 2, 1 with 0
)";

TEST_F(CliFleet, DescribeOfAClusterShowsItsFactsAndTheirAge) {
  answer_ = [](const FakeRequest&) { return FakeAnswer{200, kFacts}; };
  Session session = Connect();
  const CommandResult page = Capture([&] { return ClusterDescribe(session, "east", ""); });
  EXPECT_EQ(page.exit, 0) << page.err;
  EXPECT_EQ(page.out, kFactsPage);
  EXPECT_NE(
      Capture([&] { return ClusterDescribe(session, "east", "yaml"); }).out.find("ageSeconds: 75"),
      std::string::npos);
  EXPECT_EQ(Capture([&] { return ClusterDescribe(session, "east", "xml"); }).exit, kBadUsage);
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"name":"local","backend":"local","healthy":false,
        "message":"no flag declares it","cordoned":false,"labels":{},"taints":[]})"};
  };
  EXPECT_EQ(Capture([&] { return ClusterDescribe(session, "local", ""); }).out,
            "Name:     local\nBackend:  local\nState:    Unreachable\n"
            "It says:  no flag declares it\nLabels:   <none>\nTaints:   <none>\n");
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"name":"east","backend":"kubernetes","healthy":false,"answers":true,
        "message":"no permission","cordoned":false,"labels":{},"taints":[]})"};
  };
  EXPECT_NE(Capture([&] { return ClusterDescribe(session, "east", ""); }).out.find("Unhealthy\n"),
            std::string::npos);
}

TEST_F(CliFleet, RemovingAMemberSaysWhatStaysThere) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name":"paris"})", "membercluster/paris removed\n"},
      {R"({"name":"paris","configurationObjects":1,"placements":1})",
       "membercluster/paris removed; 1 configuration object of 1 placement stays there\n"},
      {R"({"name":"paris","configurationObjects":7,"placements":2})",
       "membercluster/paris removed; 7 configuration objects of 2 placements stay there\n"}};
  for (const auto& [answer, line] : cases) {
    answer_ = [answer = answer](const FakeRequest&) { return FakeAnswer{200, answer}; };
    Session session = Connect();
    EXPECT_EQ(Capture([&] { return ClusterRemove(session, "paris", false); }).out, line);
  }
}

TEST_F(CliFleet, TaintEditsTheMemberAsItWasRead) {
  const struct {
    const char* sentence;
    std::vector<std::string> edits;
    bool overwrite;
    int exit;
    const char* taints;  // that are sent, or words of the refusal
  } cases[] = {
      {"a new one is added",
       {"gpu=a100:NoExecute"},
       false,
       0,
       R"([{"key":"spot","value":"yes","effect":"NoSchedule"},)"
       R"({"key":"gpu","effect":"NoExecute","value":"a100"}])"},
      {"the same one again changes nothing",
       {"spot=yes:NoSchedule"},
       false,
       0,
       R"([{"key":"spot","effect":"NoSchedule","value":"yes"}])"},
      {"another value needs --overwrite", {"spot=no:NoSchedule"}, false, kRefused, "--overwrite"},
      {"and takes it with it",
       {"spot=no:NoSchedule"},
       true,
       0,
       R"([{"key":"spot","effect":"NoSchedule","value":"no"}])"},
      {"one is removed by key and effect", {"spot:NoSchedule-"}, false, 0, "[]"},
      {"or by key alone, and another added",
       {"spot-", "a:NoSchedule"},
       false,
       0,
       R"([{"key":"a","effect":"NoSchedule"}])"},
      {"what is not there cannot be removed", {"gpu-"}, false, kRefused, "\"gpu\" is not there"},
      {"an effect is needed", {"gpu=a100"}, false, kBadUsage, "is no taint"},
      {"a key too", {"=a:NoSchedule"}, false, kBadUsage, "is no taint"},
  };
  for (const auto& one : cases) {
    std::string sent;
    answer_ = [&](const FakeRequest& request) {
      if (request.method == "PUT") sent = request.body;
      return FakeAnswer{200, R"({"metadata":{"name":"east","resourceVersion":"7"},
          "spec":{"taints":[{"key":"spot","value":"yes","effect":"NoSchedule"}]}})"};
    };
    Session session = Connect();
    const CommandResult ran = Capture([&] {
      return ClusterTaint(session, {"east", one.edits, one.overwrite});
    });
    EXPECT_EQ(ran.exit, one.exit) << one.sentence << ran.err;
    if (one.exit != 0) {
      EXPECT_NE(ran.err.find(one.taints), std::string::npos) << one.sentence << ": " << ran.err;
      EXPECT_EQ(sent, "") << one.sentence;
      continue;
    }
    const json::value object = json::parse(sent);
    EXPECT_EQ(WriteJson(object.at_pointer("/spec/taints")), one.taints) << one.sentence;
    EXPECT_EQ(object.at_pointer("/metadata/resourceVersion"), "7") << one.sentence;
  }
}

}  // namespace
}  // namespace muster::cli
