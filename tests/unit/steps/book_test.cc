// Which step gets what of the job's nodes; what tasks of a node find.
#include "clients/steps/agent/step_book.h"

#include <gtest/gtest.h>

#include "clients/steps/agent/task_environment.h"

namespace muster::steps {
namespace {

// Two nodes of four CPUs and two GPUs.
StepBook TwoNodes(bool known = true) {
  std::vector<JobNode> nodes(2);
  nodes[0].host = "a";
  nodes[1].host = "b";
  for (JobNode& node : nodes) {
    node.cpu_count = 4;
    node.memory_mb = 1000;
  }
  StepBook book(nodes);
  for (std::size_t i = 0; i < 2 && known; ++i)
    book.Learn(i, {kProtocol, nodes[i].host, {10, 11, 12, 13}, {"0", "1"}});
  return book;
}

CreateStep Ask(std::int32_t tasks, std::int32_t nodes, bool exact = false) {
  CreateStep out;
  PartRequest part;
  part.tasks = tasks;
  part.nodes = nodes;
  part.exact = exact;
  out.parts = {part};
  return out;
}

TEST(StepBook, WholeNodesWaitForOneAnother) {
  StepBook book = TwoNodes();
  EXPECT_EQ(book.Place(Ask(2, 2), 0).result, Placing::kPlaced);
  EXPECT_EQ(book.Place(Ask(1, 1), 1).result, Placing::kBusy);
  book.Release(0);
  EXPECT_EQ(book.Place(Ask(1, 1), 1).grants[0].share.host, "a");
  EXPECT_EQ(book.Place(Ask(1, 1), 2).grants[0].share.host, "b");
  EXPECT_EQ(book.Place(Ask(1, 1), 3).result, Placing::kBusy);
  CreateStep overlap = Ask(4, 1);
  overlap.parts[0].overlap = true;
  EXPECT_EQ(book.Place(overlap, 3).result, Placing::kPlaced);
}

TEST(StepBook, ExactStepsShareANode) {
  StepBook book = TwoNodes();
  const PlacedStep first = book.Place(Ask(3, 1, true), 0);
  ASSERT_EQ(first.result, Placing::kPlaced);
  EXPECT_EQ(first.grants[0].cpus, (std::vector<std::int32_t>{10, 11, 12}));
  const PlacedStep second = book.Place(Ask(1, 1, true), 1);
  EXPECT_EQ(second.grants[0].cpus, (std::vector<std::int32_t>{13}));
  // Two tasks do not fit beside them, but on the other node.
  EXPECT_EQ(book.Place(Ask(2, 1, true), 2).grants[0].share.host, "b");
  EXPECT_EQ(book.Place(Ask(3, 1, true), 3).result, Placing::kBusy);
  EXPECT_EQ(book.Place(Ask(2, 1, true), 3).grants[0].share.host, "b");
}

TEST(StepBook, WhatCanNeverRunIsRefused) {
  StepBook book = TwoNodes();
  EXPECT_EQ(book.Place(Ask(5, 1), 0).why, "More processors requested than permitted");
  EXPECT_EQ(book.Place(Ask(9, 2), 0).why, "More processors requested than permitted");
  EXPECT_EQ(book.Place(Ask(3, 3), 0).why, "Requested node configuration is not available");
  CreateStep unknown = Ask(1, 1);
  unknown.parts[0].with_hosts = {"z"};
  EXPECT_EQ(book.Place(unknown, 0).why, "Requested node configuration is not available");
  CreateStep memory = Ask(1, 1);
  memory.parts[0].memory_mb = 2000;
  EXPECT_EQ(book.Place(memory, 0).why, "Memory required by task is not available");
  CreateStep gpus = Ask(1, 1);
  gpus.parts[0].gpus_per_node = 3;
  EXPECT_EQ(book.Place(gpus, 0).why, "Invalid generic resource (gres) specification");
  // A refusal holds nothing.
  EXPECT_EQ(book.Place(Ask(8, 2), 0).result, Placing::kPlaced);
  CreateStep over = Ask(9, 1);
  over.parts[0].overcommit = true;
  book.Release(0);
  EXPECT_EQ(book.Place(over, 0).result, Placing::kPlaced);
}

TEST(StepBook, GpusAndMemoryAreHeld) {
  StepBook book = TwoNodes();
  CreateStep one = Ask(1, 1, true);
  one.parts[0].gpus_per_task = 1;
  one.parts[0].memory_mb = 600;
  one.parts[0].with_hosts = {"a"};
  EXPECT_EQ(book.Place(one, 0).grants[0].gpus, (std::vector<std::string>{"0"}));
  EXPECT_EQ(book.Place(one, 1).result, Placing::kBusy);
  one.parts[0].memory_mb = 400;
  EXPECT_EQ(book.Place(one, 1).grants[0].gpus, (std::vector<std::string>{"1"}));
  book.Rename(1, 5);
  book.Release(1);
  EXPECT_EQ(book.Place(one, 2).result, Placing::kBusy);
  book.Release(5);
  EXPECT_EQ(book.Place(one, 2).result, Placing::kPlaced);
}

TEST(StepBook, NodesThatHaveNotSaidHelloAreAsked) {
  StepBook book = TwoNodes(false);
  const PlacedStep placed = book.Place(Ask(2, 2), 0);
  EXPECT_EQ(placed.result, Placing::kUnknownNodes);
  EXPECT_EQ(placed.unknown, (std::vector<std::size_t>{0}));
}

TEST(TaskEnvironment, OfNodeAndTask) {
  NodeLaunch launch;
  launch.share = {"b", 0, 1, {2, 3}};
  launch.cpu_count = 4;
  const char* own[] = {"TMPDIR=/b", "MUSTER_X=b", "CUDA_VISIBLE_DEVICES=1", "OTHER=b", nullptr};
  std::vector<std::string> out = ShareEnvironment(
      launch, {"TMPDIR=/a", "OTHER=a", "MUSTER_X=a", "SLURM_TASK_PID=1", "SLURM_PROCID=9"}, own);
  AddTaskVariables(launch, 1, &out);
  EXPECT_EQ(VariableOf(out, "TMPDIR"), "/b");
  EXPECT_EQ(VariableOf(out, "OTHER"), "a");
  EXPECT_EQ(VariableOf(out, "MUSTER_X"), "b");
  EXPECT_EQ(VariableOf(out, "SLURM_GTIDS"), "2,3");
  EXPECT_EQ(VariableOf(out, "SLURM_PROCID"), "3");
  EXPECT_EQ(VariableOf(out, "SLURM_LOCALID"), "1");
  EXPECT_EQ(VariableOf(out, "SLURM_STEP_GPUS"), "1");
  EXPECT_EQ(VariableOf(out, "SLURM_TASK_PID"), "");
}

TEST(TaskEnvironment, Binding) {
  NodeLaunch launch;
  launch.share.tasks = {0, 1};
  launch.cpus = {4, 5, 6, 7};
  launch.cpus_per_task = 2;
  cpu_set_t cpus;
  ASSERT_TRUE(TaskCpus(launch, 1, &cpus));
  EXPECT_EQ(MaskText(cpus), "0xF0");
  launch.launch.world.bind = CpuBind::kTasks;
  ASSERT_TRUE(TaskCpus(launch, 1, &cpus));
  EXPECT_EQ(MaskText(cpus), "0xC0");
  launch.launch.world.bind = CpuBind::kMask;
  launch.launch.world.bind_list = {"0x3", "F000000000"};
  ASSERT_TRUE(TaskCpus(launch, 1, &cpus));
  EXPECT_EQ(MaskText(cpus), "0xF000000000");
  launch.launch.world.bind = CpuBind::kNone;
  EXPECT_FALSE(TaskCpus(launch, 1, &cpus));
}

}  // namespace
}  // namespace muster::steps
