// scontrol: what changes jobs, partitions and nodes (rules B25, B50).
#include <csignal>

#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

using testing::CommandResult;
using testing::SampleJob;

class SlurmControl : public SlurmFixture {
 protected:
  SlurmControl() {
    Jobs({testing::ViewOf({.id = 1, .user = "alice", .limit = 600}),
          testing::ViewOf({.id = 2,
                           .user = "bob",
                           .state = "Pending",
                           .reason = "WaitingForQuota",
                           .start = ""})});
  }
};

// submitit takes a scontrol that was ended for a requeue that failed.
TEST_F(SlurmControl, ARequeueFromWithinTheJob_OutlivesTheSignalThatEndsTheJob) {
  const testing::ScopedEnv job("SLURM_JOB_ID", "1");
  on_change_ = [] { std::raise(SIGTERM); };
  EXPECT_EQ(Run({"scontrol", "requeue", "1"}).exit, 0);
  EXPECT_EQ(Sent(), "POST /v1/jobs/1:requeue\n");
  std::signal(SIGTERM, SIG_DFL);
}

TEST_F(SlurmControl, VerbsGoToTheJob) {
  const testing::ScopedEnv token("MUSTER_TOKEN", "t");  // /v1/whoami says that the caller is alice
  const struct {
    std::vector<std::string> words;
    const char* sent;
  } kCases[] = {
      {{"hold", "2"}, "POST /v1/jobs/2:hold {\"byAdmin\":true}\n"},
      {{"hold", "1"}, "POST /v1/jobs/1:hold\n"},
      {{"uhold", "2"}, "POST /v1/jobs/2:hold\n"},
      {{"release", "jobid=2"}, "POST /v1/jobs/2:release\n"},
      {{"requeue", "1"}, "POST /v1/jobs/1:requeue\n"},
      {{"requeuehold", "1"}, "POST /v1/jobs/1:requeue {\"hold\":true}\n"},
      {{"requeuehold", "State=SpecialExit", "1"},
       "POST /v1/jobs/1:requeue {\"hold\":true,\"specialExit\":true}\n"},
      {{"suspend", "1,2"}, "POST /v1/jobs/1:suspend\nPOST /v1/jobs/2:suspend\n"},
      {{"resume", "1"}, "POST /v1/jobs/1:resume\n"},
      {{"notify", "1", "hello", "there"},
       "POST /v1/jobs/1:notify {\"message\":\"slurmstepd: error: hello there\"}\n"},
      {{"update", "JobId=1", "TimeLimit=30", "Comment=x y", "Nice=", "Requeue=0", "QOS=high"},
       "POST /v1/jobs/1:update {\"timeLimit\":\"00:30:00\",\"comment\":\"x y\",\"nice\":100,"
       "\"requeue\":false,\"priorityClass\":\"high\"}\n"},
      {{"update", "job", "1", "TimeLimit=+10"},
       "POST /v1/jobs/1:update {\"timeLimit\":\"00:20:00\"}\n"},
      {{"update", "JobId=1", "StartTime=2026-12-01T00:00:00"},
       "POST /v1/jobs/1:update {\"begin\":\"2026-12-01T00:00:00.000000Z\"}\n"},
      {{"update", "PartitionName=short", "MaxTime=1:00:00", "State=DOWN", "MaxNodes=UNLIMITED"},
       "PATCH /apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/short "
       "{\"metadata\":{\"annotations\":{\"muster.io/partition-max-time\":\"1:00:00\","
       "\"muster.io/partition-state\":\"down\",\"muster.io/partition-max-nodes\":null}}}\n"},
      {{"update", "NodeName=alpha", "State=DRAIN", "Reason=disk"},
       "POST /v1/memberclusters/alpha:cordon\n"},
      {{"update", "NodeName=alpha", "State=RESUME"}, "POST /v1/memberclusters/alpha:uncordon\n"},
  };
  std::string before;
  for (const auto& one : kCases) {
    std::vector<std::string> words = {"scontrol"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.exit, 0) << one.words[0] << ": " << ran.err;
    EXPECT_EQ(ran.err, "") << one.words[0];
    const std::string all = Sent();
    EXPECT_EQ(all.substr(before.size()), one.sent);
    before = all;
  }
}

TEST_F(SlurmControl, RefusalsAreSlurmsWords) {
  const struct {
    std::vector<std::string> words;
    const char* err;
  } kCases[] = {
      {{"requeue", "99"}, "Invalid job id specified for job 99\n"},
      {{"hold", "99"},
       "Invalid job id specified for job 99\nslurm_suspend error: Invalid job id specified\n"},
      {{"show", "job", "99"}, "slurm_load_jobs error: Invalid job id specified\n"},
      {{"update", "JobId=1", "foo=bar"},
       "Update of this parameter is not supported: foo=bar\nRequest aborted\n"},
      {{"update", "JobId=1"}, "No changes specified\nRequest aborted\n"},
      {{"update", "JobId=99", "Nice=1"}, "Invalid job id specified for job 99\n"},
      {{"update", "JobId=1", "UserID=0"},
       "Update of this parameter is not supported: UserID=0\nRequest aborted\n"},
      {{"update", "NodeName=alpha", "State=ODD"},
       "Invalid input for State: ODD\nValid states are: DRAIN RESUME UNDRAIN\nRequest aborted\n"},
      {{"notify", "99", "x"}, "job notify failure: Invalid job id specified\n"},
      {{"write", "batch_script", "99"}, "job script retrieval failed: Invalid job id specified\n"},
  };
  for (const auto& one : kCases) {
    std::vector<std::string> words = {"scontrol"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.exit, 1) << one.words[0];
    EXPECT_EQ(ran.err, one.err);
  }
  EXPECT_EQ(Sent(), "");
}

TEST_F(SlurmControl, HostlistsAreFoldedAndSorted) {
  EXPECT_EQ(Out({"scontrol", "show", "hostlist", "a1,a2,a3,b"}), "a[1-3],b\n");
  EXPECT_EQ(Out({"scontrol", "show", "hostlist", "n3,n1,n2"}), "n[3,1-2]\n");
  EXPECT_EQ(Out({"scontrol", "show", "hostlistsorted", "b2,b1,a3,a1"}), "a[1,3],b[1-2]\n");
  answers_["/apis/kueue.x-k8s.io/v1beta1/clusterqueues"] = R"({"items":[]})";
  EXPECT_EQ(Out({"scontrol", "show", "licenses"}), "No licenses configured in Slurm.\n");
  answers_["/apis/kueue.x-k8s.io/v1beta1/clusterqueues"] =
      R"({"items":[{"spec":{"resourceGroups":[{"flavors":[{"name":"f","resources":[
      {"name":"license/matlab","nominalQuota":"4"}]}]}]},"status":{"flavorsUsage":[{"name":"f",
      "resources":[{"name":"license/matlab","total":"1"}]}]}}]})";
  EXPECT_EQ(Out({"scontrol", "show", "licenses"}),
            "LicenseName=matlab\n    Total=4 Used=1 Free=3 Reserved=0 Remote=no\n");
  EXPECT_EQ(Out({"scontrol", "show", "reservation"}), "No reservations in the system\n");
}

TEST_F(SlurmControl, TheScriptIsWritten) {
  answers_["/v1/jobs/1/script"] = R"({"script":"#!/bin/sh\necho hi\n","environment":{"A":"b"}})";
  EXPECT_EQ(Out({"scontrol", "write", "batch_script", "1", "-"}), "#!/bin/sh\necho hi\n");
  EXPECT_NE(Out({"sacct", "-B", "-j", "1"}).find("Batch Script for 1\n"), std::string::npos);
}

}  // namespace
}  // namespace muster::slurm
