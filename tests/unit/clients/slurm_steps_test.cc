// Steps and attempts: sacct's rows, squeue -s, sstat, seff, signals to steps (rules B23, B27, B51).
#include "clients/slurm/usage_text.h"
#include "schedd/text/json.h"
#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

using testing::SampleJob;

TEST(UsageTexts, AreSacctsForms) {
  EXPECT_EQ(CpuTimeText(1'250'000), "00:01.250");
  EXPECT_EQ(CpuTimeText(0), "00:00:00");
  EXPECT_EQ(CpuTimeText(3'723'500'000), "01:02:03");
  EXPECT_EQ(SizeText(3260 << 10, 0), "3260K");
  EXPECT_EQ(SizeText(2LL << 30, 0), "2G");
  EXPECT_EQ(SizeText(0, 0), "0");
  EXPECT_EQ(SizeText(1LL << 30, 'M'), "1024.00M");
  EXPECT_EQ(TransferText(5 << 19), "2.50M");
}

class SlurmSteps : public SlurmFixture {
 protected:
  SlurmSteps() {
    ended_ = {.id = 5,
              .user = "alice",
              .state = "Succeeded",
              .reason = "Succeeded",
              .end = "2026-11-21T10:01:40Z",
              .exit_code = "0"};
    running_ = {.id = 6, .user = "alice", .state = "Running"};
    Jobs({testing::ViewOf(ended_), testing::ViewOf(running_)});
    answers_["/v1/steps"] =
        R"({"items":[{"job":5,"attempt":1,"step":0,"name":"hostname","nodes":"job-5-[0-1]",
        "nodeCount":2,"tasks":2,"cpus":2,"state":"FAILED","startTime":"2026-11-21T10:00:01Z",
        "endTime":"2026-11-21T10:00:11Z","exitCode":3,"exitSignal":0,"use":{"userCpuUs":1500000,
        "systemCpuUs":500000,"maxRssBytes":3338240,"readBytes":1048576,"writtenBytes":0}},
        {"job":6,"attempt":1,"step":0,"name":"train","nodes":"alpha","tasks":4,"cpus":4,
        "state":"RUNNING","startTime":"2026-11-21T10:00:02Z","use":{"maxRssBytes":2097152}}]})";
    answers_["/v1/accounting"] =
        R"({"items":[{"job":{"id":5},"attempts":[{"attempt":1,"cluster":"alpha",
        "startTime":"2026-11-21T10:00:00Z","endTime":"2026-11-21T10:01:40Z","outcome":"Succeeded",
        "reason":"Succeeded","exitCode":0,"exitSignal":0,"use":{"userCpuUs":5000000,
        "systemCpuUs":500000,"maxRssBytes":4194304,"readBytes":0,"writtenBytes":0}}]}]})";
  }
  SampleJob ended_, running_;
};

TEST_F(SlurmSteps, SacctHasARowForEach) {
  const std::string rows = Out({"sacct", "-nP", "-j", "5", "-o",
                                "JobID,JobName,State,ExitCode,DerivedExitCode,NTasks,MaxRSS"});
  EXPECT_EQ(rows,
            "5|train|COMPLETED|0:0|3:0||\n5.batch|batch|COMPLETED|0:0||1|4M\n"
            "5.0|hostname|FAILED|3:0||2|3260K\n");
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "5", "-o", "TotalCPU,UserCPU,SystemCPU,MaxDiskRead"}),
            "00:05.500|00:00:05|00:00.500|\n00:03.500|00:03.500|00:00:00|0.00M\n"
            "00:00:02|00:01.500|00:00.500|1.00M\n");
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "5", "-o", "TotalCPU"}), "00:05.500\n");
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "5.0", "-o", "JobID,JobIDRaw"}), "5.0|5.0\n");
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "5.batch", "-o", "JobID"}), "5.batch\n");
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "5,6", "-o", "JobID"}), "5\n6\n");
}

TEST_F(SlurmSteps, SacctShowsEarlierAttemptsOnlyWhenAsked) {
  std::string again = testing::ViewOf(running_);
  again.replace(again.find("\"attempt\":1"), 11, "\"attempt\":2");
  Jobs({again});
  // The attempt that runs has no line of accounting yet.
  answers_["/v1/accounting"] =
      R"({"items":[{"job":{"id":6},"attempts":[{"attempt":1,"cluster":"beta",
      "startTime":"2026-11-21T09:00:00Z","endTime":"2026-11-21T09:30:00Z","outcome":"Cancelled",
      "reason":"Requeued"}]}]})";
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "6", "-o", "JobID,State"}), "6|RUNNING\n");
  EXPECT_EQ(Out({"sacct", "-nXPD", "-j", "6", "-o", "JobID,State,Elapsed,Cluster"}).substr(0, 27),
            "6|REQUEUED|00:30:00|beta\n6|");
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "6", "-o", "JobID,MaxRSS"}), "6|\n6.batch|\n")
      << "the steps of the earlier attempt are not of this one";
}

TEST_F(SlurmSteps, CancelledAndTimedOutJobsAreAsSlurmTellsThem) {
  SampleJob cancelled = ended_;
  cancelled.user = "root";
  cancelled.state = "Cancelled";
  cancelled.reason = "Cancelled";
  cancelled.exit_code = "null";
  Jobs({testing::ViewOf(cancelled)});
  answers_.erase("/v1/steps");
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "5", "-o", "State,ExitCode"}),
            "CANCELLED by 0|0:0\nCANCELLED|0:15\n");
  SampleJob late = ended_;
  late.state = "Failed";
  late.reason = "DeadlineExceeded";
  late.exit_code = "null";
  Jobs({testing::ViewOf(late)});
  EXPECT_EQ(Out({"sacct", "-nP", "-j", "5", "-o", "State,ExitCode,Reason"}),
            "TIMEOUT|0:0|None\nCANCELLED|0:15|\n");
}

TEST_F(SlurmSteps, SacctJsonHasStepsInTheirJobs) {
  const auto document = ParseJson(Out({"sacct", "-j", "5", "--json"}));
  ASSERT_TRUE(document.ok());
  const json::value& job = document->at("jobs").at(0);
  EXPECT_EQ(job.at("state").at("current").at(0), "COMPLETED");
  EXPECT_EQ(job.at("steps").as_array().size(), 2U);
  EXPECT_EQ(job.at("steps").at(1).at("step").at("id"), "5.0");
  EXPECT_NE(Out({"sacct", "-j", "5", "--yaml"}).find("jobs:"), std::string::npos);
}

TEST_F(SlurmSteps, SqueueListsRunningSteps) {
  EXPECT_EQ(Out({"squeue", "-s", "-h", "-o", "%i %j %N"}),
            "6.0 train alpha\n6.batch batch alpha\n");
  EXPECT_EQ(Out({"squeue", "-s", "6.0", "-h", "-O", "StepID:5,NumTasks:3,StepState:0"}),
            "6.0  4  RUNNING\n");
  EXPECT_NE(Out({"scontrol", "show", "step", "6.0"}).find("StepId=6.0"), std::string::npos);
}

TEST_F(SlurmSteps, SstatAndSeffTellWhatWasMeasured) {
  EXPECT_EQ(Out({"sstat", "-nP", "-j", "6", "-o", "JobID,NTasks,MaxRSS"}), "6.0|4|2M\n");
  EXPECT_EQ(Run({"sstat", "-j", "5"}).exit, 1);
  EXPECT_EQ(Out({"seff", "5"}),
            "Job ID: 5\nCluster: alpha\nUser/Group: alice/nogroup\nState: COMPLETED (exit code 0)\n"
            "Cores: 3\nCPU Utilized: 00:00:06\nCPU Efficiency: 1.83% of 00:05:00 core-walltime\n"
            "Job Wall-clock time: 00:01:40\nMemory Utilized: 6.37 MB\n"
            "Memory Efficiency: 0.16% of 4.00 GB (4.00 GB/node)\n");
  EXPECT_EQ(Run({"seff", "99"}).err, "Job not found.\n");
}

TEST_F(SlurmSteps, ScancelSendsSignals) {
  EXPECT_EQ(Run({"scancel", "-s", "USR1", "6"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "--signal=SIGUSR2", "-b", "6"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "-f", "-s", "12", "6"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "-s", "KILL", "6.0"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "6.batch"}).exit, 0);
  EXPECT_EQ(Sent(),
            "POST /v1/jobs/6:signal {\"signal\":\"USR1\",\"target\":\"steps\"}\n"
            "POST /v1/jobs/6:signal {\"signal\":\"USR2\",\"target\":\"batch\"}\n"
            "POST /v1/jobs/6:signal {\"signal\":\"USR2\",\"target\":\"full\"}\n"
            "POST /v1/jobs/6:signal {\"signal\":\"KILL\",\"target\":\"step\",\"step\":0}\n"
            "POST /v1/jobs/6:signal {\"signal\":\"KILL\",\"target\":\"batch\"}\n");
  EXPECT_EQ(Run({"scancel", "-v", "-s", "USR1", "6"}).err, "scancel: Signal 10 to job 6\n");
}

TEST_F(SlurmSteps, ASignalToAJobWhoseStartIsNotKnownYetIsSentAgain) {
  conflicts_ = 2;
  SampleJob starting = running_;
  starting.state = "Admitted";
  Jobs({testing::ViewOf(starting)});
  const testing::CommandResult sent = Run({"scancel", "-s", "USR1", "-b", "6"});
  EXPECT_EQ(sent.exit, 0) << sent.err;
  const std::string once = "POST /v1/jobs/6:signal {\"signal\":\"USR1\",\"target\":\"batch\"}\n";
  EXPECT_EQ(Sent(), once + once + once);
}

// As in Slurm, that is no error.
TEST_F(SlurmSteps, ASignalToAJobThatHasEndedMeanwhileGoesNowhere) {
  conflicts_ = 2;
  SampleJob over = ended_;
  over.id = 6;
  on_change_ = [this, over] { answers_["/v1/jobs/6"] = testing::ViewOf(over); };
  EXPECT_EQ(Run({"scancel", "-s", "USR1", "6"}).exit, 0);
  EXPECT_EQ(conflicts_, 1);
}

}  // namespace
}  // namespace muster::slurm
