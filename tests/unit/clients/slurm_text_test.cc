#include <gtest/gtest.h>

#include "clients/slurm/columns.h"
#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/job_list.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::slurm {
namespace {

using testing::ListOf;
using testing::ScopedEnv;
using testing::ViewOf;

TEST(TimeLimit, AllOfSlurmsFormsAreRead) {
  const std::pair<const char*, std::int64_t> cases[] = {{"5", 300},
                                                        {"5:30", 330},
                                                        {"0:3:0", 180},
                                                        {"0:120", 120},
                                                        {"1-02", 93'600},
                                                        {"1-02:03", 93'780},
                                                        {"1-02:03:04", 93'784},
                                                        {"UNLIMITED", 0},
                                                        {"infinite", 0},
                                                        {"0", 0}};
  for (const auto& [text, seconds] : cases) EXPECT_EQ(ParseTimeLimit(text), seconds) << text;
  for (const char* bad :
       {"", "x", "1:", ":1", "1:2:3:4", "-1", "1-", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(ParseTimeLimit(bad)) << bad;
  }
}

TEST(Memory, UnitsAreBinaryAndFractionsRefused) {
  EXPECT_EQ(ParseMemoryMb("4096"), 4096);
  EXPECT_EQ(ParseMemoryMb("512MB"), 512);
  EXPECT_EQ(ParseMemoryMb("4g"), 4096);
  EXPECT_EQ(ParseMemoryMb("1500K"), 2);
  EXPECT_EQ(ParseMemoryMb("1T"), 1 << 20);
  for (const char* bad : {"1.5G", "G", "", "4X", "12B", "-1"})
    EXPECT_FALSE(ParseMemoryMb(bad)) << bad;
}

TEST(Durations, AreShownAsSqueueAndSacctDo) {
  const auto brief = [](std::int64_t seconds) {
    std::string out;
    AppendShortDuration(seconds, &out);
    return out;
  };
  EXPECT_EQ(brief(7), "0:07");
  EXPECT_EQ(brief(3723), "1:02:03");
  EXPECT_EQ(brief(183'845), "2-03:04:05");
  EXPECT_EQ(LongDuration(7), "00:00:07");
  EXPECT_EQ(LongDuration(183'845), "2-03:04:05");
}

TEST(Points, AreReadAsSacctReadsThem) {
  const ScopedEnv zone("TZ", "UTC");
  ::tzset();
  const std::int64_t now = ParseStamp("2026-11-21T10:30:00Z");
  const std::pair<const char*, const char*> cases[] = {
      {"now", "2026-11-21T10:30:00Z"},
      {"now-2days", "2026-11-19T10:30:00Z"},
      {"now+90", "2026-11-21T10:31:30Z"},
      {"now-1hour", "2026-11-21T09:30:00Z"},
      {"today", "2026-11-21T00:00:00Z"},
      {"noon", "2026-11-21T12:00:00Z"},
      {"fika", "2026-11-21T15:00:00Z"},
      {"tomorrow", "2026-11-22T00:00:00Z"},
      {"08:15", "2026-11-21T08:15:00Z"},
      {"2026-01-02", "2026-01-02T00:00:00Z"},
      {"2026-01-02T03:04", "2026-01-02T03:04:00Z"},
      {"1970-01-01-00:00:01", "1970-01-01T00:00:01Z"},
      {"0102", "2026-01-02T00:00:00Z"},
      {"010225", "2025-01-02T00:00:00Z"},
      {"1/2", "2026-01-02T00:00:00Z"},
      {"01.02.25", "2025-01-02T00:00:00Z"}};
  for (const auto& [text, stamp] : cases)
    EXPECT_EQ(ParsePoint(text, now), ParseStamp(stamp)) << text;
  for (const char* bad : {"", "nowish", "25:00", "2026-13-01", "13/40", "now-2parsecs", "12345"}) {
    EXPECT_FALSE(ParsePoint(bad, now)) << bad;
  }
}

TEST(Stamps, BecomeSecondsSince1970) {
  EXPECT_EQ(ParseStamp("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseStamp("2000-03-01T00:00:00Z"), 951'868'800);
  EXPECT_EQ(ParseStamp("2026-11-21T10:00:00.123456Z"), 1'795'255'200);
  EXPECT_EQ(ParseStamp(""), 0);
  EXPECT_EQ(ParseStamp("2026-11-21 10:00:00Z"), 0);
}

TEST(Hostlists, ExpandWithTheirZerosAndFoldBack) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(ExpandHostlist("n[0001-0003,0007],gpu1"),
            (Names{"n0001", "n0002", "n0003", "n0007", "gpu1"}));
  EXPECT_EQ(ExpandHostlist("r[0-1]n[0-1]"), (Names{"r0n0", "r0n1", "r1n0", "r1n1"}));
  EXPECT_FALSE(ExpandHostlist("n[1-"));
  EXPECT_FALSE(ExpandHostlist("n[3-1]"));
  EXPECT_FALSE(ExpandHostlist("n[0-999999999]"));
  EXPECT_EQ(FoldHostlist({"n0001", "n0002", "n0003", "n0007", "gpu1", "alpha"}),
            "n[0001-0003,0007],gpu1,alpha");
}

TEST(Formats, PercentLettersKeepLiteralsAndCutToWidth) {
  Format format;
  ParsePercentFormat("<%.5i|%4j>%%", SqueueFieldByLetter, &format);
  ASSERT_EQ(format.columns.size(), 2u);
  std::string out;
  AppendCell(format.columns[0], "123456789", &out);
  AppendCell(format.columns[1], "ab", &out);
  EXPECT_EQ(out + format.after, "<12345|ab  >");
  Format unknown;
  ParsePercentFormat("%!", SqueueFieldByLetter, &unknown);
  EXPECT_EQ(unknown.unknown, std::vector<std::string>{"!"});
  EXPECT_EQ(unknown.after, "%!");
}

// Recorded from a real Slurm. ReFrame asks squeue for "%%i|%%T|%%N|%%r".
TEST(Formats, PercentSignsThatNameNothingAreSkipped) {
  struct Case {
    const char* text;
    std::size_t columns;
    std::vector<std::string> unknown;
    const char* after;
  };
  const Case kCases[] = {{"%%i|%%T", 2, {}, ""},   {"%", 0, {}, ""},       {"", 0, {}, ""},
                         {"%i|100%", 1, {}, "|100"}, {"abc", 0, {}, "abc"},  {"%i%%", 1, {}, ""},
                         {"%5%i", 1, {""}, ""},      {"%.5", 0, {""}, "%.5"}};
  for (const Case& one : kCases) {
    Format format;
    ParsePercentFormat(one.text, SqueueFieldByLetter, &format);
    EXPECT_EQ(format.columns.size(), one.columns) << one.text;
    EXPECT_EQ(format.unknown, one.unknown) << one.text;
    EXPECT_EQ(format.after, one.after) << one.text;
  }
}

TEST(Formats, NamedFieldsAreTwentyWideUnlessTold) {
  Format format;
  ASSERT_FALSE(ParseNamedFormat("jobid,NAME:.8,State:3+", SqueueFieldByName, &format));
  EXPECT_EQ(format.columns[0].width, 20u);
  EXPECT_EQ(format.columns[1].width, 8u);
  EXPECT_TRUE(format.columns[1].right);
  EXPECT_EQ(format.after, "+");
  EXPECT_FALSE(ParseNamedFormat("NoSuch", SqueueFieldByName, &format));
  EXPECT_EQ(format.unknown, std::vector<std::string>{"NoSuch"});
}

TEST(JobSpecs, NameJobsTasksAndSteps) {
  EXPECT_EQ(ParseJobSpec("12")->id, 12);
  EXPECT_EQ(ParseJobSpec("12.batch")->id, 12);
  EXPECT_EQ(ParseJobSpec("12.batch")->step, "batch");
  EXPECT_EQ(ParseJobSpec("12_3.0")->step, "0");
  EXPECT_EQ(ParseJobSpec("12+1")->het_offset, 1);
  EXPECT_EQ(ParseJobSpec("12_[1-3,7]")->tasks, (TaskRanges{{1, 3, 1}, {7, 7, 1}}));
  EXPECT_EQ(SpecText(*ParseJobSpec("12_[1-3,7]")), "12_[1-3,7]");
  EXPECT_EQ(SpecText(*ParseJobSpec("12_3")), "12_3");
  EXPECT_FALSE(ParseJobSpec("abc"));
  EXPECT_FALSE(ParseJobSpec("0"));
  EXPECT_FALSE(ParseJobSpec("12_x"));
  EXPECT_FALSE(ParseJobSpec("12.x"));
  EXPECT_FALSE(ParseJobSpec("12_[1-"));
  JobRow task;
  task.id = 20;
  task.array_job_id = 18;
  task.array_task_id = 2;
  EXPECT_TRUE(Matches(*ParseJobSpec("18"), task));
  EXPECT_TRUE(Matches(*ParseJobSpec("20"), task));
  EXPECT_TRUE(Matches(*ParseJobSpec("18_2"), task));
  EXPECT_FALSE(Matches(*ParseJobSpec("18_3"), task));
}

class CutAnswer : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CutAnswer, ReadsAListHoweverItArrives) {
  const std::string text = ListOf(testing::SampleJob{.id = 17, .name = "a\\\"b", .limit = 3600},
                                  testing::SampleJob{.id = 18,
                                                     .name = "plain",
                                                     .state = "Failed",
                                                     .reason = "DeadlineExceeded",
                                                     .end = "2026-11-21T10:05:00Z",
                                                     .exit_code = "143",
                                                     .exit_signal = 15,
                                                     .batch = false});
  JobList list;
  for (std::size_t at = 0; at < text.size(); at += GetParam()) {
    ASSERT_TRUE(list.Feed(std::string_view(text).substr(at, GetParam())));
  }
  ASSERT_TRUE(list.Finish());
  ASSERT_EQ(list.rows().size(), 2u);
  const JobRow& first = list.rows()[0];
  EXPECT_EQ(first.id, 17);
  EXPECT_EQ(first.name, "a\"b");
  EXPECT_EQ(first.time_limit_s, 3600);
  EXPECT_EQ(first.cpu_milli, 3000) << "count x request";
  EXPECT_EQ(first.memory_bytes, 4LL << 30);
  EXPECT_EQ(first.work_dir, "/home/alice");
  EXPECT_TRUE(first.is_batch);
  EXPECT_FALSE(first.has_exit_code);
  const JobRow& second = list.rows()[1];
  EXPECT_EQ(second.state, State::kTimeout);
  EXPECT_FALSE(second.is_batch);
  EXPECT_EQ(second.exit_code, 143);
  EXPECT_EQ(second.exit_signal, 15);
  EXPECT_EQ(second.pods, 2);
}

INSTANTIATE_TEST_SUITE_P(Bytes, CutAnswer, ::testing::Values(1, 2, 3, 17, 4096, 1 << 20));

TEST(JobLists, RefuseWhatIsNotOrNotAllOfAList) {
  JobList list;
  EXPECT_FALSE(list.Feed("<html>"));
  JobList half;
  EXPECT_TRUE(half.Feed("{\"items\":[{\"id\":1"));
  EXPECT_FALSE(half.Finish());
  JobList empty;
  EXPECT_TRUE(empty.Feed("{\"items\":[],\"next_page_token\":\"abc\"}"));
  EXPECT_TRUE(empty.Finish());
  EXPECT_EQ(empty.next_page_token(), "abc");
  EXPECT_TRUE(empty.rows().empty());
}

TEST(Reasons, AreOneWordOfSlurms) {
  JobRow row;
  for (const char* ours :
       {"WaitingForQuota", "PendingEvaluation", "NoMemberCluster", "SomethingNew", ""}) {
    row.reason = ours;
    const std::string_view word = SlurmReason(row);
    EXPECT_FALSE(word.empty());
    EXPECT_EQ(word.find(' '), std::string_view::npos);
  }
  row.reason = "WaitingForQuota";
  EXPECT_EQ(SlurmReason(row), "Resources");
  row.held = true;
  EXPECT_EQ(SlurmReason(row), "JobHeldUser");
}

}  // namespace
}  // namespace muster::slurm
