// The page of `muster explain`, from the server's JSON.
#include <gtest/gtest.h>

#include "clients/cli/commands.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::cli {
namespace {

using testing::Capture;
using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;

constexpr const char* kWaiting = R"json({
"job":{"id":7,"namespace":"default","name":"gang","queue":"research",
 "clusterQueue":"team-research","priority":5},
"time":"2026-11-21T10:00:00Z","state":"Pending","reason":"WaitingForQuota",
"summary":"needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free",
"message":"couldn't assign flavors","facts":["submitted 2026-11-21T09:48:00Z (12m ago)"],
"position":2,"waiting":3,"localPosition":1,"localWaiting":1,
"ahead":[{"id":5,"namespace":"default","name":"first","queue":"other","priority":9,
 "reason":"WaitingForQuota"}],
"blockedBy":null,"blocked":"ClusterQueue team-research is StrictFIFO: job 5 must start first",
"flavors":[
{"podSet":"main","flavor":"spot","resource":"","reason":"NoMatchingFlavor","message":"tainted",
 "chosen":false},
{"podSet":"main","flavor":"a100","resource":"gpu","reason":"WaitingForQuota","message":"m",
 "chosen":false,"requested":"16","available":"13","potential":"24","used":"11","nominal":"16",
 "missing":"3","limit":"cohort all shares 24"}],
"clusters":[{"cluster":"east","eligible":true,"fitsNow":false,"message":"13 of 16 free",
 "filter":"Capacity","affinityScore":70,"spreadScore":-1,"terms":[
 {"term":"topology zone","weight":0,"score":-1},
 {"term":"available-cpu Descending","weight":40,"score":40},
 {"term":"available-memory Descending","weight":30,"score":30}]},
 {"cluster":"west","eligible":false,"fitsNow":false,"message":"taint spot is not tolerated",
 "filter":"TaintToleration","affinityScore":0,"spreadScore":0,"terms":[]}],
"preemption":{"policies":"withinClusterQueue: Never","outcome":"research preempts nobody",
 "victims":[],"heldBy":[{"clusterQueue":"vision","own":false,"workloads":2,"allowed":0,
  "amounts":{"gpu":"11"},"jobs":[{"id":3,"priority":0}],"verdict":"Never protects them"}],
 "moreQueues":0,"wouldAllow":["with reclaimWithinCohort: Any it would preempt job 3"]},
"wouldHelp":["3 more gpu of flavor a100 free in cohort all"],
"estimatedStart":{"latest":"2026-11-21T11:00:00Z","text":"no later than 2026-11-21T11:00:00Z",
 "withoutLimit":[],"assumptions":["nothing else is submitted"]}})json";

constexpr const char* kPage =
    R"page(job 7 default/gang is Pending (WaitingForQuota)
needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free
the scheduler says: couldn't assign flavors

Facts:
  - submitted 2026-11-21T09:48:00Z (12m ago)

Queue:
  2 of 3 in ClusterQueue team-research, 1 of 1 in LocalQueue default/research, priority 5
  before it:
    JOB   NAME            PRIORITY   QUEUE   WAITS FOR
    5     default/first   9          other   WaitingForQuota
  ClusterQueue team-research is StrictFIFO: job 5 must start first

Quota, flavor by flavor:
  POD SET   FLAVOR   RESOURCE   NEEDS   CAN USE   USED   FREE   VERDICT
  main      spot     -          -       -         -      -      tainted
  main      a100     gpu        16      24        11     13     3 short: cohort all shares 24

Member clusters:
  MEMBER CLUSTER   COULD HOLD IT   HAS ROOM NOW   TURNED AWAY BY    VERDICT
  east             yes             no             Capacity          13 of 16 free
  west             no              no             TaintToleration   taint spot is not tolerated

Scores:
  MEMBER CLUSTER   SPREAD   AFFINITY   TERM                          WEIGHT   POINTS
  east             -1       70         topology zone                 -        -1
                                       available-cpu Descending      40       40
                                       available-memory Descending   30       30

Preemption:
  research preempts nobody (withinClusterQueue: Never)
  HELD IN   WORKLOADS   AMOUNT   JOBS                  MAY THEY BE PREEMPTED FOR IT
  vision    2           11 gpu   3 (priority 0), ...   Never protects them
  what would change that:
    - with reclaimWithinCohort: Any it would preempt job 3

What would let it run:
  - 3 more gpu of flavor a100 free in cohort all

Estimated start: no later than 2026-11-21T11:00:00Z
  provided that:
    - nothing else is submitted
)page";

class CliExplain : public ::testing::Test {
 protected:
  CliExplain()
      : server_([this](const FakeRequest& request) {
          return request.target.ends_with("/explain") ? FakeAnswer{200, explanation_}
                                                      : FakeAnswer{200, testing::ViewOf({.id = 7})};
        }) {}
  CommandResult Run(const std::string& output) {
    client::Settings settings;
    settings.server.port = server_.port();
    settings.as_user = "alice";
    Session session(settings);
    return Capture([&] { return Explain(session, "7", output); });
  }
  std::string explanation_ = kWaiting;
  FakeServer server_;
};

TEST_F(CliExplain, PrintsEverySection) {
  const CommandResult ran = Run("");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, kPage);
}

TEST_F(CliExplain, LeavesOutWhatThereIsNothingToSayAbout) {
  explanation_ =
      R"({"job":{"id":7,"namespace":"default","name":"gang"},"state":"Held","reason":"HeldByUser",)"
      R"("summary":"is held by its user","message":"","facts":[],"position":0,"flavors":[],)"
      R"("clusters":[],"preemption":null,"wouldHelp":["releasing it: muster release 7"],)"
      R"("estimatedStart":null})";
  EXPECT_EQ(Run("").out,
            "job 7 default/gang is Held (HeldByUser)\nis held by its user\n\nWhat would let it "
            "run:\n  - releasing it: muster release 7\n");
}

TEST_F(CliExplain, PrintsTheAnswerItself_ForPrograms) {
  EXPECT_NE(Run("json").out.find("\"wouldHelp\""), std::string::npos);
  EXPECT_NE(Run("yaml").out.find("wouldHelp:"), std::string::npos);
  EXPECT_EQ(Run("xml").exit, kBadUsage);
}

}  // namespace
}  // namespace muster::cli
