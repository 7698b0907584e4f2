// ClientWorld: clients whose time moves only when the test says so, and ways to wait for what they
// do.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "backends/k8s/client/api_client.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/k8s_client/test_server.h"

namespace muster::k8s::test {

using muster::test::FakeClock;
using muster::test::ManualTimers;
using muster::test::SeededRandom;

inline constexpr auto kPatience = std::chrono::seconds(60);

/// A directory of its own, removed with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-k8s-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  /// By a rename, as those who rotate files do.
  std::string Write(const std::string& name, const std::string& content) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file + ".new") << content;
    std::filesystem::rename(file + ".new", file);
    return file;
  }

 private:
  std::string path_;
};

/// The access to a test's server, without credentials.
inline MemberAccess AccessTo(const TestServer& server) {
  MemberAccess access;
  access.tls = server.url().starts_with("https");
  access.host = "127.0.0.1";
  access.port = std::to_string(server.port());
  return access;
}

class ClientWorld {
 public:
  ClientWorld() : timers(clock), random(7), io(1), environment{clock, timers, random, io} {}

  std::unique_ptr<ApiClient> Client(MemberAccess access, ApiClientOptions options = {}) {
    if (options.member.empty()) options.member = "east";
    return MakeApiClient(environment, std::move(access), std::move(options));
  }
  void Advance(std::int64_t ms) {
    clock.Advance(ms);
    timers.FireDue();
  }
  /// Moves time in steps until `reached`.
  bool AdvanceUntil(const std::function<bool()>& reached, std::int64_t step_ms = 100) {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (!reached()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      Advance(step_ms);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  FakeClock clock;
  ManualTimers timers;
  SeededRandom random;
  IoThreads io;
  ClientEnvironment environment;
};

/// Waits, while the world's time stands still.
inline bool Eventually(const std::function<bool()>& reached) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!reached()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// An answer that has come, or will.
class Answer {
 public:
  Answer(ApiClient& client, ApiRequest request)
      : promise_(std::make_shared<std::promise<Result<ApiResponse>>>()),
        future_(promise_->get_future().share()) {
    client.Send(std::move(request), [promise = promise_](Result<ApiResponse> result) {
      promise->set_value(std::move(result));
    });
  }
  bool here() const {
    return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  Result<ApiResponse> Get() const {
    if (future_.wait_for(kPatience) != std::future_status::ready) return Internal("no answer came");
    return future_.get();
  }
  int Status() const {
    const auto result = Get();
    return result ? result->status : -static_cast<int>(result.error().code);
  }
  Code GetCode() const {
    const auto result = Get();
    return result ? Code::kOk : result.error().code;
  }
  std::string Sentence() const {
    const auto result = Get();
    return result ? "" : result.error().detail;
  }

 private:
  std::shared_ptr<std::promise<Result<ApiResponse>>> promise_;
  std::shared_future<Result<ApiResponse>> future_;
};

inline ApiRequest Get(const std::string& target, Urgency urgency = Urgency::kRead) {
  ApiRequest out;
  out.target = target;
  out.urgency = urgency;
  return out;
}

inline ApiRequest Post(const std::string& target, const std::string& body = "{}") {
  ApiRequest out{"POST", target, "application/json", body};
  out.urgency = Urgency::kCreate;
  return out;
}

}  // namespace muster::k8s::test
