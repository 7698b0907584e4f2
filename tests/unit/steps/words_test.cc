// Lists, hosts, times and sentences of steps; layouts; names of files; multi-prog files.
#include "clients/steps/words.h"

#include <gtest/gtest.h>

#include "clients/steps/layout.h"
#include "clients/steps/srun/multi_prog.h"
#include "clients/steps/srun/output_names.h"

namespace muster::steps {
namespace {

using Ints = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

TEST(StepWords, Hosts) {
  EXPECT_EQ(*ExpandHosts("n[1-3,07],gpu1"), (Texts{"n1", "n2", "n3", "n07", "gpu1"}));
  EXPECT_EQ(*ExpandHosts("r[0-1]n[1-2]x"), (Texts{"r0n1x", "r0n2x", "r1n1x", "r1n2x"}));
  EXPECT_EQ(ExpandHosts("n[1-"), std::nullopt);
  EXPECT_EQ(ExpandHosts("n[3-1]"), std::nullopt);
  EXPECT_EQ(ExpandHosts("n[1-99999999]"), std::nullopt);
  EXPECT_EQ(FoldHosts({"job-7-0", "job-7-1", "job-7-3"}), "job-7-[0-1,3]");
  EXPECT_EQ(FoldHosts({"c1"}), "c1");
  EXPECT_EQ(FoldHosts({"a", "b"}), "a,b");
  EXPECT_EQ(FoldHosts({"n9", "n10"}), "n9,n10");
}

TEST(StepWords, NumbersAndCounts) {
  EXPECT_EQ(FoldNumbers({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(*ExpandNumbers("0-8:4,3", 10), (Ints{0, 4, 8, 3}));
  EXPECT_EQ(ExpandNumbers("0-11", 10), std::nullopt);
  EXPECT_EQ(ExpandNumbers("", 10), std::nullopt);
  EXPECT_EQ(FoldCounts({4, 4, 1}), "4(x2),1");
  EXPECT_EQ(*ExpandCounts("4(x2),1"), (Ints{4, 4, 1}));
  EXPECT_EQ(ExpandCounts("4(x999999)"), std::nullopt);
  EXPECT_EQ(ExpandCounts("x"), std::nullopt);
  EXPECT_EQ(WholeNumber("-1"), std::nullopt);
  EXPECT_EQ(WholeNumber("9999999999999999999"), std::nullopt);
}

TEST(StepWords, EndsOfTasks) {
  EXPECT_EQ(TaskList({0}), "task 0");
  EXPECT_EQ(TaskList({0, 1, 2, 3}), "tasks 0-3");
  EXPECT_EQ(EndOf(1 << 8), "Exited with exit code 1");
  EXPECT_EQ(EndOf(0), "");
  EXPECT_EQ(EndOf(9), "Killed");
  EXPECT_EQ(EndOf(11 | 0x80), "Segmentation fault (core dumped)");
  EXPECT_EQ(ExitOf(3 << 8), 3);
  EXPECT_EQ(ExitOf(9), 137);
}

TEST(StepWords, TimesMemorySignals) {
  EXPECT_EQ(*TimeLimitSeconds("2"), 120);
  EXPECT_EQ(*TimeLimitSeconds("0:01"), 1);
  EXPECT_EQ(*TimeLimitSeconds("1:02:03"), 3723);
  EXPECT_EQ(*TimeLimitSeconds("1-2"), 93600);
  EXPECT_EQ(*TimeLimitSeconds("1-0:30"), 88200);
  EXPECT_EQ(*TimeLimitSeconds("UNLIMITED"), 0);
  EXPECT_EQ(TimeLimitSeconds("1:2:3:4"), std::nullopt);
  EXPECT_EQ(TimeLimitSeconds("x"), std::nullopt);
  EXPECT_EQ(*MemoryMegabytes("4G"), 4096);
  EXPECT_EQ(*MemoryMegabytes("1K"), 1);
  EXPECT_EQ(*MemoryMegabytes("512MB"), 512);
  EXPECT_EQ(MemoryMegabytes("4X"), std::nullopt);
  EXPECT_EQ(*SignalNumber("SIGTERM"), 15);
  EXPECT_EQ(*SignalNumber("usr1"), 10);
  EXPECT_EQ(SignalNumber("NOSUCH"), std::nullopt);
}

TEST(StepWords, JsonText) {
  EXPECT_EQ(JsonText("a\"\\\n\x01"), "\"a\\\"\\\\\\u000a\\u0001\"");
  EXPECT_EQ(JsonText("\xc3\xa4\xff"), "\"\xc3\xa4?\"");
  EXPECT_EQ(JsonText("\xed\xa0\x80"), "\"???\"");
}

TEST(StepWords, WordsWithQuotes) {
  EXPECT_EQ(SplitWords("a 'b c' d\"e f\"g ''"), (Texts{"a", "b c", "de fg", ""}));
}

TEST(StepLayout, EveryNodeGetsATaskFirst) {
  EXPECT_EQ(LayOut(4, {2, 2}, Distribution::kBlock, 1), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(LayOut(4, {2, 2}, Distribution::kCyclic, 1), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(LayOut(3, {8, 8}, Distribution::kBlock, 1), (Ints{0, 0, 1}));
  EXPECT_EQ(LayOut(5, {1, 4}, Distribution::kBlock, 1), (Ints{0, 1, 1, 1, 1}));
  EXPECT_EQ(LayOut(6, {1, 1}, Distribution::kBlock, 1), (Ints{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(LayOut(5, {9, 9}, Distribution::kPlane, 2), (Ints{0, 0, 1, 1, 0}));
  EXPECT_EQ(TasksByNode({0, 1, 0}, 2, 4), (std::vector<Ints>{{4, 6}, {5}}));
}

TEST(StepNames, Patterns) {
  NameFacts facts;
  facts.job = "7";
  facts.step = 2;
  facts.task = 3;
  facts.node = 1;
  facts.host = "n1.example";
  facts.user = "ann";
  facts.job_name = "work";
  EXPECT_EQ(ExpandName("%j-%4j-%J-%s-%t-%3t-%n-%N-%u-%x-%%-%q", facts),
            "7-0007-7.2-2-3-003-1-n1-ann-work-%-%q");
  EXPECT_EQ(ExpandName("%A_%a", facts), "7_4294967294");
  EXPECT_EQ(ExpandName("\\%j", facts), "%j");
  EXPECT_TRUE(NamesTasks("x.%2t"));
  EXPECT_TRUE(NamesTasks("%N"));
  EXPECT_FALSE(NamesTasks("%j.%J"));
  EXPECT_FALSE(NamesTasks("\\%t"));
}

TEST(StepMultiProg, Lines) {
  std::vector<Texts> out;
  EXPECT_EQ(ReadMultiProg("# c\n1 echo %t\n0,2-3 sh -c 'x y' %o\n", 4, {"z"}, &out), "");
  EXPECT_EQ(out[1], (Texts{"echo", "1", "z"}));
  EXPECT_EQ(out[3], (Texts{"sh", "-c", "x y", "2", "z"}));
  EXPECT_EQ(ReadMultiProg("0 a\n* b %o\n", 3, {}, &out), "");
  EXPECT_EQ(out[2], (Texts{"b", "1"}));
  EXPECT_EQ(ReadMultiProg("0 a\n", 2, {}, &out), "No executable program specified for this task");
  EXPECT_EQ(ReadMultiProg("x a\n", 1, {}, &out), "line 1: bad task ranks x");
  EXPECT_EQ(ReadMultiProg("0\n", 1, {}, &out), "line 1: no program");
}

}  // namespace
}  // namespace muster::steps
