// What the tests of every backend share: a real clock and real timers, a sink that waits for
// observations, orders of small Jobs, and the factories of the backends under the contract.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/base/random.h"

namespace muster::testing {

/// How long a test waits for an expected event: far longer than a loaded machine needs.
inline constexpr std::chrono::seconds kPatience{60};

class TestClock final : public Clock {
 public:
  Monotonic Now() const override {
    return {std::chrono::steady_clock::now().time_since_epoch().count()};
  }
  WallTime WallNow() const override {
    return {std::chrono::duration_cast<std::chrono::microseconds>(
                std::chrono::system_clock::now().time_since_epoch())
                .count()};
  }
};

/// One thread; good enough for a test.
class TestTimers final : public TimerService {
 public:
  TestTimers() : thread_([this](std::stop_token stop) { Loop(stop); }) {}
  TimerId At(Monotonic when, std::function<void()> fire) override {
    std::lock_guard lock(mutex_);
    due_[next_] = {when, std::move(fire)};
    changed_.notify_all();
    return next_++;
  }
  void Cancel(TimerId id) override {
    std::lock_guard lock(mutex_);
    due_.erase(id);
  }

 private:
  void Loop(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_.wait_for(lock, stop, std::chrono::milliseconds(5), [] { return false; });
      for (auto it = due_.begin(); it != due_.end();) {
        if (it->second.first > TestClock().Now()) {
          ++it;
          continue;
        }
        auto fire = std::move(it->second.second);
        due_.erase(it);
        lock.unlock();
        fire();
        lock.lock();
        it = due_.begin();
      }
    }
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<TimerId, std::pair<Monotonic, std::function<void()>>> due_;
  TimerId next_ = 1;
  std::jthread thread_;
};

class TestRandom final : public Random {
 public:
  std::uint64_t Next() override {
    std::lock_guard lock(mutex_);
    return generator_();
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 generator_{std::random_device{}()};
};

/// Keeps every observation; Await blocks until an expected one has arrived.
class RecordingSink final : public ObservationSink {
 public:
  void OnObservation(Observation seen) override {
    std::lock_guard lock(mutex_);
    seen_.push_back(std::move(seen));
    changed_.notify_all();
  }
  void OnFacts(ClusterFacts facts) override {
    std::lock_guard lock(mutex_);
    facts_.push_back(std::move(facts));
    changed_.notify_all();
  }
  void OnGap(const std::string& cluster) override {
    std::lock_guard lock(mutex_);
    gaps_[cluster] += 1;
    changed_.notify_all();
  }

  /// The first observation of `key` that `wanted` accepts; fails the test after a minute.
  Observation Await(const DispatchKey& key, const std::function<bool(const Observation&)>& wanted) {
    std::unique_lock lock(mutex_);
    Observation found;
    const bool met = changed_.wait_for(lock, kPatience, [&] {
      for (const Observation& seen : seen_) {
        if (seen.key == key && wanted(seen)) {
          found = seen;
          return true;
        }
      }
      return false;
    });
    EXPECT_TRUE(met) << "the observation never came; last phase "
                     << (seen_.empty() ? -1 : static_cast<int>(seen_.back().phase))
                     << ", message: " << (seen_.empty() ? "" : seen_.back().message);
    return found;
  }
  Observation AwaitPhase(const DispatchKey& key, RemotePhase phase) {
    return Await(key, [phase](const Observation& seen) { return seen.phase == phase; });
  }
  Observation AwaitEnd(const DispatchKey& key) {
    return Await(key, [](const Observation& seen) {
      return seen.phase == RemotePhase::kSucceeded || seen.phase == RemotePhase::kFailed;
    });
  }
  /// Waits until a gap of this cluster was reported so many times; false after a minute.
  bool AwaitGaps(const std::string& cluster, int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return gaps_[cluster] >= times; });
  }
  /// The first facts that `wanted` accepts; fails the test after a minute.
  ClusterFacts AwaitFactsThat(const std::function<bool(const ClusterFacts&)>& wanted) {
    std::unique_lock lock(mutex_);
    const auto find = [&] { return std::find_if(facts_.begin(), facts_.end(), wanted); };
    const bool met = changed_.wait_for(lock, kPatience, [&] { return find() != facts_.end(); });
    EXPECT_TRUE(met) << "the facts never came";
    return met ? *find() : ClusterFacts{};
  }
  std::vector<Observation> Of(const DispatchKey& key) {
    std::lock_guard lock(mutex_);
    std::vector<Observation> all;
    for (const Observation& seen : seen_) {
      if (seen.key == key) all.push_back(seen);
    }
    return all;
  }
  /// The facts reported so far, once there are `count` of them or no more are expected.
  std::vector<ClusterFacts> AwaitFacts(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return facts_.size() >= count; });
    return facts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Observation> seen_;
  std::vector<ClusterFacts> facts_;
  std::map<std::string, int> gaps_;
};

/// Waits for the answer of a call with a callback.
template <class T>
Result<T> Wait(const std::function<void(Callback<T>)>& call) {
  auto answer = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> waiting = answer->get_future();
  call([answer](Result<T> result) { answer->set_value(std::move(result)); });
  if (waiting.wait_for(kPatience) != std::future_status::ready) {
    return Internal("no answer in a minute");
  }
  return waiting.get();
}

inline DispatchKey NewKey(const std::string& cluster) {
  TestRandom random;
  return {Uid::Make(random), 1, cluster};
}

inline DispatchOrder OrderOf(const DispatchKey& key, const std::string& api_version,
                             const std::string& kind, const std::string& name,
                             const std::string& json) {
  DispatchOrder order;
  order.key = key;
  order.job = {1};
  // Who runs the test submits the job.
  order.account = ::geteuid();
  order.object = {api_version, kind, "default", name, json};
  order.pod_sets = {{"main", 1, {}, {}}};
  return order;
}

/// The text inside a JSON string.
inline std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

/// A Job of one pod that runs `script` with /bin/sh. `more_spec`: members of its spec, each
/// followed by a comma; `marks`: members of the pod template's metadata.
inline DispatchOrder ShellJob(const DispatchKey& key, const std::string& script, int grace_s = 1,
                              const std::string& more_spec = "", const std::string& marks = "",
                              const std::string& name = "shell", const std::string& labels = "") {
  return OrderOf(key, "batch/v1", "Job", name,
                 R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
                     R"(","namespace":"default","labels":{)" + labels + R"(}},"spec":{)" +
                     more_spec + R"("backoffLimit":0,"template":{"metadata":{)" + marks +
                     R"(},"spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":)" +
                     std::to_string(grace_s) +
                     R"(,"containers":[{"name":"main","image":"sh","command":["/bin/sh","-c",")" +
                     Escaped(script) + R"("]}]}}}})");
}

inline Result<RemoteRef> Ensure(Backend& backend, DispatchOrder order, bool suspended = false) {
  order.suspended = suspended;
  return Wait<RemoteRef>([&](Callback<RemoteRef> done) { backend.Ensure(order, std::move(done)); });
}
inline Result<RemovalResult> Remove(Backend& backend, const DispatchKey& key,
                                    RemovePolicy policy = {}) {
  return Wait<RemovalResult>(
      [&](Callback<RemovalResult> done) { backend.Remove(key, policy, std::move(done)); });
}
inline Result<std::vector<Observation>> List(Backend& backend, const std::string& cluster) {
  return Wait<std::vector<Observation>>([&](auto done) { backend.List(cluster, std::move(done)); });
}

/// Waits until the log that `query` asks for begins with `text`: a container runs before its first
/// byte is written. False if it has not after 20 s.
inline bool AwaitLog(Backend& backend, const DispatchKey& key, const std::string& text,
                     const LogQuery& query = {}) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    const Result<LogChunk> log = backend.ReadLog(key, query);
    if (log.ok() && log->data.starts_with(text)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Waits until the member has no attempt; false if it still has one after a minute.
inline bool AwaitNothing(Backend& backend, const std::string& cluster) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    if (const auto listed = List(backend, cluster); listed.ok() && listed->empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Waits until exactly so many pods of the attempt run, and returns their sorted names; empty if
/// that has not happened after a minute.
inline std::vector<std::string> AwaitRunning(Backend& backend, const DispatchKey& key,
                                             std::size_t pods) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    std::vector<std::string> running;
    if (const auto all = backend.Pods(key); all.ok()) {
      for (const PodStatus& pod : *all) {
        if (pod.phase == "Running") running.push_back(pod.name);
      }
    }
    std::sort(running.begin(), running.end());
    if (running.size() == pods) return running;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

/// Shell words that wait until `path` exists, so that a test decides when a pod goes on.
inline std::string UntilExists(const std::string& path) {
  return "while [ ! -e " + path + " ]; do sleep 0.05; done";
}

/// A directory that is removed when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-local-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  /// Makes an empty file.
  std::string Touch(const std::string& name) const {
    const std::string file = path_ + "/" + name;
    std::ofstream made(file);
    return file;
  }

 private:
  std::string path_;
};

}  // namespace muster::testing
