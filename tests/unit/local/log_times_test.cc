// The bounded log of a container with the time of each of its lines.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "backends/local/process/log_files.h"
#include "schedd/base/time.h"

namespace muster::local {
namespace {

constexpr std::int64_t kSecond = kMicrosPerSecond;
// 2026-01-01T00:00:00Z.
constexpr std::int64_t kBegin = 1'767'225'600 * kSecond;
constexpr std::int64_t kLimit = 8000;

class LogTimes : public testing::Test {
 protected:
  LogTimes() : dir_(::mkdtemp(name_)) {}
  ~LogTimes() override { std::filesystem::remove_all(dir_); }

  LogPart Read(std::int64_t offset, std::size_t max = 1 << 20, bool times = true) const {
    return ReadLogFiles(dir_, kLimit, offset, max, times);
  }

 private:
  char name_[32] = "/tmp/muster-log-XXXXXX";

 protected:
  const std::string dir_;
};

TEST_F(LogTimes, EachLineHasTheTimeAtWhichItBegan) {
  LogWriter log(dir_, kLimit);
  log.Write("one\ntw", kBegin);
  log.Write("o\nthree\n", kBegin + kSecond);
  log.Write("\nlast", kBegin + 90 * kSecond + 5000);
  EXPECT_EQ(Read(0).data,
            "2026-01-01T00:00:00.000000Z one\n"
            "2026-01-01T00:00:00.000000Z two\n"
            "2026-01-01T00:00:01.000000Z three\n"
            "2026-01-01T00:01:30.005000Z \n"
            "2026-01-01T00:01:30.005000Z last");
  EXPECT_EQ(Read(0, 1 << 20, false).data, "one\ntwo\nthree\n\nlast");
}

TEST_F(LogTimes, PiecesInWhichALogIsReadMakeTheSameLines) {
  LogWriter log(dir_, kLimit);
  for (int i = 0; i < 100; ++i)
    log.Write("line " + std::to_string(i) + "\n", kBegin + i * kSecond);
  const LogPart whole = Read(0);
  std::string pieces;
  for (LogPart part = Read(0, 7); !part.data.empty(); part = Read(part.next_offset, 7))
    pieces += part.data;
  EXPECT_EQ(pieces, whole.data);
  EXPECT_EQ(whole.next_offset, whole.total);
}

TEST_F(LogTimes, TheyGoWithTheirSegments) {
  LogWriter log(dir_, kLimit);
  // 3,000 lines of 10 bytes; the last 7,000 to 8,000 bytes are kept.
  for (int i = 0; i < 3000; ++i) log.Write("123456789\n", kBegin + i * kSecond);
  const LogPart part = Read(-30);
  EXPECT_EQ(part.data,
            "2026-01-01T00:49:57.000000Z 123456789\n"
            "2026-01-01T00:49:58.000000Z 123456789\n"
            "2026-01-01T00:49:59.000000Z 123456789\n");
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_)) files += file.exists() ? 1 : 0;
  EXPECT_EQ(files, 2 * static_cast<std::size_t>(kLogSegments));
}

TEST_F(LogTimes, AnotherWriterGoesOn_AfterAClockThatWentBack_AndARecordCutShort) {
  {
    LogWriter log(dir_, kLimit);
    log.Write("before\n", kBegin + 100 * kSecond);
  }
  const std::string times = TimesPath(dir_ + "/0");
  const int fd = ::open(times.c_str(), O_WRONLY | O_APPEND);
  ASSERT_EQ(::write(fd, "\x85", 1), 1);
  ::close(fd);
  LogWriter log(dir_, kLimit);
  log.Write("after\n", kBegin);
  EXPECT_EQ(Read(0).data,
            "2026-01-01T00:01:40.000000Z before\n2026-01-01T00:00:00.000000Z after\n");
}

TEST_F(LogTimes, LinesOfAnOlderSupervisorHaveNone) {
  LogWriter log(dir_, kLimit);
  log.Write("old\n", kBegin);
  std::filesystem::remove(TimesPath(dir_ + "/0"));
  EXPECT_EQ(Read(0).data, "old\n");
}

TEST_F(LogTimes, AnAnswerIsBoundedWithItsTimes) {
  LogWriter log(dir_, kLimit);
  log.Write(std::string(500, '\n'), kBegin);
  const LogPart part = Read(0, 100);
  EXPECT_LT(part.data.size(), 200U);
  EXPECT_GT(part.next_offset, 0);
  EXPECT_LT(part.next_offset, 10);
}

}  // namespace
}  // namespace muster::local
