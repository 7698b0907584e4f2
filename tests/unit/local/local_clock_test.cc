// Real pods on a local member while somebody sets the host's wall clock.
#include <atomic>

#include "schedd/base/steady_clock.h"
#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

constexpr std::int64_t kHourUs = 3600 * kMicrosPerSecond;

class LocalClock : public LocalPods {
 protected:
  class HostClock final : public Clock {
   public:
    Monotonic Now() const override { return real_.Now(); }
    WallTime WallNow() const override { return real_.WallNow().Plus(set_us.load()); }
    std::atomic<std::int64_t> set_us{0};

   private:
    TestClock real_;
  };

  void SetUp() override {
    LocalOptions options = Options();
    options.clock = &clock_;
    Open(options);
  }
  // The backend must end before its clock.
  void TearDown() override {
    LocalPods::TearDown();
    backend_.reset();
  }

  HostClock host_;
  SteadyClock clock_{host_};
};

// Each pod that ends makes the backend look at the time limit.
TEST_F(LocalClock, AStepForward_UsesUpNoTimeLimit) {
  const std::string go_on = directory_.path() + "/go-on";
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "echo ready; " + UntilExists(go_on), 1,
                                         R"("activeDeadlineSeconds":1800,"completions":3,)"))
                  .ok());
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  host_.set_us = kHourUs;
  directory_.Touch("go-on");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(LocalClock, AStepBack_EndsNoRecordBeforeItBegan) {
  const std::string go_on = directory_.path() + "/go-on";
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "echo ready; " + UntilExists(go_on))).ok());
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  host_.set_us = -kHourUs;
  directory_.Touch("go-on");
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_GE(end.end_time, end.start_time);
}

}  // namespace
}  // namespace muster::testing
