// Worlds run in processes of their own, because a CHECK of the product ends its process: that is a
// find like any other, and the next seed goes on. What a process has found out stands in memory
// that it shares with the one that started it.
#include "tests/sim/programs.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <vector>

#include "tests/sim/faults.h"
#include "tests/sim/planted.h"
#include "tests/sim/themes.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

/// Of one process.
struct Tally {
  std::uint64_t seed = 0;  // that is running
  std::uint64_t done = 0, failed = 0, checks = 0, lines = 0, daemons = 0;
  std::uint64_t twice = 0, different = 0;  // runs of the same seed
  std::uint64_t healed = 0, late = 0;      // worlds compared with themselves without faults
  double slowest = 0;                      // of them: healing time by makespan
  std::uint64_t open_ends = 0, evictions = 0;
  double told = 0;  // the longest time until all ends were told, in resyncs
};

constexpr int kChecked = 3;  // exit code after a CHECK

std::uint64_t seed_now = 0;
const Theme* theme_now = nullptr;

unsigned long long Wide(std::uint64_t number) { return number; }

// The seed must not be lost with the process.
void OnAbort(int) {
  char line[64];
  const int length = std::snprintf(line, sizeof line, "seed %llu: CHECK\n", Wide(seed_now));
  (void)!write(1, line, static_cast<std::size_t>(length));
  _exit(kChecked);
}

Tally* SharedTallies(std::size_t count) {
  void* const memory = mmap(nullptr, count * sizeof(Tally), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Tally*>(memory);
}

void Say(std::uint64_t seed, const std::string& what) {
  std::printf("seed %llu: %s\n", Wide(seed), what.c_str());
  std::fflush(stdout);
}

// R33: what is left when faults stop takes at most twice the time that the whole world takes
// without faults.
void Compare(const Verdict& verdict, const SwarmOptions& options, Tally* tally) {
  const Verdict calm = RunSeed(verdict.seed, WithoutFaults(options));
  if (!calm.broken.empty()) {
    ++tally->failed;
    return Say(verdict.seed, "without faults: " + calm.broken);
  }
  const double ratio = static_cast<double>(verdict.healing_ms) /
                       static_cast<double>(std::max<std::int64_t>(calm.makespan_ms, 1));
  ++tally->healed;
  tally->slowest = std::max(tally->slowest, ratio);
  if (ratio <= 2) return;
  ++tally->late;
  Say(verdict.seed, "R33: healing takes " + std::to_string(verdict.healing_ms) +
                        " ms; without faults all of it takes " + std::to_string(calm.makespan_ms) +
                        " ms");
}

void RunOne(std::uint64_t seed, Tally* tally) {
  seed_now = tally->seed = seed;
  const SwarmOptions options = ThemedSwarm(theme_now, seed);
  const Verdict verdict = RunSeed(seed, options);
  ++tally->done;
  tally->open_ends += verdict.open_ends;
  tally->evictions += verdict.evictions;
  tally->told = std::max(tally->told, static_cast<double>(verdict.told_ms) /
                                          static_cast<double>(options.reconcile_every_ms));
  tally->checks += verdict.checks;
  tally->lines += verdict.lines;
  tally->daemons += static_cast<std::uint64_t>(verdict.daemons);
  if (!verdict.broken.empty()) {
    ++tally->failed;
    return Say(seed, verdict.broken);
  }
  if (seed % 100 == 0) {
    ++tally->twice;
    if (RunSeed(seed, options).hash != verdict.hash) {
      ++tally->different;
      Say(seed, "I12: the second run differs");
    }
  }
  if (seed % 10 == 0 && options.AnyFault()) Compare(verdict, options, tally);
}

// Runs the seeds of one process, from `from` on; a new one takes over after a CHECK.
void RunShare(const Range& range, std::uint64_t share, std::uint64_t from, Tally* tally) {
  std::signal(SIGABRT, OnAbort);
  for (std::uint64_t seed = from; seed < range.first + range.count; seed += range.jobs)
    RunOne(seed, tally);
  (void)share;
  _exit(0);
}

Tally RunAll(const Range& range) {
  Tally* const tallies = SharedTallies(range.jobs);
  if (tallies == nullptr) return Tally{.failed = 1};
  std::map<pid_t, std::uint64_t> shares;
  const auto start = [&](std::uint64_t share, std::uint64_t from) {
    const pid_t pid = fork();
    if (pid == 0) RunShare(range, share, from, &tallies[share]);
    if (pid > 0) shares[pid] = share;
  };
  for (std::uint64_t share = 0; share < range.jobs; ++share) start(share, range.first + share);
  int status = 0;
  for (pid_t pid = wait(&status); pid > 0; pid = wait(&status)) {
    const std::uint64_t share = shares[pid];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++tallies[share].failed;
    ++tallies[share].done;
    start(share, tallies[share].seed + range.jobs);
  }
  Tally sum;
  for (std::uint64_t i = 0; i < range.jobs; ++i) {
    const Tally& one = tallies[i];
    sum.done += one.done, sum.failed += one.failed, sum.checks += one.checks;
    sum.lines += one.lines, sum.daemons += one.daemons, sum.twice += one.twice;
    sum.different += one.different, sum.healed += one.healed, sum.late += one.late;
    sum.slowest = std::max(sum.slowest, one.slowest);
    sum.open_ends += one.open_ends, sum.evictions += one.evictions;
    sum.told = std::max(sum.told, one.told);
  }
  return sum;
}

// The first seed that catches the bug; 0: none does. In a process of its own.
std::uint64_t FirstCatch(const Range& range, const char* bug, Tally* tally) {
  SetPlanted(bug);
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    seed_now = tally->seed = seed;
    const Verdict verdict = RunSeed(seed, SwarmOf(seed));
    if (verdict.broken.empty()) continue;
    std::printf("%-30s seed %4llu: %s\n", bug, Wide(seed), verdict.broken.c_str());
    std::fflush(stdout);
    return seed;
  }
  std::printf("%-30s NOT CAUGHT in %llu seeds\n", bug, Wide(range.count));
  std::fflush(stdout);
  return 0;
}

}  // namespace

int Swarm(const Range& range) {
  const Tally sum = RunAll(range);
  std::printf("%llu worlds, %llu daemons, %llu lines of trace, %llu checks of invariants\n",
              Wide(sum.done), Wide(sum.daemons), Wide(sum.lines), Wide(sum.checks));
  std::printf("R08 figure=%llu of %llu seeds differ when run again bar=0\n", Wide(sum.different),
              Wide(sum.twice));
  std::printf(
      "R33 figure=%llu of %llu worlds heal late, the slowest in %.2f of its time without "
      "faults bar=0 above 2.00\n",
      Wide(sum.late), Wide(sum.healed), sum.slowest);
  std::printf("R07 figure=%llu violations in %llu seeds bar=0\n", Wide(sum.failed), Wide(sum.done));
  return sum.failed + sum.different + sum.late == 0 && sum.done == range.count ? 0 : 1;
}

int Themed(const Range& range, const std::string& id) {
  theme_now = ThemeOf(id);
  if (theme_now == nullptr) {
    std::fprintf(stderr, "there is no theme %s\n", id.c_str());
    return 2;
  }
  const Tally sum = RunAll(range);
  std::printf("%llu worlds, %llu daemons, %llu evictions, %llu checks of invariants\n",
              Wide(sum.done), Wide(sum.daemons), Wide(sum.evictions), Wide(sum.checks));
  std::printf(
      "%s figure=%llu violations in %llu seeds; %llu ends were untold when faults stopped, told "
      "within %.2f resyncs bar=%s\n",
      theme_now->id, Wide(sum.failed), Wide(sum.done), Wide(sum.open_ends), sum.told,
      theme_now->bar);
  return sum.failed + sum.different + sum.late == 0 && sum.told <= 2 && sum.done == range.count ? 0
                                                                                                : 1;
}

int Replay(std::uint64_t seed, const std::string& theme, const std::string& bug,
           std::uint64_t until_ms) {
  const SwarmOptions options = ThemedSwarm(ThemeOf(theme), seed);
  Say(seed, ToText(options));
  seed_now = seed;
  std::signal(SIGABRT, OnAbort);
  SetPlanted(bug.c_str());
  const std::int64_t until_ns =
      until_ms == 0 ? INT64_MAX : kSecond + static_cast<std::int64_t>(until_ms) * kMs;
  bool stopped = false;
  const Verdict verdict = RunSeed(seed, options, [&](std::int64_t at_ns, const std::string& line) {
    if (at_ns >= until_ns && !std::exchange(stopped, true)) throw Violation{"stopped by --until"};
    std::printf("%12.6f %s\n", static_cast<double>(at_ns - kSecond) / 1e9, line.c_str());
    std::fflush(stdout);
  });
  Say(seed, verdict.broken.empty() ? "sound" : verdict.broken);
  return verdict.broken.empty() ? 0 : 1;
}

int Planted(const Range& range, const std::string& bug) {
  std::vector<const char*> left;
  for (const PlantedBug& one : kPlantedBugs) {
    if (bug.empty() || bug == one.name) left.push_back(one.name);
  }
  Tally* const tallies = SharedTallies(left.size());
  std::uint64_t caught = 0, slowest = 0;
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0;
  while (next < left.size() || !running.empty()) {
    while (next < left.size() && running.size() < range.jobs) {
      const pid_t pid = fork();
      if (pid == 0) {
        std::signal(SIGABRT, [](int) { _exit(kChecked); });
        _exit(FirstCatch(range, left[next], &tallies[next]) == 0 ? 1 : 0);
      }
      running[pid] = next++;
    }
    int status = 0;
    const std::size_t at = running.extract(wait(&status)).mapped();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == kChecked) {
      std::printf("%-30s seed %4llu: CHECK\n", left[at], Wide(tallies[at].seed));
      std::fflush(stdout);
    }
    if (code != 0 && code != kChecked) continue;
    ++caught;
    slowest = std::max(slowest, tallies[at].seed);
  }
  std::printf(
      "R09 figure=%llu of %llu planted bugs caught, the last within %llu seeds bar=all of "
      "at least 25 within 2000\n",
      Wide(caught), Wide(left.size()), Wide(slowest));
  return caught == left.size() ? 0 : 1;
}

int Hashes(const Range& range) {
  DropFaultPoints();
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    const Verdict verdict = RunSeed(seed, SwarmOf(seed));
    std::printf("%llu %016llx %llu\n", Wide(seed), Wide(verdict.hash), Wide(verdict.lines));
  }
  return 0;
}

int Names() {
  for (const PlantedBug& one : kPlantedBugs) std::printf("%s\n", one.name);
  return 0;
}

}  // namespace muster::sim
