// Arrays: one record for the waiting tasks, and rows of those that started (rule B15).
#include "clients/slurm/task_ranges.h"
#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

using testing::SampleJob;
using testing::ScopedEnv;

TEST(TaskRanges, AreReadComparedAndWritten) {
  for (const char* text : {"0", "0-3", "0-12:4", "1,3,5-9", "0-3,7"})
    EXPECT_EQ(TasksText(*ParseTasks(text)), text);
  EXPECT_EQ(TasksText(*ParseTasks("0-15:4")), "0-12:4") << "the last task that there is";
  for (const char* bad : {"", "x", "3-1", "1,", "1-2:0", "-1", "1-5000000"})
    EXPECT_FALSE(ParseTasks(bad)) << bad;
  EXPECT_TRUE(HasTask(*ParseTasks("0-15:4"), 8));
  EXPECT_FALSE(HasTask(*ParseTasks("0-15:4"), 9));
  EXPECT_EQ(CountTasks(*ParseTasks("0-15:4,20")), 5);
  EXPECT_EQ(TasksText(CommonTasks(*ParseTasks("0-9"), *ParseTasks("3,7-20"))), "3,7-9");
  EXPECT_EQ(TasksText(CommonTasks(*ParseTasks("0-15:4"), *ParseTasks("2-9"))), "4,8");
  EXPECT_EQ(TasksText(CommonTasks(*ParseTasks("0-999999"), *ParseTasks("999999"))), "999999");
}

class SlurmArrays : public SlurmFixture {
 protected:
  SlurmArrays() {
    SampleJob record{.id = 36,
                     .user = "alice",
                     .state = "Pending",
                     .reason = "WaitingForQuota",
                     .cluster = "",
                     .start = "",
                     .array_id = 36,
                     .array_spec = "0-5%2"};
    SampleJob task{
        .id = 37, .user = "alice", .array_id = 36, .array_task = 0, .array_spec = "0-5%2"};
    Jobs({WithBatch(record, R"("waitingTasks":"1-5","taskThrottle":2)"), testing::ViewOf(task)});
  }
};

TEST_F(SlurmArrays, WaitingTasksAreOneLineUntilTheyAreAskedForOneByOne) {
  EXPECT_EQ(Out({"squeue", "-h", "-S", "i", "-o", "%i %A %F %K"}),
            "36_[1-5%2] 36 36 1-5%2\n36_0 37 36 0\n");
  EXPECT_EQ(Out({"squeue", "-hr", "-t", "PD", "-o", "%i"}), "36_1\n36_2\n36_3\n36_4\n36_5\n");
  EXPECT_EQ(Out({"squeue", "-hr", "-j", "36_[2-3]", "-o", "%i"}), "36_2\n36_3\n");
  const ScopedEnv each("SQUEUE_ARRAY", "1");
  EXPECT_EQ(Out({"squeue", "-h", "-t", "PD", "-o", "%i"}).size(), 5 * std::string("36_1\n").size());
}

TEST_F(SlurmArrays, LongListsAreCut) {
  std::string tasks;
  for (int task = 0; task < 80; task += 2) tasks += (task == 0 ? "" : ",") + std::to_string(task);
  EXPECT_EQ(ShownTasks(tasks, 0).size(), 64 + std::string("[...]").size());
  {
    const ScopedEnv whole("SLURM_BITSTR_LEN", "0");
    EXPECT_EQ(ShownTasks(tasks, 0), "[" + tasks + "]");
  }
  const ScopedEnv some("SLURM_BITSTR_LEN", "4");
  EXPECT_EQ(ShownTasks(tasks, 3), "[0,2,...%3]");
  EXPECT_EQ(ShownTasks("5", 0), "5");
}

TEST_F(SlurmArrays, RecordsAndTasksHaveSlurmsKeys) {
  const std::string shown = Out({"scontrol", "show", "job", "36"});
  EXPECT_NE(shown.find("JobId=36 ArrayJobId=36 ArrayTaskId=1-5%2 ArrayTaskThrottle=2"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.find("JobId=37 ArrayJobId=36 ArrayTaskId=0 JobName"), std::string::npos) << shown;
  EXPECT_EQ(Out({"sacct", "-nXP", "-j", "36", "-o", "JobID,JobIDRaw,State"}),
            "36_[1-5%2]|36|PENDING\n36_0|37|RUNNING\n");
}

TEST_F(SlurmArrays, RequestsNameTheTasks) {
  EXPECT_EQ(Run({"scancel", "36_[2-3]"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "36_0"}).exit, 0);
  EXPECT_EQ(Run({"scancel", "-t", "PENDING", "-u", "root,alice"}).exit, 0);
  EXPECT_EQ(Run({"scontrol", "hold", "36_4"}).exit, 0);
  EXPECT_EQ(Run({"scontrol", "update", "JobId=36", "ArrayTaskThrottle=5"}).exit, 0);
  const std::string sent = Sent();
  EXPECT_NE(sent.find("DELETE /v1/jobs/36_%5B2-3%5D\nDELETE /v1/jobs/37\n"
                      "DELETE /v1/jobs/36_%5B1-5%5D\nPOST /v1/jobs/36_4:hold"),
            std::string::npos)
      << sent;
  EXPECT_NE(sent.find("POST /v1/jobs/36:update {\"arrayTaskThrottle\":5}"), std::string::npos)
      << sent;
}

}  // namespace
}  // namespace muster::slurm
