#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "clients/cli/commands.h"
#include "clients/cli/completion.h"
#include "clients/cli/durations.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "schedd/text/duration.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::cli {
namespace {

using testing::Capture;
using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;

class Cli : public ::testing::Test {
 protected:
  Cli()
      : file_(::testing::TempDir() + "cli-" + std::to_string(::getpid()) + ".yaml"),
        server_([this](const FakeRequest& request) { return answer_(request); }) {}
  ~Cli() override { ::unlink(file_.c_str()); }
  Session Connect() {
    client::Settings settings;
    settings.server.port = server_.port();
    settings.as_user = "alice";
    return Session(settings);
  }
  std::string file_;
  std::function<FakeAnswer(const FakeRequest&)> answer_;
  FakeServer server_;
};

TEST_F(Cli, ApplySendsAllDocumentsAtOnceAndPrintsEachOutcome) {
  std::ofstream(file_) << "kind: A\n---\nkind: B\n";
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{
        200,
        R"({"items":[{"kind":"ClusterQueue","name":"q","outcome":"created"},{"kind":"Job","name":"j","outcome":"unchanged"}]})"};
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return Apply(session, {{file_}, false}); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "clusterqueue/q created\njob/j unchanged\n");
  EXPECT_EQ(server_.requests().at(0).target, "/v1/apply?namespace=default");
  EXPECT_EQ(server_.requests().at(0).body, R"([{"kind":"A"},{"kind":"B"}])");
}

TEST_F(Cli, ApplyNamesFileDocumentAndFieldOfEveryError) {
  std::ofstream(file_) << "kind: A\n---\nkind: B\n";
  answer_ = [](const FakeRequest&) {
    return testing::Problem(422, "must not be negative", "documents[1].spec.x");
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return Apply(session, {{file_}, false}); });
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(file_ + ": document 2: spec.x: must not be negative"), std::string::npos)
      << ran.err;
}

// `muster get` with these values.
GetOptions With(std::initializer_list<std::pair<std::string GetOptions::*, const char*>> values) {
  GetOptions options;
  for (const auto& [member, value] : values) options.*member = value;
  return options;
}

TEST_F(Cli, GetJobsAsksTheServerForTheJobsOfItsOptions) {
  const std::tuple<GetOptions, const char*> cases[] = {
      {With({{&GetOptions::kind, "jobs"}}), "/v1/jobs?namespace=default&limit=1000"},
      {With({{&GetOptions::kind, "jobs"},
             {&GetOptions::state, "Running,Failed"},
             {&GetOptions::queue, "q"},
             {&GetOptions::user, "ana"},
             {&GetOptions::job_kind, "JobSet"},
             {&GetOptions::array, "7"},
             {&GetOptions::since, "2026-11-28T10:00:00Z"}}),
       "/v1/jobs?namespace=default&state=Running%2CFailed&queue=q&user=ana&kind=JobSet&array=7"
       "&since=2026-11-28T10%3A00%3A00Z&limit=1000"},
      {With({{&GetOptions::kind, "jobs"}, {&GetOptions::search, "7_3"}}),
       "/v1/jobs?namespace=default&search=7_3&limit=200000"}};
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"items":[],"next_page_token":""})"};
  };
  Session session = Connect();
  for (const auto& [options, target] : cases) {
    const CommandResult ran = Capture([&] { return Get(session, options); });
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(server_.requests().back().target, target);
  }
}

TEST_F(Cli, GetRefusesOptionsOfListsOfJobsElsewhere_AndTimesThatAreNone) {
  const std::tuple<GetOptions, const char*> cases[] = {
      {With({{&GetOptions::kind, "cq"}, {&GetOptions::state, "Running"}}),
       "--state goes with lists of jobs only"},
      {With({{&GetOptions::kind, "jobs"},
             {&GetOptions::name, "17"},
             {&GetOptions::user, "ana"},
             {&GetOptions::search, "x"}}),
       "--user, --search go with lists of jobs only"},
      {With({{&GetOptions::kind, "jobs"}, {&GetOptions::since, "yesterday"}}),
       "--since takes a time such as"}};
  answer_ = [](const FakeRequest&) { return FakeAnswer{500, ""}; };
  Session session = Connect();
  for (const auto& [options, text] : cases) {
    const CommandResult ran = Capture([&] { return Get(session, options); });
    EXPECT_EQ(ran.exit, kBadUsage);
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Cli, StatusPrintsWhereTheServerIs_WhetherItServes_AndItsWarnings) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"version":"1.2","ready":false,"reasons":["recovering"],"lastEvent":7,
      "database":{"message":"survives","problem":"waits"},
      "warnings":[{"type":"JobsRunAsRoot","message":"as root"}]})"};
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return ServerStatus(session, ""); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(server_.requests().at(0).target, "/v1/status");
  EXPECT_NE(ran.out.find("version:  1.2\nready:    no\n          recovering\n"
                         "database: survives\ndatabase: waits\n"
                         "warning:  JobsRunAsRoot: as root\n"),
            std::string::npos)
      << ran.out;
}

TEST_F(Cli, SubmitSaysOnceWhatIsWrongAndWhere) {
  const struct {
    const char* detail;
    const char* field;
    std::string err;
  } cases[] = {
      {"spec.x: must not be negative", "spec.x",
       "muster: refused\n  " + file_ + ": document 1: spec.x: must not be negative\n"},
      {"namespace n does not exist", "",
       "muster: " + file_ + ": document 1: namespace n does not exist\n"},
  };
  std::ofstream(file_) << "kind: Job\n";
  for (const auto& one : cases) {
    answer_ = [&](const FakeRequest&) {
      FakeAnswer answer = testing::Problem(400, one.detail, one.field);
      if (*one.field != '\0')
        answer.body = std::string(R"({"detail":")") + one.detail + R"(","errors":[{"field":")" +
                      one.field + R"(","message":"must not be negative"}]})";
      return answer;
    };
    Session session = Connect();
    SubmitOptions options;
    options.file = file_;
    const CommandResult ran = Capture([&] { return Submit(session, options); });
    EXPECT_EQ(ran.exit, 1);
    EXPECT_EQ(ran.err, one.err);
  }
}

TEST_F(Cli, SubmitWaitExitsByHowTheJobEnded) {
  const std::tuple<const char*, int, const char*> cases[] = {
      {"Succeeded", 0, "job 17 submitted\njob 17 succeeded\n"},
      {"Failed", 1, "job 17 submitted\njob 17 failed: exit code 3\n"},
      {"Cancelled", 2, "job 17 submitted\njob 17 cancelled\n"}};
  std::ofstream(file_) << "kind: Job\nmetadata: {name: j, namespace: team}\n";
  for (const auto& [state, exit, out] : cases) {
    answer_ = [state = std::string(state)](const FakeRequest& request) {
      FakeAnswer answer{200, testing::ViewOf({.id = 17, .state = state, .exit_code = "3"})};
      answer.stream = request.target == "/v1/events";
      if (answer.stream) answer.body.clear();
      return answer;
    };
    Session session = Connect();
    SubmitOptions options;
    options.file = file_;
    options.wait = true;
    const CommandResult ran = Capture([&] { return Submit(session, options); });
    EXPECT_EQ(ran.exit, exit) << state << ran.err;
    EXPECT_EQ(ran.out, out);
  }
  EXPECT_EQ(server_.requests().at(0).target, "/v1/namespaces/team/jobs");
}

TEST_F(Cli, SubmitWaitTimesOutWithItsOwnStatus) {
  std::ofstream(file_) << "kind: Job\n";
  answer_ = [](const FakeRequest& request) {
    FakeAnswer answer{200, testing::ViewOf({.id = 17})};
    answer.stream = request.target == "/v1/events";
    if (answer.stream) answer.body.clear();
    return answer;
  };
  Session session = Connect();
  SubmitOptions options;
  options.file = file_;
  options.wait = true;
  options.wait_timeout = "100ms";
  EXPECT_EQ(Capture([&] { return Submit(session, options); }).exit, 124);
  options.wait_timeout = "soon";
  EXPECT_EQ(Capture([&] { return Submit(session, options); }).exit, 2);
}

TEST_F(Cli, GetPrintsAnAlignedTableAndRefusesUnknownKinds) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, testing::ListOf(testing::SampleJob{.id = 9, .name = "train"})};
  };
  Session session = Connect();
  GetOptions options;
  options.kind = "jobs";
  options.output = "name";
  EXPECT_EQ(Capture([&] { return Get(session, options); }).out, "job/9\n");
  options.output = "";
  const CommandResult table = Capture([&] { return Get(session, options); });
  EXPECT_TRUE(table.out.starts_with(
      "ID   NAME    KIND          QUEUE     STATE     REASON    CLUSTER   AGE\n"
      "9    train   BatchScript   default   Running   Running   alpha     "))
      << table.out;
  options.kind = "nonsense";
  const CommandResult unknown = Capture([&] { return Get(session, options); });
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_TRUE(
      unknown.err.starts_with("muster: unknown kind \"nonsense\"; the kinds are jobs, "
                              "workloads (wl), clusterqueues (cq), "))
      << unknown.err;
}

TEST_F(Cli, GetShowsWhatEachKindWaitsFor) {
  const struct {
    const char* kind;
    const char* item;
    const char* table;  // up to the age
  } cases[] = {
      {"workloads",
       R"({"metadata":{"name":"train","creationTimestamp":""},"spec":{"queueName":"q","priority":7,
           "active":true},"status":{"clusterName":"east","admission":{"clusterQueue":"main"},
           "conditions":[{"type":"QuotaReserved","status":"True"},{"type":"Admitted","status":"False"}],
           "admissionChecks":[{"name":"budget","state":"Ready"},{"name":"images","state":"Pending"}]}})",
       "NAME    QUEUE   RESERVED IN   ADMITTED   FINISHED   AGE   PRIORITY   ACTIVE   CHECKS       "
       "                 CLUSTER\n"
       "train   q       main          False      -          -     7          true     "
       "budget=Ready,images=Pending   east\n"},
      {"admissionchecks",
       R"({"metadata":{"name":"budget","creationTimestamp":""},"spec":{"controllerName":"example.com/b"},
           "status":{"conditions":[{"type":"Active","status":"False","reason":"Down","message":"gone"}]}})",
       "NAME     CONTROLLER      ACTIVE   REASON   MESSAGE   AGE\n"
       "budget   example.com/b   False    Down     gone      -\n"},
      {"topologies",
       R"({"metadata":{"name":"racks","creationTimestamp":""},
           "spec":{"levels":[{"nodeLabel":"rack"},{"nodeLabel":"kubernetes.io/hostname"}]}})",
       "NAME    LEVELS                          AGE\n"
       "racks   rack > kubernetes.io/hostname   -\n"},
      {"clusterqueues",
       R"({"metadata":{"name":"a","creationTimestamp":""},"spec":{"resourceGroups":[
           {"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":"8"},
                                                {"name":"gpu","nominalQuota":4}]},
                       {"name":"g","resources":[{"name":"cpu","nominalQuota":"2"}]}]}]},
           "status":{"pendingWorkloads":3,"flavorsUsage":[{"name":"f","resources":[
           {"name":"cpu","total":"2","borrowed":"0"},{"name":"gpu","total":"6","borrowed":"2"}]}]}})",
       "NAME   COHORT   PENDING WORKLOADS   ADMITTED WORKLOADS   STRATEGY         NOMINAL    "
       "             USED                    BORROWED   RESERVING   SHARE   ACTIVE   REASON  "
       " AGE\n"
       "a      -        3                   -                    BestEffortFIFO   f:cpu=8,gpu"
       "=4;g:cpu=2   f:cpu=2,gpu=6;g:cpu=0   f:gpu=2    -           -       -        -       "
       " -\n"},
      {"cohorts",
       R"({"metadata":{"name":"all","creationTimestamp":""},"spec":{"parentName":"root"},
           "status":{"fairSharing":{"weightedShare":250}}})",
       "NAME   PARENT   SHARE   AGE\n"
       "all    root     250     -\n"},
      {"rp",
       R"({"kind":"ResourcePlacement",
           "metadata":{"name":"train","creationTimestamp":"","generation":4},
           "spec":{"policy":{"placementType":"PickN"}},"status":{"conditions":[
           {"type":"ResourcePlacementScheduled","status":"True","observedGeneration":3},
           {"type":"ResourcePlacementApplied","status":"Unknown","observedGeneration":3}],
           "placementStatuses":[{"clusterName":"east"},{"clusterName":"west"},{"conditions":[]}],
           "selectedResources":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       "NAME    TYPE    SELECTED   CLUSTERS    GEN   SCHEDULED   SCHEDULED-GEN   APPLIED   "
       "DIFF-REPORTED   AVAILABLE   AVAILABLE-GEN   AGE\n"
       "train   PickN   3          east,west   4     True        3               Unknown   "
       "-               -           -               -\n"},
      {"crp",
       R"({"kind":"ClusterResourcePlacement",
           "metadata":{"name":"all","creationTimestamp":"","generation":1},
           "spec":{},"status":{"conditions":[
           {"type":"ClusterResourcePlacementScheduled","status":"True","observedGeneration":1},
           {"type":"ClusterResourcePlacementAvailable","status":"False","observedGeneration":1}],
           "placementStatuses":[],"selectedResources":[]}})",
       "NAME   TYPE      SELECTED   CLUSTERS   GEN   SCHEDULED   SCHEDULED-GEN   APPLIED   "
       "DIFF-REPORTED   AVAILABLE   AVAILABLE-GEN   AGE\n"
       "all    PickAll   0          -          1     True        1               -         "
       "-               False       1               -\n"},
      {"cro",
       R"({"metadata":{"name":"quota","creationTimestamp":""},"spec":{"placement":{"name":"p"},
           "clusterResourceSelectors":[{},{}],"policy":{"overrideRules":[{}]}}})",
       "NAME    PLACEMENT   RESOURCES   RULES   AGE\n"
       "quota   p           2           1       -\n"},
      {"ro",
       R"({"metadata":{"name":"quota","creationTimestamp":""},"spec":{
           "resourceSelectors":[{}],"policy":{"overrideRules":[{},{},{}]}}})",
       "NAME    PLACEMENT   RESOURCES   RULES   AGE\n"
       "quota   -           1           3       -\n"},
      {"resourceenvelopes",
       R"({"metadata":{"name":"web","creationTimestamp":""},"data":{"a":{},"b":{}}})",
       "NAME   MANIFESTS   AGE\n"
       "web    2           -\n"},
  };
  for (const auto& one : cases) {
    answer_ = [&](const FakeRequest&) {
      return FakeAnswer{200, std::string(R"({"items":[)") + one.item + "]}"};
    };
    Session session = Connect();
    GetOptions options;
    options.kind = one.kind;
    options.output = "wide";
    EXPECT_EQ(Capture([&] { return Get(session, options); }).out, one.table) << one.kind;
  }
}

TEST(Durations, AreReadInKubectlsForm) {
  EXPECT_EQ(ParseDurationMs("90"), 90'000);
  EXPECT_EQ(ParseDurationMs("1h30m"), 5'400'000);
  EXPECT_EQ(ParseDurationMs("150ms"), 150);
  for (const char* bad : {"", "x", "1h30", "5w", "-1s", "99999999999999d"})
    EXPECT_FALSE(ParseDurationMs(bad)) << bad;
  EXPECT_EQ(ShortDuration(119), "119s");
  EXPECT_EQ(ShortDuration(270), "4m30s");
  EXPECT_EQ(ShortDuration(172'800), "2d");
}

TEST(Kinds, AreFoundByAnyOfTheirNames) {
  for (const char* name : {"clusterqueues", "ClusterQueue", "cq"})
    EXPECT_STREQ(FindKind(name)->plural, "clusterqueues");
  EXPECT_EQ(FindKind(""), nullptr);
  EXPECT_STREQ(FindKind("cro")->plural, "clusterresourceoverrides");
  EXPECT_EQ(ObjectPath(*FindKind("ro"), "team", "a"),
            "/apis/placement.kubernetes-fleet.io/v1beta1/namespaces/team/resourceoverrides/a");
  EXPECT_EQ(ObjectPath(*FindKind("clusterresourceenvelope"), "team", ""),
            "/apis/placement.kubernetes-fleet.io/v1beta1/clusterresourceenvelopes");
  EXPECT_EQ(ObjectPath(*FindKind("lq"), "team", "q"),
            "/apis/kueue.x-k8s.io/v1beta1/namespaces/team/localqueues/q");
  EXPECT_EQ(ObjectPath(*FindKind("cq"), "team", ""), "/apis/kueue.x-k8s.io/v1beta1/clusterqueues");
}

TEST(Completion, KnowsEveryCommandOfTheTree) {
  const CommandNode root{
      "muster",
      "",
      {"--server"},
      {},
      {{"quota", "quotas", {}, {}, {{"set", "it's set", {"--nominal"}, {}, {}}}}}};
  const std::string bash = CompletionScript(root, "bash");
  EXPECT_NE(bash.find("'quota set') candidates='--nominal'"), std::string::npos);
  EXPECT_NE(CompletionScript(root, "fish").find("-a quota -d 'quotas'"), std::string::npos);
  EXPECT_EQ(CompletionScript(root, "tcsh"), "");
}

}  // namespace
}  // namespace muster::cli
