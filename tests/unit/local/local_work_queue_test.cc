// Several pods that end before the backend has heard of any of them.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

// Holds the backend's only thread in the first report that the attempt runs, until Release.
class HoldingSink final : public ObservationSink {
 public:
  explicit HoldingSink(ObservationSink& next) : next_(next) {}
  void OnObservation(Observation seen) override {
    const bool runs = seen.phase == RemotePhase::kRunning;
    next_.OnObservation(std::move(seen));
    if (runs) released_.wait();
  }
  void OnFacts(ClusterFacts facts) override { next_.OnFacts(std::move(facts)); }
  void OnGap(const std::string& cluster) override { next_.OnGap(cluster); }
  void Release() { release_.set_value(); }

 private:
  ObservationSink& next_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

class LocalWorkQueue : public LocalPods {
 protected:
  // Pods of this test whose record says that they have succeeded.
  int SucceededOnDisk() const {
    int succeeded = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      if (entry.path().filename() != "status.json") continue;
      const Result<std::string> text = local::ReadWholeFile(entry.path());
      if (text.ok() && text->find(R"("phase":"Succeeded")") != std::string::npos) ++succeeded;
    }
    return succeeded;
  }
  // Outlives the backend, which TearDown stops.
  HoldingSink holding_{sink_};
};

// The pods of a work queue end together when the queue is empty. The backend reads of the first one
// before it has heard of the others.
TEST_F(LocalWorkQueue, WhosePodsSucceedAtOnce_Succeeds) {
  Result<std::unique_ptr<Backend>> made = MakeLocalBackend(Options());
  ASSERT_TRUE(made.ok()) << made.error().detail;
  backend_ = std::move(made).value();
  backend_->Start(holding_);
  const std::string gate = directory_.path() + "/gate";
  const DispatchKey key = Key();
  DispatchOrder order = ShellJob(key, "while [ ! -e " + gate + " ]; do sleep 0.01; done", 1,
                                 R"("parallelism":3,)");
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  sink_.AwaitPhase(key, RemotePhase::kRunning);
  std::ofstream(gate).close();
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (SucceededOnDisk() < 3 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(SucceededOnDisk(), 3);
  holding_.Release();
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

}  // namespace
}  // namespace muster::testing
