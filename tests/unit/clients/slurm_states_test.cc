// States and reasons in Slurm's words, from members of the job view (rules B18, B20).
#include "clients/slurm/squeue_fields.h"
#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

using testing::SampleJob;

TEST(States, FollowFromMembers) {
  const struct {
    StateMembers members;
    const char* name;
  } kCases[] = {
      {{"Held", "HeldByUser"}, "PENDING"},
      {{"Pending", "WaitingForQuota"}, "PENDING"},
      {{"Held", "HeldAfterRequeue"}, "PENDING"},
      {{"Held", "HeldAfterRequeue", false, false, true}, "SPECIAL_EXIT"},
      {{"Admitted", "Dispatching"}, "CONFIGURING"},
      {{"Admitted", "Dispatching", true}, "COMPLETING"},
      {{"Running", "Running"}, "RUNNING"},
      {{"Running", "Running", true}, "COMPLETING"},
      {{"Running", "SuspendedByAdmin", false, true}, "SUSPENDED"},
      {{"Succeeded", "Succeeded"}, "COMPLETED"},
      {{"Succeeded", "OutOfMemory"}, "OUT_OF_MEMORY"},
      {{"Failed", "OutOfMemory"}, "OUT_OF_MEMORY"},
      {{"Failed", "Failed"}, "FAILED"},
      {{"Failed", "DeadlineExceeded"}, "TIMEOUT"},
      {{"Failed", "MaximumExecutionTimeExceeded"}, "TIMEOUT"},
      {{"Failed", "Lost"}, "NODE_FAIL"},
      {{"Failed", "NodeFailures"}, "NODE_FAIL"},
      {{"Failed", "EvictedOnMember"}, "NODE_FAIL"},
      {{"Failed", "FailedToStart"}, "BOOT_FAIL"},
      {{"Failed", "Preempted"}, "PREEMPTED"},
      {{"Cancelled", "Preempted"}, "PREEMPTED"},
      {{"Cancelled", "DeadlineMissed"}, "DEADLINE"},
      {{"Cancelled", "Cancelled"}, "CANCELLED"},
      {{"Cancelled", "ClientGone"}, "CANCELLED"},
  };
  for (const auto& one : kCases)
    EXPECT_EQ(LongName(StateOf(one.members)), one.name)
        << one.members.state << " " << one.members.reason;
}

TEST(States, AreKnownByBothNames) {
  for (const char* name :
       {"S", "CG", "PR", "NF", "BF", "DL", "RH", "SE", "SUSPENDED", "completing"}) {
    State state = State::kPending;
    EXPECT_TRUE(ParseState(name, &state)) << name;
    EXPECT_TRUE(IsSlurmState(name)) << name;
  }
  EXPECT_TRUE(IsSlurmState("STOPPED"));
  EXPECT_FALSE(IsSlurmState("SLEEPING"));
}

TEST(Exits, OfJobsThatWereEndedFromOutsideAreZero) {
  JobRow row;
  row.has_exit_code = true;
  row.exit_code = 143;
  row.exit_signal = 15;
  for (const State state :
       {State::kCancelled, State::kTimeout, State::kPreempted, State::kNodeFail}) {
    row.state = state;
    EXPECT_EQ(ExitText(row), "0:0") << LongName(state);
    EXPECT_EQ(ScriptExitOf(row).signal, 15) << LongName(state);
  }
  row.state = State::kFailed;
  EXPECT_EQ(ExitText(row), "0:15");
}

class SlurmStates : public SlurmFixture {};

TEST_F(SlurmStates, WhatFewJobsHaveIsShown) {
  const SampleJob job{.id = 7,
                      .user = "root",
                      .state = "Pending",
                      .reason = "Dependency",
                      .cluster = "",
                      .start = "",
                      .priority = 77};
  Jobs({WithBatch(job, R"X("features":"a100&nvme","requiredNodes":"n1","excludedNodes":"n2",
      "licenses":"matlab:2","reservation":"res","wckey":"key","dependency":"afterok:3(unfulfilled)",
      "deadline":"2026-11-22T10:00:00Z","nice":5,"timeMinS":60,"tasksPerNode":2,
      "how":{"gpu-bind":"closest"},"mailUser":"me","mailEvents":6,"exclusive":true)X")});
  const std::pair<const char*, const char*> kCells[] = {
      {"%f", "a100&nvme"}, {"%n", "n1"},
      {"%x", "n2"},        {"%W", "matlab:2"},
      {"%v", "res"},       {"%w", "key"},
      {"%y", "5"},         {"%E", "afterok:3(unfulfilled)"},
      {"%Q", "77"},        {"%R", "(Dependency)"},
      {"%q", "normal"},    {"%h", "NO"},
      {"%z", "*:*:*"}};
  for (const auto& [format, text] : kCells)
    EXPECT_EQ(Out({"squeue", "-h", "-o", format}), std::string(text) + "\n") << format;
  EXPECT_EQ(Out({"squeue", "-h", "-O", "Deadline:0"}), "2026-11-22T10:00:00\n");
  EXPECT_EQ(Out({"squeue", "-h", "-L", "matlab", "-o", "%A"}), "7\n");
  EXPECT_EQ(Out({"squeue", "-h", "-L", "other", "-o", "%A"}), "");
  EXPECT_EQ(Out({"squeue", "-h", "-R", "res", "-o", "%A"}), "7\n");
  const std::string shown = Out({"scontrol", "show", "job", "7"});
  for (const char* part :
       {"Priority=77 Nice=5", "QOS=normal", "WCKey=key", "Dependency=afterok:3(unfulfilled)",
        "TimeMin=00:01:00", "Deadline=2026-11-22T10:00:00", "ReqNodeList=n1 ExcNodeList=n2",
        "NtasksPerN:B:S:C=2:0:*:*", "Features=a100&nvme", "Reservation=res", "OverSubscribe=NO",
        "Licenses=matlab:2", "GpuBind=closest", "MailUser=me MailType=END,FAIL",
        "SuspendTime=None SecsPreSuspend=0"})
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
}

TEST_F(SlurmStates, WaitingJobsHaveAPriority_HeldOnesNone) {
  const SampleJob waits{.id = 1, .state = "Pending", .reason = "WaitingForQuota", .start = ""};
  const SampleJob held{.id = 2, .state = "Held", .reason = "HeldByAdmin", .start = ""};
  const SampleJob again{.id = 3, .state = "Held", .reason = "RequeueLimit", .start = ""};
  Jobs({testing::ViewOf(waits), testing::ViewOf(held), testing::ViewOf(again)});
  EXPECT_EQ(Out({"squeue", "-h", "-S", "i", "-o", "%A %Q %r"}),
            "1 1 Resources\n2 0 JobHeldAdmin\n3 0 JobHoldMaxRequeue\n");
}

TEST_F(SlurmStates, AHeterogeneousJobIsShownByItsComponents) {
  SampleJob job{.id = 7, .user = "root", .nodes = 1};
  std::string view =
      WithBatch(job, R"("components":[{"name":"c1","nodes":2,"tasks":4,"cpusPerTask":2}])");
  view = WithMembers(view, R"("nodeList":"job-7-[0-2]")");
  Jobs({view});
  EXPECT_EQ(Out({"squeue", "-h", "-o", "%i %D %N"}), "7+0 1 job-7-0\n7+1 2 job-7-[1-2]\n");
  EXPECT_EQ(Out({"squeue", "-h", "-j", "7+1", "-o", "%i"}), "7+1\n");
  EXPECT_NE(Out({"scontrol", "show", "job", "7"}).find("HetJobId=7 HetJobOffset=1"),
            std::string::npos);
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "7", "-o", "JobID"}), "7+0\n7+1\n");
}

TEST_F(SlurmStates, HostsAreTheServersList) {
  const SampleJob job{.id = 7, .user = "root", .nodes = 2};
  Jobs({WithMembers(testing::ViewOf(job), R"("nodeList":"job-7-[0-1]")")});
  EXPECT_EQ(Out({"squeue", "-h", "-o", "%N %R %B"}), "job-7-[0-1] job-7-[0-1] job-7-0\n");
  EXPECT_EQ(Out({"squeue", "-h", "-w", "job-7-1", "-o", "%A"}), "7\n");
  EXPECT_EQ(Out({"squeue", "-h", "-w", "alpha", "-o", "%A"}), "7\n");
  EXPECT_EQ(Out({"squeue", "-h", "-w", "beta", "-o", "%A"}), "");
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "7", "-o", "NodeList,Cluster"}), "job-7-[0-1]|alpha\n");
}

// The names of squeue(1) of Slurm 22.05.
TEST(SqueueFields, EveryLetterAndNameOfTheManualPageIsKnown) {
  for (const char letter : std::string("aABbcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"))
    EXPECT_TRUE(SqueueFieldByLetter(letter)) << letter;
  for (const char* name : {"Account",
                           "AccrueTime",
                           "admin_comment",
                           "AllocNodes",
                           "AllocSID",
                           "ArrayJobID",
                           "ArrayTaskID",
                           "AssocID",
                           "BatchFlag",
                           "BatchHost",
                           "BoardsPerNode",
                           "BurstBuffer",
                           "BurstBufferState",
                           "Cluster",
                           "ClusterFeature",
                           "Command",
                           "Comment",
                           "Contiguous",
                           "Container",
                           "Cores",
                           "CoreSpec",
                           "CPUFreq",
                           "cpus-per-task",
                           "cpus-per-tres",
                           "Deadline",
                           "DelayBoot",
                           "Dependency",
                           "DerivedEC",
                           "EligibleTime",
                           "EndTime",
                           "exit_code",
                           "Feature",
                           "GroupID",
                           "GroupName",
                           "HetJobID",
                           "HetJobIDSet",
                           "HetJobOffset",
                           "JobArrayID",
                           "JobID",
                           "LastSchedEval",
                           "Licenses",
                           "MaxCPUs",
                           "MaxNodes",
                           "MCSLabel",
                           "mem-per-tres",
                           "MinCpus",
                           "MinMemory",
                           "MinTime",
                           "MinTmpDisk",
                           "Name",
                           "Network",
                           "Nice",
                           "NodeList",
                           "Nodes",
                           "NTPerBoard",
                           "NTPerCore",
                           "NTPerNode",
                           "NTPerSocket",
                           "NumCPUs",
                           "NumNodes",
                           "NumTasks",
                           "Origin",
                           "OriginRaw",
                           "OverSubscribe",
                           "Partition",
                           "PendingTime",
                           "PreemptTime",
                           "Prefer",
                           "Priority",
                           "PriorityLong",
                           "Profile",
                           "QOS",
                           "Reason",
                           "ReasonList",
                           "Reboot",
                           "ReqNodes",
                           "ReqSwitch",
                           "Requeue",
                           "Reservation",
                           "ResizeTime",
                           "RestartCnt",
                           "ResvPort",
                           "SchedNodes",
                           "SCT",
                           "SelectJobInfo",
                           "SiblingsActive",
                           "SiblingsActiveRaw",
                           "SiblingsViable",
                           "SiblingsViableRaw",
                           "Sockets",
                           "SPerBoard",
                           "StartTime",
                           "State",
                           "StateCompact",
                           "STDERR",
                           "STDIN",
                           "STDOUT",
                           "StepID",
                           "StepName",
                           "StepState",
                           "SubmitTime",
                           "system_comment",
                           "Threads",
                           "TimeLeft",
                           "TimeLimit",
                           "TimeUsed",
                           "tres-alloc",
                           "tres-bind",
                           "tres-freq",
                           "tres-per-job",
                           "tres-per-node",
                           "tres-per-socket",
                           "tres-per-step",
                           "tres-per-task",
                           "UserID",
                           "UserName",
                           "Wait4Switch",
                           "WCKey",
                           "WorkDir"})
    EXPECT_TRUE(SqueueFieldByName(name)) << name;
}

}  // namespace
}  // namespace muster::slurm
