// muster-sim: runs simulated worlds.
//
//   muster-sim swarm [--first N] [--count N] [--jobs N]
//   muster-sim replay --seed N [--bug NAME]
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "schedd/telemetry/log.h"
#include "tests/sim/faults.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

std::uint64_t seed_now = 0;

// A CHECK of the product has aborted: the seed must not be lost.
void OnAbort(int) {
  char line[64];
  const int length = std::snprintf(line, sizeof line, "seed %llu: CHECK\n",
                                   static_cast<unsigned long long>(seed_now));
  (void)!write(2, line, static_cast<std::size_t>(length));
  _exit(3);
}

void PrintLine(std::int64_t at_ns, const std::string& line) {
  std::printf("%12.6f %s\n", static_cast<double>(at_ns - kSecond) / 1e9, line.c_str());
}

int Replay(std::uint64_t seed) {
  const SwarmOptions options = SwarmOf(seed);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), ToText(options).c_str());
  seed_now = seed;
  const Verdict verdict = RunSeed(seed, options, PrintLine);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
              verdict.broken.empty() ? "sound" : verdict.broken.c_str());
  return verdict.broken.empty() ? 0 : 1;
}

int Swarm(std::uint64_t first, std::uint64_t count) {
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    seed_now = seed;
    const Verdict verdict = RunSeed(seed, SwarmOf(seed));
    if (!verdict.broken.empty()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  verdict.broken.c_str());
      std::fflush(stdout);
      ++failed;
    }
  }
  std::printf("%d of %llu seeds failed\n", failed, static_cast<unsigned long long>(count));
  return failed == 0 ? 0 : 1;
}

std::uint64_t NumberOf(int argc, char** argv, const char* flag, std::uint64_t otherwise) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace

int Main(int argc, char** argv) {
  (void)InitLog(LogLevel::kError, "/dev/null");
  std::signal(SIGABRT, OnAbort);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "replay") return Replay(NumberOf(argc, argv, "--seed", 1));
  if (what == "swarm")
    return Swarm(NumberOf(argc, argv, "--first", 1), NumberOf(argc, argv, "--count", 2000));
  std::fprintf(stderr, "usage: muster-sim swarm|replay ...\n");
  return 2;
}

}  // namespace muster::sim

int main(int argc, char** argv) { return muster::sim::Main(argc, argv); }
