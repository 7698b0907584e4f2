// Sends the jobs of a load at their arrival times. The caller's thread sleeps until the next
// arrival and queues a batch of all jobs that arrive at that instant (at most 250); four threads
// with a connection each send the batches, so that a slow answer does not delay the next arrivals.
#include "tests/bench/load_sender.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/http_client.h"
#include "tests/bench/load_world.h"

namespace muster::bench {
namespace {

constexpr std::size_t kConnections = 4;
constexpr std::size_t kJobsAtOnce = 250;

struct Batch {
  std::vector<Arrival> jobs;
};

class Sender {
 public:
  Sender(const ReferenceLoad& load, int port, double begin)
      : load_(load), port_(port), begin_(begin) {}

  void Push(Batch batch) {
    {
      std::lock_guard lock(mutex_);
      batches_.push_back(std::move(batch));
    }
    changed_.notify_one();
  }

  void End() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  // Runs on the thread of one connection until no batch is left.
  void Run() {
    HttpClient client(port_);
    for (Batch batch; Next(&batch);) {
      std::string body = "[";
      for (std::size_t i = 0; i < batch.jobs.size(); ++i)
        body += (i == 0 ? "" : ",") + JobManifest(load_, batch.jobs[i]);
      const auto answer = client.Call("POST", "/v1/namespaces/bench/jobs:batch", body + "]");
      const double now = SteadySeconds() - begin_;
      const Status taken = answer.ok() ? AllTaken(*answer) : Status(answer.error());
      std::lock_guard lock(mutex_);
      if (!taken.ok() && failed_.ok()) failed_ = taken;
      for (const Arrival& job : batch.jobs)
        result_.lateness.push_back(now - static_cast<double>(job.at_ms) / 1000);
    }
  }

  Result<SendResult> Take() {
    if (!failed_.ok()) return failed_.error();
    return std::move(result_);
  }

 private:
  // Jobs of a batch are refused within an answer of 200; such a job has a "detail".
  static Status AllTaken(const std::string& answer) {
    const auto problem = answer.find(R"("detail":)");
    if (problem == std::string::npos) return Done{};
    return Internal("a job was refused: " + answer.substr(problem, 300));
  }

  bool Next(Batch* out) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !batches_.empty(); });
    if (batches_.empty()) return false;
    *out = std::move(batches_.front());
    batches_.pop_front();
    return true;
  }

  const ReferenceLoad& load_;
  const int port_;
  const double begin_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  bool ended_ = false;
  Status failed_ = Done{};
  SendResult result_;
};

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<SendResult> SendLoad(const ReferenceLoad& load, int port, double begin) {
  const std::vector<Arrival> arrivals = ArrivalsOf(load);
  Sender sender(load, port, begin);
  std::vector<std::jthread> connections;
  for (std::size_t i = 0; i < kConnections; ++i) connections.emplace_back([&] { sender.Run(); });
  for (std::size_t at = 0; at < arrivals.size();) {
    const double due = begin + static_cast<double>(arrivals[at].at_ms) / 1000;
    const double wait = due - SteadySeconds();
    if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    Batch batch;
    const std::int64_t until = arrivals[at].at_ms;
    while (at < arrivals.size() && arrivals[at].at_ms == until && batch.jobs.size() < kJobsAtOnce)
      batch.jobs.push_back(arrivals[at++]);
    sender.Push(std::move(batch));
  }
  sender.End();
  connections.clear();
  return sender.Take();
}

}  // namespace muster::bench
