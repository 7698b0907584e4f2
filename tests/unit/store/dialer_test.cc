// Tries to connect that are not answered, and those that begin beside them.
#include "schedd/store/pg/dialer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "schedd/base/limits_dialer.h"

namespace muster::pg {
namespace {

using std::chrono::milliseconds;

// Long enough for whatever a test waits for; no test waits for its end.
constexpr milliseconds kLong{60'000};
constexpr milliseconds kShort{1};

// Counts the sessions that are closed.
class Counted {
 public:
  Counted(int number, std::atomic<int>& closed) : number_(number), closed_(&closed) {}
  ~Counted() { ++*closed_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
  std::atomic<int>* const closed_;
};

// A database whose tries are answered when the test says so.
class Database {
 public:
  using Session = std::unique_ptr<Counted>;

  // The tries are numbered as they begin.
  Result<Session> Open() {
    const int number = begun_++;
    auto& answer = answers_.at(static_cast<std::size_t>(number));
    if (!answer.get_future().get())
      return Unavailable("try " + std::to_string(number) + " is refused");
    return std::make_unique<Counted>(number, closed_);
  }
  void Answer(int number, bool accepts) {
    answers_.at(static_cast<std::size_t>(number)).set_value(accepts);
  }
  // Waits until `count` tries have begun.
  void AwaitBegun(int count) const {
    while (begun_ < count) std::this_thread::yield();
  }
  void AwaitClosed(int count) const {
    while (closed_ != count) std::this_thread::yield();
  }
  int begun() const { return begun_; }

 private:
  std::atomic<int> begun_{0};
  std::atomic<int> closed_{0};
  std::vector<std::promise<bool>> answers_{64};
};

class DialerTest : public ::testing::Test {
 protected:
  Database database_;
  Dialer<Database::Session> dialer_{[this] { return database_.Open(); }};
};

TEST_F(DialerTest, AServerThatAccepts_GivesTheSession) {
  database_.Answer(0, true);
  const auto session = dialer_.Dial(kLong);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->number(), 0);
}

TEST_F(DialerTest, AServerThatRefuses_IsToldAtOnceWithItsReason) {
  database_.Answer(0, false);
  const auto session = dialer_.Dial(kLong);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().detail, "try 0 is refused");
}

TEST_F(DialerTest, ATryWithoutAnAnswer_KeepsNoLaterOneFromTheSession) {
  const auto silent = dialer_.Dial(kShort);
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().code, Code::kUnavailable);
  database_.AwaitBegun(1);
  database_.Answer(1, true);
  const auto session = dialer_.Dial(kLong);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->number(), 1);
  database_.Answer(0, false);
}

TEST_F(DialerTest, AnEarlierTryThatIsAnsweredLate_GivesTheSession) {
  ASSERT_FALSE(dialer_.Dial(kShort).ok());
  database_.AwaitBegun(1);
  database_.Answer(0, true);
  const auto session = dialer_.Dial(kLong);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->number(), 0);
  // It may have begun a try of its own.
  database_.Answer(1, false);
}

TEST_F(DialerTest, ASlowerTry_IsClosedOnceThereIsASession) {
  ASSERT_FALSE(dialer_.Dial(kShort).ok());
  database_.AwaitBegun(1);
  database_.Answer(1, true);
  const auto session = dialer_.Dial(kLong);
  ASSERT_TRUE(session.ok());
  database_.Answer(0, true);
  database_.AwaitClosed(1);
  // It was not kept for the next call either.
  database_.Answer(2, true);
  const auto next = dialer_.Dial(kLong);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)->number(), 2);
}

TEST_F(DialerTest, TriesWithoutAnAnswer_AreBounded) {
  const int most = static_cast<int>(limits::kDials);
  for (int i = 0; i < most + 5; ++i) EXPECT_FALSE(dialer_.Dial(kShort).ok());
  database_.AwaitBegun(most);
  EXPECT_EQ(database_.begun(), most);
  database_.Answer(0, false);
  // The place of a try that has ended is free.
  while (database_.begun() == most) EXPECT_FALSE(dialer_.Dial(kShort).ok());
  database_.AwaitBegun(most + 1);
  for (int i = 1; i <= most; ++i) database_.Answer(i, false);
}

}  // namespace
}  // namespace muster::pg
