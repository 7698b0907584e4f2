// The text of --array, and sets of indexes as ranges.

#include "schedd/model/task_ranges.h"
#include "schedd/shapes/batch/array_spec.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

TEST(ParseArraySpec, ReadsRangesStepsAndTheLimit) {
  struct Case {
    const char *text, *tasks;
    std::int64_t count;
    std::int32_t throttle;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"0-3", "0-3", 4, 0},
           {"7", "7", 1, 0},
           {"5,1,3", "1,3,5", 3, 0},
           {"0-15:4", "0-12:4", 4, 0},
           {"0-6:3,9-10", "0-6:3,9-10", 5, 0},
           {"0-6,9-12:3%2", "0-6,9,12", 9, 2},
           {"0-3,4-7", "0-7", 8, 0},
           {"4-7,0-5", "0-7", 8, 0},
           {"1,1,1", "1", 1, 0},
           {"0-8:2,1-7:2", "0-8", 9, 0},
           {"5-5:3", "5", 1, 0},
           {"0-99999", "0-99999", 100'000, 0},
           {"0-4000000%1000", "0-4000000", 4'000'001, 1000},
           {"3999999-4000000", "3999999-4000000", 2, 0},
       }) {
    const auto spec = ParseArraySpec(one.text);
    ASSERT_TRUE(spec.ok()) << one.text;
    EXPECT_EQ(IndexText(spec->tasks), one.tasks) << one.text;
    EXPECT_EQ(CountOf(spec->tasks), one.count) << one.text;
    EXPECT_EQ(spec->throttle, one.throttle) << one.text;
  }
}

TEST(ParseArraySpec, RefusesWhatIsMalformed) {
  for (const std::string bad :
       {"", "a", "1-", "-1", "3-1", "1,,2", "1,", "1-4:0", "4:2", "1-4%0", "1-4%x", "1-4%", "%2",
        "1-99999999999", "5000000", "4000001", "1--4", "1-4:-1", "1 2", "[1-4]"}) {
    const auto spec = ParseArraySpec(bad);
    ASSERT_FALSE(spec.ok()) << bad;
    EXPECT_THAT(spec.error().detail, HasSubstr("Invalid job array specification")) << bad;
  }
}

TEST(ParseArraySpec, KeepsTheNumberOfRangesBounded) {
  std::string odd = "1";
  for (int i = 1; i < 20'000; ++i) odd += "," + std::to_string(i * i);
  EXPECT_FALSE(ParseArraySpec(odd).ok());
  EXPECT_FALSE(ParseArraySpec("0-4000000:7,0-4000000:11").ok());
}

std::vector<std::int32_t> Naive(const TaskRanges& a, const TaskRanges& b, bool common) {
  std::vector<std::int32_t> out;
  for (const std::int32_t index : TasksOf(a)) {
    if (HasTask(b, index) == common) out.push_back(index);
  }
  return out;
}

TEST(TaskRangeSets, AgreeWithSetsOfIndexes) {
  const std::vector<std::string> texts = {"0-20",      "5",          "3-17:2", "0-20:5", "1,4,9,16",
                                          "2-18:4,20", "0-2,10-14:2", "20",     "0,20",   "6-12:3,13-19"};
  for (const std::string& left : texts) {
    for (const std::string& right : texts) {
      const TaskRanges a = ParseArraySpec(left)->tasks, b = ParseArraySpec(right)->tasks;
      EXPECT_EQ(TasksOf(Common(a, b)), Naive(a, b, true)) << left << " and " << right;
      EXPECT_EQ(TasksOf(Without(a, b)), Naive(a, b, false)) << left << " without " << right;
    }
    const TaskRanges all = ParseArraySpec(left)->tasks;
    EXPECT_EQ(TasksOf(RangesOf(TasksOf(all))), TasksOf(all)) << left;
    TaskRanges rest = all;
    std::vector<std::int32_t> taken;
    while (!rest.empty()) taken.push_back(TakeFirst(&rest));
    EXPECT_EQ(taken, TasksOf(all)) << left;
  }
}

TEST(TaskRangeSets, HaveAsManyRangesAsGaps_HoweverManyIndexes) {
  TaskRanges all = ParseArraySpec("0-3999999")->tasks;
  for (int i = 0; i < 1000; ++i) {
    (void)TakeFirst(&all);
    all = Without(all, {{2000 + 2 * i, 2000 + 2 * i, 1}});
    EXPECT_EQ(Common(all, {{0, kArrayIndexMax, 1}}).size(), all.size());
  }
  EXPECT_LE(all.size(), 1001u);
  EXPECT_EQ(CountOf(all), 4'000'000 - 2000);
}

}  // namespace
}  // namespace muster::shapes
