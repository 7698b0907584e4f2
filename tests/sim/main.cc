// muster-sim: runs simulated worlds (tests/sim/README.md).
//
//   muster-sim swarm [--first N] [--count N] [--jobs N]   every seed; figures last
//   muster-sim theme --id R16 [--first N] [--count N]     every seed of a theme (themes.cc)
//   muster-sim replay --seed N [--id R16] [--bug NAME] [--until MS]  the trace of one
//   muster-sim planted [--count N] [--jobs N]             every planted bug is caught within N
//   seeds muster-sim hashes [--first N] [--count N]             trace hashes without fault points
//   muster-sim names                                      the names of planted bugs
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "schedd/telemetry/log.h"
#include "tests/sim/programs.h"

namespace muster::sim {
namespace {

std::string TextOf(int argc, char** argv, const char* flag, const char* otherwise) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return argv[i + 1];
  }
  return otherwise;
}

std::uint64_t NumberOf(int argc, char** argv, const char* flag, const char* otherwise) {
  return std::strtoull(TextOf(argc, argv, flag, otherwise).c_str(), nullptr, 10);
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  // A replay shows what the product logs as errors, on stderr. The others fork, and a child of a
  // process with a thread that logs may find its lock taken for ever.
  if (what == "replay") (void)InitLog(LogLevel::kError, "");
  const Range range{NumberOf(argc, argv, "--first", "1"), NumberOf(argc, argv, "--count", "2000"),
                    NumberOf(argc, argv, "--jobs", "2")};
  if (what == "replay")
    return Replay(NumberOf(argc, argv, "--seed", "1"), TextOf(argc, argv, "--id", ""),
                  TextOf(argc, argv, "--bug", ""), NumberOf(argc, argv, "--until", "0"));
  if (what == "theme") return Themed(range, TextOf(argc, argv, "--id", ""));
  if (what == "swarm") return Swarm(range);
  if (what == "planted") return Planted(range, TextOf(argc, argv, "--bug", ""));
  if (what == "hashes") return Hashes(range);
  if (what == "names") return Names();
  std::fprintf(stderr,
               "usage: muster-sim swarm|theme|replay|planted|hashes|names [--first N] [--count N] "
               "[--jobs N] [--seed N] [--bug NAME]\n");
  return 2;
}

}  // namespace
}  // namespace muster::sim

int main(int argc, char** argv) { return muster::sim::Main(argc, argv); }
