// -M and SLURM_CLUSTERS: members (rule B49); partitions with their properties (rule B26).
#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

using testing::CommandResult;
using testing::SampleJob;
using testing::ScopedEnv;

class SlurmClusters : public SlurmFixture {
 protected:
  SlurmClusters() {
    Jobs({testing::ViewOf({.id = 1, .user = "alice", .cluster = "alpha"}),
          testing::ViewOf({.id = 2, .user = "alice", .cluster = "beta"}),
          testing::ViewOf({.id = 3,
                           .user = "alice",
                           .state = "Pending",
                           .reason = "WaitingForQuota",
                           .cluster = "",
                           .start = ""})});
    answers_["/apis/kueue.x-k8s.io/v1beta1/localqueues"] =
        R"({"items":[{"metadata":{"namespace":"default","name":"short","annotations":{
        "muster.io/partition-default":"true","muster.io/partition-max-time":"1:00:00",
        "muster.io/partition-default-time":"10","muster.io/partition-max-nodes":"4",
        "muster.io/partition-max-memory-per-cpu":"2G","muster.io/partition-tier":"3"}},
        "spec":{"clusterQueue":"team-a"}},
        {"metadata":{"namespace":"default","name":"long","annotations":{
        "muster.io/partition-state":"drain"}},"spec":{"clusterQueue":"team-b"}}]})";
  }
};

TEST_F(SlurmClusters, AreShownEachBelowItsName) {
  EXPECT_EQ(Out({"squeue", "-M", "beta", "-h", "-S", "i", "-o", "%A"}), "2\n3\n");
  EXPECT_EQ(Out({"squeue", "-M", "alpha,beta", "-S", "i", "-o", "%A"}),
            "CLUSTER: alpha\nJOBID\n1\n3\n\nCLUSTER: beta\nJOBID\n2\n");
  EXPECT_EQ(Out({"sacct", "-nXP", "-M", "alpha", "-j", "1,2", "-o", "JobID"}), "1\n");
  const ScopedEnv variable("SLURM_CLUSTERS", "beta");
  EXPECT_EQ(Out({"squeue", "-h", "-S", "i", "-o", "%A"}), "2\n3\n");
  EXPECT_EQ(Run({"scancel", "-u", "root,alice"}).exit, 0);
  EXPECT_EQ(Sent(), "DELETE /v1/jobs/2\nDELETE /v1/jobs/3\n");
}

TEST_F(SlurmClusters, UnknownOnesAreRefusedInSlurmsWords) {
  for (const char* command : {"squeue", "sinfo", "sacct", "scancel", "scontrol"}) {
    std::vector<std::string> words = {command, "-M", "nosuch"};
    if (std::string(command) == "scancel") words.emplace_back("1");
    if (std::string(command) == "scontrol") words.insert(words.end(), {"show", "job"});
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.exit, 1) << command;
    EXPECT_EQ(ran.err, std::string(command) +
                           ": error: 'nosuch' can't be reached now, or it is an invalid entry for "
                           "--cluster.  Use 'sacctmgr list clusters' to see available clusters.\n");
    EXPECT_EQ(ran.out, "") << command;
  }
  EXPECT_EQ(Sent(), "");
}

TEST_F(SlurmClusters, PartitionsHaveTheirProperties) {
  EXPECT_EQ(Out({"sinfo", "-h", "-o", "%P %R %a %l %L %s %p"}),
            "short* short up 1:00:00 10:00 1-4 3\nlong long drain infinite n/a 1-infinite 1\n");
  EXPECT_EQ(
      Out({"sinfo", "-h", "-p", "short", "-O", "PartitionName:6,Time:8,CPUs:2"}).substr(0, 14),
      "short 1:00:00 ");
  EXPECT_EQ(Out({"sinfo", "-h", "-N", "-S", "-N", "-p", "short", "-o", "%N"}), "beta\nalpha\n");
  EXPECT_EQ(Out({"sinfo", "-h", "-M", "alpha", "-p", "short", "-o", "%N %V"}), "alpha alpha\n");
  const std::string shown = Out({"scontrol", "show", "partition", "short"});
  for (const char* part : {"Default=YES", "DefaultTime=00:10:00", "MaxTime=01:00:00", "MaxNodes=4",
                           "PriorityTier=3", "MaxMemPerCPU=2048", "State=UP"})
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
  EXPECT_NE(Out({"scontrol", "show", "partition", "long"}).find("State=DRAIN"), std::string::npos);
  EXPECT_NE(Out({"sinfo", "--json"}).find("\"partitions\":["), std::string::npos);
}

// Recorded from a real Slurm of two partitions with the same nodes.
TEST_F(SlurmClusters, PartitionsThatLookAlikeShareTheirLines) {
  EXPECT_EQ(Out({"sinfo", "-h", "-o", "%D"}), "2\n");
  EXPECT_EQ(Out({"sinfo", "-h", "-o", "%a %D"}), "up 2\ndrain 2\n");
  EXPECT_EQ(Out({"sinfo", "-h", "-N", "-p", "short,long", "-o", "%D"}), "1\n1\n1\n1\n");
}

// sinfo(1) of Slurm 22.05.
TEST_F(SlurmClusters, EveryLetterAndNameOfSinfoIsKnown) {
  for (const char letter : std::string("aAbBcCdDeEfFgGhHIlLmMnNoOpPrRsStTuUvVwXYZz"))
    EXPECT_EQ(Run({"sinfo", "-o", std::string("%") + letter}).exit, 0) << letter;
  for (const char* name : {"All",           "AllocMem",       "AllocNodes",
                           "Available",     "Cluster",        "Comment",
                           "Cores",         "CPUs",           "CPUsLoad",
                           "CPUsState",     "DefaultTime",    "Disk",
                           "Extra",         "Features",       "features_act",
                           "FreeMem",       "Gres",           "GresUsed",
                           "Groups",        "MaxCPUsPerNode", "Memory",
                           "NodeAddr",      "NodeAI",         "NodeAIOT",
                           "NodeHost",      "NodeList",       "Nodes",
                           "OverSubscribe", "Partition",      "PartitionName",
                           "Port",          "PreemptMode",    "PriorityJobFactor",
                           "PriorityTier",  "Priority",       "Reason",
                           "Root",          "Size",           "SocketCoreThread",
                           "Sockets",       "StateCompact",   "StateLong",
                           "StateComplete", "Threads",        "Time",
                           "TimeStamp",     "User",           "UserLong",
                           "Version",       "Weight"})
    EXPECT_EQ(Run({"sinfo", "-O", name}).exit, 0) << name;
}

}  // namespace
}  // namespace muster::slurm
