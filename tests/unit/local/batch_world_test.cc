// The pure parts of a batch script's world: annotations, addresses, shares of the host, lines of
// steps.jsonl, the request to stop.
#include "backends/local/pods/batch_world.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/local/pods/host_shares.h"
#include "backends/local/pods/step_line.h"
#include "backends/local/process/stop_request.h"
#include "schedd/base/limits_slurm_world.h"

namespace muster::local {
namespace {

json::object Template(const std::string& annotations) {
  return json::parse(R"({"metadata":{"annotations":{)" + annotations + "}}}").as_object();
}

TEST(BatchWorld, AnnotationsAreRead) {
  EXPECT_FALSE(IsBatchPod(Template("")));
  EXPECT_FALSE(IsBatchPod(Template(R"("muster.io/batch":"yes")")));
  EXPECT_TRUE(IsBatchPod(Template(R"("muster.io/batch":"true")")));
  const auto world = ReadBatchWorld(Template(
      R"("muster.io/hosts":"a-0,a-1","muster.io/umask":"0027","muster.io/signal":"B:10@90",)"
      R"("muster.io/time-limit-s":"600","muster.io/limits":"{\"NOFILE\":4096,\"CORE\":-1}")"));
  ASSERT_TRUE(world.ok()) << world.error().detail;
  EXPECT_EQ(world->hosts, (std::vector<std::string>{"a-0", "a-1"}));
  EXPECT_EQ(world->umask, 027);
  EXPECT_EQ(world->warning_signal, 10);
  EXPECT_TRUE(world->warning_batch_only);
  EXPECT_EQ(world->warning_before_s, 90);
  EXPECT_EQ(world->time_limit_s, 600);
  EXPECT_EQ(world->limits,
            (std::vector<std::pair<std::string, std::int64_t>>{{"NOFILE", 4096}, {"CORE", -1}}));
  EXPECT_EQ(HostOf(*world, -1), "a-0");
  EXPECT_EQ(HostOf(*world, 1), "a-1");
  EXPECT_EQ(HostOf(*world, 2), "");
  EXPECT_EQ(ReadBatchWorld(Template(""))->umask, -1);
}

TEST(BatchWorld, WhatCannotBeIsRefusedByName) {
  for (const auto& [annotation, text] : {std::pair("hosts", "a,b c"),
                                         {"hosts", "a\\n127.0.0.1 b"},
                                         {"umask", "8"},
                                         {"umask", "1777"},
                                         {"limits", "[]"},
                                         {"limits", "{\\\"NOFILES\\\":1}"},
                                         {"limits", "{\\\"CORE\\\":-2}"},
                                         {"limits", "{\\\"CORE\\\":\\\"1\\\"}"},
                                         {"signal", "10"},
                                         {"signal", "0@5"},
                                         {"signal", "65@5"},
                                         {"signal", "B:@5"},
                                         {"signal", "10@-1"},
                                         {"time-limit-s", "1h"}}) {
    const auto world =
        ReadBatchWorld(Template("\"muster.io/" + std::string(annotation) + "\":\"" + text + "\""));
    ASSERT_FALSE(world.ok()) << annotation << " " << text;
    EXPECT_EQ(world.error().code, Code::kInvalidArgument);
    EXPECT_NE(world.error().detail.find(annotation), std::string::npos) << world.error().detail;
  }
}

TEST(BatchWorld, HostsHaveLoopbackAddressesOfTheirOwn) {
  std::set<std::string> all;
  for (std::size_t i = 0; i < limits::kBatchHosts; ++i) {
    const std::string address = LoopbackOf("seed", i);
    EXPECT_TRUE(address.starts_with("127.") && !address.starts_with("127.0.")) << address;
    all.insert(address);
  }
  EXPECT_EQ(all.size(), limits::kBatchHosts);
  EXPECT_EQ(LoopbackOf("seed", 3), LoopbackOf("seed", 3));
  EXPECT_NE(LoopbackOf("seed", 3), LoopbackOf("other", 3));
}

TEST(BatchWorld, AmountsComeFromLimits) {
  const auto of = [](const std::string& resources) {
    return json::parse(R"({"spec":{"containers":[{"resources":)" + resources + "}]}}").as_object();
  };
  EXPECT_EQ(CpusAsked(of("{}")), 0);
  EXPECT_EQ(CpusAsked(of(R"({"limits":{"cpu":"2"}})")), 2);
  EXPECT_EQ(CpusAsked(of(R"({"limits":{"cpu":"1500m"}})")), 2);
  EXPECT_EQ(DevicesAsked(of(R"({"limits":{"nvidia.com/gpu":"3"}})"), "nvidia.com/gpu"), 3);
  EXPECT_EQ(DevicesAsked(of(R"({"limits":{"cpu":"3"}})"), "nvidia.com/gpu"), 0);
}

TEST(HostShares, PodsDoNotOverlapWhileThereIsRoom) {
  HostShares shares({0, 1, 2, 3});
  EXPECT_EQ(shares.TakeCpus(2), (std::vector<int>{0, 1}));
  EXPECT_EQ(shares.TakeCpus(2), (std::vector<int>{2, 3}));
  EXPECT_EQ(shares.TakeCpus(1), (std::vector<int>{0})) << "all are taken: the first again";
  EXPECT_EQ(shares.TakeCpus(3), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(shares.TakeCpus(4).empty()) << "all there are: not pinned";
  EXPECT_TRUE(shares.TakeCpus(0).empty());
  shares.GiveBack("m", {0, 1}, {});
  EXPECT_EQ(shares.TakeCpus(2), (std::vector<int>{0, 1}));
}

TEST(HostShares, DevicesAreOfTheMember) {
  HostShares shares({0});
  EXPECT_EQ(shares.TakeDevices("a", 2, 4), (std::vector<int>{0, 1}));
  EXPECT_EQ(shares.TakeDevices("b", 1, 4), (std::vector<int>{0}));
  EXPECT_EQ(shares.TakeDevices("a", 2, 4), (std::vector<int>{2, 3}));
  shares.GiveBack("a", {}, {1});
  EXPECT_EQ(shares.TakeDevices("a", 1, 4), (std::vector<int>{1}));
  EXPECT_EQ(shares.TakeDevices("a", 9, 4).size(), 4U) << "no more than there are";
  HostShares after({0});
  after.Have("a", {}, {0, 1});
  EXPECT_EQ(after.TakeDevices("a", 2, 4), (std::vector<int>{2, 3})) << "a restarted daemon";
}

TEST(StepLine, AStepIsRead) {
  const auto step = ReadStepLine(
      R"({"step":3,"name":"hostname","nodes":"job-7-[0-1]","nodeCount":2,"tasks":4,"cpus":4,)"
      R"("state":"FAILED","startUs":5,"endUs":9,"exitCode":2,"exitSignal":0,"userCpuUs":1,)"
      R"("systemCpuUs":2,"maxRssBytes":3,"readBytes":4,"writtenBytes":5})");
  ASSERT_TRUE(step.has_value());
  const StepRecord wanted{{},  0,   3, "hostname", "job-7-[0-1]",  2, 4, 4, StepState::kFailed,
                          {5}, {9}, 2, 0,          {1, 2, 3, 4, 5}};
  EXPECT_EQ(*step, wanted);
  const auto runs =
      ReadStepLine(R"({"step":0,"name":"x","state":"RUNNING","startUs":5,"endUs":7})");
  ASSERT_TRUE(runs.has_value());
  EXPECT_FALSE(runs->end_time.set()) << "it has not ended";
}

TEST(StepLine, WhatIsNoStepIsNone) {
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"name":"x"})"),
        std::string(R"({"step":-1,"state":"RUNNING"})"),
        std::string(R"({"step":100001,"state":"RUNNING"})"),
        std::string(R"({"step":0,"state":"GONE"})"),
        std::string(R"({"step":0,"state":"COMPLETED"})"),
        std::string(R"({"step":0,"state":"RUNNING","tasks":-3})"),
        std::string(R"({"step":0,"state":"FAILED","endUs":1,"exitCode":256})"),
        std::string(R"({"step":0,"state":"RUNNING","name":"a\u0000b"})"),
        R"({"step":0,"state":"RUNNING","name":")" + std::string(300, 'x') + "\"}"}) {
    EXPECT_FALSE(ReadStepLine(line).has_value()) << line;
  }
}

TEST(StopRequest, IsReadAsItWasWritten) {
  for (const auto cause : {StopRequest::Cause::kNone, StopRequest::Cause::kCancelled,
                           StopRequest::Cause::kTimeLimit, StopRequest::Cause::kPreempted,
                           StopRequest::Cause::kRequeued, StopRequest::Cause::kNodeFailure}) {
    const StopRequest back = ReadStopRequest(WriteStopRequest({1500, cause}));
    EXPECT_EQ(back.grace_ms, 1500);
    EXPECT_EQ(back.cause, cause);
  }
  EXPECT_EQ(ReadStopRequest("").grace_ms, -1);
  EXPECT_EQ(ReadStopRequest("30000").grace_ms, 30000) << "of an earlier release";
  EXPECT_EQ(StopLine(StopRequest::Cause::kNone, 7, "host", 0), "");
  const std::string line =
      StopLine(StopRequest::Cause::kTimeLimit, 608, "host", 1'660'270'032'000'000);
  EXPECT_TRUE(line.starts_with("slurmstepd: error: *** JOB 608 ON host CANCELLED AT 2022-08-1"))
      << line;
  EXPECT_TRUE(line.ends_with(" DUE TO TIME LIMIT ***\n")) << line;
}

}  // namespace
}  // namespace muster::local
