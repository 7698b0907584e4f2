// What may not be read or written for a while, and what somebody has removed or spoilt by hand: no
// end of a pod is forgotten, nothing runs twice, and nothing runs on unseen.
#include "backends/local/pod_directory.h"
#include "backends/local/pods/pod_builder.h"
#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;

class LocalDamage : public LocalPods {
 protected:
  void SetUp() override { Open(Options()); }
  // Starts a Job of one pod that waits for the file `go-on`, and waits until it runs.
  DispatchKey Run(const std::string& more = "\"backoffLimit\":0,") {
    const DispatchKey key = Key();
    const std::string script = "echo run >> " + Marker() + "; " + UntilExists(GoOn());
    EXPECT_TRUE(Ensure(*backend_, ShellJob(key, script, 1, more)).ok());
    sink_.Await(key, [](const Observation& seen) { return seen.phase == RemotePhase::kRunning; });
    Await([&] { return Runs() > 0; });
    return key;
  }
  std::string Marker() const { return directory_.path() + "/runs"; }
  std::string GoOn() const { return directory_.path() + "/go-on"; }
  std::string AttemptDir(const DispatchKey& key) const {
    return directory_.path() + "/state/alpha/" + key.job_uid.ToString() + "-1";
  }
  // Of the one pod.
  std::string PodDir(const DispatchKey& key) const {
    return fs::directory_iterator(AttemptDir(key) + "/pods")->path().string();
  }
  static void Await(const std::function<bool()>& met) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (!met() && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(met());
  }
  pid_t Supervisor(const DispatchKey& key) const {
    const std::string status = *local::ReadWholeFile(PodDir(key) + "/status.json");
    return std::stoi(status.substr(status.find("\"pid\":") + 6));
  }
  // Until the supervisor has no process of the pod any more.
  static void AwaitNoChild(pid_t supervisor) {
    Await([&] { return local::Descendants(supervisor).empty(); });
  }
  static void AwaitEndOf(pid_t process) {
    Await([&] { return ::kill(process, 0) != 0; });
  }
  // How often the pod's script has begun.
  int Runs() const {
    std::ifstream file(Marker());
    int runs = 0;
    for (std::string line; std::getline(file, line);) ++runs;
    return runs;
  }
  void Restart() {
    backend_.reset();
    Open(Options());
  }
};

// A process that has just been forked has no environment between setsid and the start of its
// program. Some of a hundred are found in that moment.
TEST_F(LocalDamage, WhatRemainsOfAPod_IsEndedAlsoIfItIsAboutToRunItsProgram) {
  const auto key = [](int round) { return "remains-" + std::to_string(round); };
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    const std::string dir = directory_.path() + "/" + key(round);
    fs::create_directory(dir);
    std::ofstream(dir + "/spec.json") << "{\"cgroupKey\":\"" << key(round) << "\"}";
    const std::string start =
        local::MarkerOf(key(round)) + " sh -c 'setsid sleep 60 >/dev/null 2>&1 &'";
    ASSERT_EQ(std::system(start.c_str()), 0);
    local::KillRemains(dir, {});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  int left = 0;
  for (int round = 0; round < kRounds; ++round)
    left += local::KillByEnvironment(local::MarkerOf(key(round)));
  EXPECT_EQ(left, 0);
}

// A directory of that name keeps status.json from being written, as a full disk would.
TEST_F(LocalDamage, AnEndThatTheDiskDoesNotTake_IsToldWhenItTakesIt) {
  const DispatchKey key = Run();
  const std::string obstacle = PodDir(key) + "/status.json.tmp";
  const pid_t supervisor = Supervisor(key);
  fs::create_directory(obstacle);
  directory_.Touch("go-on");
  AwaitNoChild(supervisor);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fs::remove(obstacle);
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(LocalDamage, AnEndOfTheAttemptThatTheDiskDoesNotTake_IsToldWholeWhenItTakesIt) {
  const DispatchKey key = Run();
  const std::string obstacle = AttemptDir(key) + "/attempt.json.tmp";
  const pid_t supervisor = Supervisor(key);
  fs::create_directory(obstacle);
  directory_.Touch("go-on");
  AwaitEndOf(supervisor);
  sink_.Await(key, [](const Observation& seen) { return seen.succeeded_pods == 1; });
  fs::remove(obstacle);
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(end.end_time.set()) << "an end was told that was not on disk";
}

// The first tries to start a supervisor fail for want of processes, say.
TEST_F(LocalDamage, ASupervisorThatCannotBeStartedForAMoment_IsTriedAgainAfterAPause) {
  const std::string program = directory_.path() + "/supervisor",
                    tries = directory_.path() + "/tries";
  std::ofstream(program) << "#!/bin/sh\necho >> " << tries << "\n[ -e " << GoOn()
                         << " ] || exit 1\nexec " MUSTER_SUPERVISOR " \"$@\"\n";
  fs::permissions(program, fs::perms::owner_all);
  LocalOptions options = Options();
  options.supervisor_path = program;
  backend_.reset();
  Open(options);
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "exit 0", 1, "\"backoffLimit\":0,")).ok());
  Await([&] { return fs::exists(tries); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  directory_.Touch("go-on");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(LocalDamage, TheLossOfASupervisorThatTheDiskDoesNotTake_IsToldWhenItTakesIt) {
  const DispatchKey key = Run();
  const std::string obstacle = PodDir(key) + "/status.json.tmp";
  const pid_t supervisor = Supervisor(key);
  fs::create_directory(obstacle);
  ::kill(supervisor, SIGKILL);
  AwaitEndOf(supervisor);
  // Orders make it look again as well; it must not depend on them.
  EXPECT_TRUE(List(*backend_, "alpha").ok());
  // The second try, after five seconds, fails too.
  std::this_thread::sleep_for(std::chrono::seconds(6));
  fs::remove(obstacle);
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_NE(end.message.find("the pod's supervisor was killed"), std::string::npos) << end.message;
  EXPECT_EQ(Runs(), 1);
}

TEST_F(LocalDamage, APodOfWhichNothingCanBeReadForAWhile_RunsOn) {
  const DispatchKey key = Run();
  const std::string alive = PodDir(key) + "/alive";
  const pid_t supervisor = Supervisor(key);
  fs::create_hard_link(alive, alive + ".away");
  fs::create_symlink("alive", alive + ".new");
  fs::rename(alive + ".new", alive);  // cannot be opened: it leads to itself
  EXPECT_TRUE(Ensure(*backend_, ShellJob(key, "true")).ok());  // makes it look again
  EXPECT_EQ(List(*backend_, "alpha")->front().active_pods, 1);
  EXPECT_EQ(::kill(supervisor, 0), 0);
  fs::rename(alive + ".away", alive);
  directory_.Touch("go-on");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Runs(), 1);
}

// The daemon died between the two halves of the request to stop.
TEST_F(LocalDamage, AStopWhoseSignalNeverCame_IsCarriedOutAfterARestart) {
  const DispatchKey key = Run();
  const std::string pod = PodDir(key);
  const pid_t supervisor = Supervisor(key);
  backend_->Stop();
  std::ofstream(pod + "/stop") << "0\n";
  Restart();
  AwaitEndOf(supervisor);
  EXPECT_NE(local::ReadWholeFile(pod + "/status.json")->find("stopped on request"),
            std::string::npos);
}

TEST_F(LocalDamage, APodWhoseDirectoryIsRemoved_IsEndedAndHasFailed) {
  const DispatchKey key = Run();
  const pid_t supervisor = Supervisor(key);
  std::error_code while_its_end_is_written;
  fs::remove_all(PodDir(key), while_its_end_is_written);
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  AwaitEndOf(supervisor);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(LocalDamage, APodWhoseRecordIsSpoilt_IsEndedAndItsAttemptIsLost) {
  const DispatchKey key = Run("\"backoffLimit\":6,");
  const pid_t supervisor = Supervisor(key);
  backend_->Stop();
  std::ofstream(PodDir(key) + "/pod.json").close();
  Restart();
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.reason, Reason::kLost);
  EXPECT_NE(end.message.find("/pod.json, is unreadable"), std::string::npos) << end.message;
  AwaitEndOf(supervisor);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(LocalDamage, APodWhoseStatusIsSpoilt_IsNotStartedAgain) {
  const DispatchKey key = Run();
  const pid_t supervisor = Supervisor(key);
  backend_->Stop();
  ::kill(supervisor, SIGKILL);
  AwaitEndOf(supervisor);
  std::ofstream(PodDir(key) + "/status.json").close();
  Restart();
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kFailed);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(LocalDamage, AnAttemptWhoseRecordIsSpoilt_IsGoneWithItsPods) {
  const DispatchKey key = Run();
  const pid_t supervisor = Supervisor(key);
  backend_->Stop();
  std::ofstream(AttemptDir(key) + "/attempt.json").close();
  Restart();
  EXPECT_TRUE(List(*backend_, "alpha")->empty());
  AwaitEndOf(supervisor);
}

}  // namespace
}  // namespace muster::testing
