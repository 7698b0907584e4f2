#include "tests/bench/steady_sender.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Enough for answers of 160 ms at 200 a second before a submission waits for a connection.
constexpr int kConnections = 32;
constexpr std::size_t kBlock = 4096;
// The file is written once before, so that a write changes no metadata, as in PostgreSQL's log.
constexpr std::size_t kBlocks = 1024;

// A file that has no name any more and goes away with its descriptor.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& directory) {
    std::string name = directory + "/steady-XXXXXX";
    fd_ = mkstemp(name.data());
    if (fd_ < 0) return;
    unlink(name.c_str());
    for (std::size_t i = 0; i < kBlocks && ok_; ++i) ok_ = Put(i);
    ok_ = ok_ && fsync(fd_) == 0;
  }
  ~ScratchFile() {
    if (fd_ >= 0) close(fd_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  bool ok() const { return fd_ >= 0 && ok_; }
  bool Write(std::size_t i) { return Put(i % kBlocks) && fdatasync(fd_) == 0; }

 private:
  bool Put(std::size_t block) {
    return pwrite(fd_, block_.data(), kBlock, static_cast<off_t>(block * kBlock)) ==
           static_cast<ssize_t>(kBlock);
  }
  int fd_ = -1;
  bool ok_ = true;
  const std::string block_ = std::string(kBlock, 'x');
};

double MsSince(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

// Writes when it is due until it is told to stop; false if a write failed.
bool WriteSteadily(ScratchFile* file, double rate, const std::stop_token& stop,
                   std::vector<double>* taken) {
  const auto begun = Clock::now();
  for (std::size_t i = 0; !stop.stop_requested(); ++i) {
    std::this_thread::sleep_until(
        begun + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(static_cast<double>(i) / rate)));
    const auto at = Clock::now();
    if (!file->Write(i)) return false;
    taken->push_back(MsSince(at));
  }
  return true;
}

}  // namespace

Result<SteadyResult> SendSteadily(const SteadyOptions& options) {
  LoadOptions load;
  load.port = options.port;
  load.connections = kConnections;
  load.rate = options.rate;
  load.requests = static_cast<std::size_t>(options.rate * options.seconds);
  load.make = [&options](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = options.prefix + std::to_string(options.from + i);
    *path = "/v1/namespaces/bench/jobs";
    *body = JobManifest(*name);
  };
  SteadyResult result;
  bool written = true;
  LoadResult sent;
  if (options.disk.empty()) {
    sent = RunLoad(load);
  } else {
    ScratchFile file(options.disk);
    if (!file.ok()) return Internal("no file can be written in " + options.disk);
    std::jthread writer([&](const std::stop_token& stop) {
      written = WriteSteadily(&file, options.disk_rate, stop, &result.disk_ms);
    });
    sent = RunLoad(load);
    writer.request_stop();
    writer.join();
  }
  if (!written) return Internal("a write in " + options.disk + " failed");
  // What was never answered, because its connection broke or could not be made.
  const std::size_t unanswered = load.requests - sent.answered - sent.refused;
  result.refused = sent.refused + unanswered;
  result.first_refusal = sent.refused == 0 && unanswered > 0 ? "no answer" : sent.first_refusal;
  result.seconds = sent.seconds;
  for (const double one : sent.latencies) result.submit_ms.push_back(one * 1000);
  return result;
}

std::string SteadyJson(const SteadyResult& result) {
  return WriteJson(
      json::object{{"submitMs", json::array(result.submit_ms.begin(), result.submit_ms.end())},
                   {"diskMs", json::array(result.disk_ms.begin(), result.disk_ms.end())},
                   {"refused", result.refused},
                   {"firstRefusal", result.first_refusal},
                   {"seconds", result.seconds}});
}

}  // namespace muster::bench
