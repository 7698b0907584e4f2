// Real pods on a local member: a backend of its own in a temporary directory for each test.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/local/local_backend.h"
#include "backends/local/process/files.h"
#include "backends/local/process/process_tree.h"
#include "schedd/base/limits.h"
#include "tests/contract/backend/backend_fixture.h"

namespace muster::testing {

class LocalPods : public ::testing::Test {
 protected:
  LocalOptions Options() {
    LocalOptions options;
    options.state_dir = directory_.path() + "/state";
    options.supervisor_path = MUSTER_SUPERVISOR;
    options.clusters = {{"alpha", {}, {}}};
    options.clock = &clock_;
    options.timers = &timers_;
    options.random = &random_;
    options.pod_backoff_ms = 10;
    return options;
  }
  void Open(const LocalOptions& options) {
    Result<std::unique_ptr<Backend>> made = MakeLocalBackend(options);
    ASSERT_TRUE(made.ok()) << made.error().detail;
    backend_ = std::move(made).value();
    backend_->Start(sink_);
  }
  void TearDown() override {
    if (backend_ == nullptr) return;
    RemovePolicy at_once;
    at_once.grace_period_s = 0;
    for (const DispatchKey& key : keys_) EXPECT_TRUE(Remove(*backend_, key, at_once).ok());
    backend_->Stop();
    EXPECT_EQ(AwaitNoSupervisor(), "");
  }
  /// The command line of a supervisor of this test that has no pod any more; "" if there is none.
  std::string AwaitNoSupervisor() const {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      std::string left;
      for (const local::ProcessInfo& process : local::AllProcesses()) {
        const Result<std::string> line =
            local::ReadWholeFile("/proc/" + std::to_string(process.pid) + "/cmdline");
        if (line.ok() && line->find(directory_.path()) != std::string::npos) left = *line;
      }
      if (left.empty() || std::chrono::steady_clock::now() > give_up) return left;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  DispatchKey Key() {
    keys_.push_back(NewKey("alpha"));
    return keys_.back();
  }
  /// Runs a Job with this spec, which submitter_ has submitted, to its end.
  Observation RunJob(const std::string& job_spec, std::vector<ManifestText> dependents = {}) {
    const DispatchKey key = Key();
    DispatchOrder order =
        OrderOf(key, "batch/v1", "Job", "j",
                R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{)" +
                    job_spec + "}}");
    order.dependents = std::move(dependents);
    order.account = submitter_;
    const Result<RemoteRef> ref = Ensure(*backend_, order);
    if (ref.ok()) return sink_.AwaitEnd(key);
    // Refused at once, as the dispatcher reports it.
    EXPECT_EQ(ref.error().code, Code::kInvalidArgument) << ref.error().detail;
    Observation refused;
    refused.key = key;
    refused.phase = RemotePhase::kFailed;
    refused.message = ref.error().detail;
    return refused;
  }
  /// Runs a Job with this pod spec to its end.
  Observation RunPod(const std::string& pod_spec,
                     const std::string& job_spec = "\"backoffLimit\":0,") {
    return RunJob(job_spec + R"("template":{"spec":{"restartPolicy":"Never",)" + pod_spec + "}}");
  }
  std::string Log(const std::string& container = "", const std::string& pod = "") {
    LogQuery query;
    query.container = container;
    query.pod = pod;
    const Result<LogChunk> log = backend_->ReadLog(keys_.back(), query);
    return log.ok() ? log->data : "error: " + log.error().detail;
  }

  std::optional<std::uint32_t> submitter_ = ::geteuid();
  TemporaryDirectory directory_;
  TestClock clock_;
  TestTimers timers_;
  TestRandom random_;
  RecordingSink sink_;
  std::unique_ptr<Backend> backend_;
  std::vector<DispatchKey> keys_;
};

}  // namespace muster::testing
