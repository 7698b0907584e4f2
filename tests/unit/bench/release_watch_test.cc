// ReleaseWatch over a member that ends watches, forgets versions and breaks connections.
#include "tests/bench/release_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/fake_member/fake_member.h"

namespace muster::bench {
namespace {

using fake::FakeMember;
using fake::Fault;
using fake::FaultKind;

constexpr std::chrono::seconds kPatience{60};
constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";

class ReleaseWatchTest : public ::testing::Test {
 protected:
  ReleaseWatchTest() {
    std::string pattern = ::testing::TempDir() + "/release-watch-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    std::ofstream(dir_ + "/kubeconfig") << member_.Kubeconfig();
    target_ = *LoadTarget(dir_ + "/kubeconfig");
  }
  ~ReleaseWatchTest() override { std::filesystem::remove_all(dir_); }

  // Creates a suspended Job, releases it and ends it.
  void Make(const std::string& name) {
    const std::string manifest =
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
        R"("},"spec":{"suspend":true,"template":{"metadata":{"annotations":{"bed.test/run":"0s"}},)"
        R"("spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
    ASSERT_EQ(member_.Call("POST", kJobs, manifest).status, 201);
    ASSERT_EQ(member_
                  .Call("PATCH", std::string(kJobs) + "/" + name, R"({"spec":{"suspend":false}})",
                        "application/merge-patch+json")
                  .status,
              200);
  }
  static bool Within(const std::function<bool()>& met) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!met() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return met();
  }

  FakeMember member_;
  std::string dir_;
  MemberTarget target_;
};

TEST_F(ReleaseWatchTest, NothingIsMissed_WhateverBecomesOfTheWatch) {
  const Fault faults[] = {
      {.kind = FaultKind::kClose, .verb = "watch", .path = "/jobs", .times = -1, .events = 3},
      {.kind = FaultKind::kGone, .verb = "watch", .path = "/jobs", .times = 5, .events = 2},
      {.kind = FaultKind::kDrop, .verb = "watch", .path = "/jobs", .times = 3},
      {.kind = FaultKind::kAnswer,
       .verb = "watch",
       .path = "/jobs",
       .times = 3,
       .status = 500,
       .reason = "InternalError",
       .message = "laid"},
  };
  int turn = 0;
  for (const Fault& fault : faults) {
    const std::string prefix = "turn" + std::to_string(turn++) + "-";
    const int laid = member_.Inject(fault);
    ReleaseWatch watch(target_, "default", prefix);
    for (int i = 0; i < 20; ++i) {
      Make(prefix + std::to_string(i));
      if (i == 10) member_.CloseWatches();
      if (i == 15) member_.BreakConnections();
    }
    EXPECT_TRUE(Within([&] { return watch.released() == 20 && watch.ended() == 20; }))
        << "turn " << turn << ": " << watch.released() << " released, " << watch.ended()
        << " ended";
    // A list may have told all of it, and the watch behind it be still to come.
    EXPECT_TRUE(Within([&] { return member_.Struck(laid) > 0; })) << "turn " << turn;
    member_.ClearFaults();
  }
}

TEST_F(ReleaseWatchTest, ItEnds_ThoughItsMemberDoesNotAnswer) {
  ReleaseWatch watch(target_, "default", "x-");
  member_.Pause();
  member_.BreakConnections();
}

TEST_F(ReleaseWatchTest, WhatWasThereBefore_IsNotCounted) {
  Make("x-before");
  const auto over = [&] {
    const auto answer = member_.Call("GET", std::string(kJobs) + "/x-before");
    return answer.body.find("\"Complete\"") != std::string::npos;
  };
  ASSERT_TRUE(Within(over));
  ReleaseWatch watch(target_, "default", "x-");
  Make("x-after");
  EXPECT_TRUE(Within([&] { return watch.ended() == 1; }));
  EXPECT_EQ(watch.jobs().count("x-before"), 0u);
}

}  // namespace
}  // namespace muster::bench
