// muster-bench: one subcommand for each benchmark. Each prints its figures, the machine, and the
// ceiling or bar.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "tests/bench/benchmarks.h"
#include "tests/bench/steady_sender.h"

using muster::Result;

namespace muster::bench {
namespace {

// A part of tests/bench/web_pages.py: it measures nothing by itself and starts no daemon.
void AddSend(CLI::App* app, SteadyOptions* options) {
  auto* sub = app->add_subcommand(
      "send", "submissions at a rate to a daemon that runs; latencies in ms as one line of JSON");
  sub->add_option("--port", options->port, "REST port of the daemon on this machine")
      ->required()
      ->check(CLI::Range(1, 65535));
  sub->add_option("--rate", options->rate, "submissions a second")->check(CLI::PositiveNumber);
  sub->add_option("--seconds", options->seconds, "how long")->check(CLI::PositiveNumber);
  sub->add_option("--prefix", options->prefix, "of the jobs' names in the LocalQueue bench/bench");
  sub->add_option("--from", options->from, "number of the first job");
  auto* disk = sub->add_option("--disk", options->disk,
                               "a directory: 4 KiB are written and flushed there meanwhile")
                   ->check(CLI::ExistingDirectory);
  sub->add_option("--disk-rate", options->disk_rate, "such writes a second")
      ->check(CLI::PositiveNumber)
      ->needs(disk);
}

int Send(const SteadyOptions& options) {
  const auto result = SendSteadily(options);
  if (!result.ok()) {
    std::fprintf(stderr, "muster-bench: %s\n", result.error().detail.c_str());
    return 1;
  }
  std::printf("%s\n", SteadyJson(*result).c_str());
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster::bench;
  CLI::App app{"Muster's figures beside their ceilings, measured in the same run", "muster-bench"};
  app.require_subcommand(1);
  BenchOptions options;
  options.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  bool json = false;
  Result<std::vector<Figure>> (*run)(const BenchOptions&) = nullptr;
  const auto add = [&](const char* name, const char* help,
                       Result<std::vector<Figure>> (*function)(const BenchOptions&)) {
    auto* sub = app.add_subcommand(name, help);
    sub->add_flag("--json", json, "print JSON");
    sub->add_option("--seconds", options.seconds, "length of each timed stretch")
        ->check(CLI::PositiveNumber);
    sub->add_option("--runs", options.runs, "repetitions; medians are printed")
        ->check(CLI::PositiveNumber);
    sub->add_option("--jobs", options.jobs, "size of the backlog")->check(CLI::PositiveNumber);
    sub->add_option("--big", options.big, "size of the deep queue, a multiple of 1000")
        ->check(CLI::PositiveNumber);
    sub->add_option("--kills", options.kills, "crashes of the recovery benchmark")
        ->check(CLI::PositiveNumber);
    if (std::string_view(name) == "schedule") {
      sub->add_option("--load", options.load, "a load of the reference instead, in real time")
          ->check(CLI::IsMember({"baseline", "large-scale", "tas"}));
      sub->add_option("--scale", options.scale, "share of the jobs of that load")
          ->check(CLI::Range(0.001, 1.0));
      auto* on_virtual = sub->add_option("--virtual", options.virtual_load,
                                         "the same on the virtual clock: what decisions cost")
                             ->check(CLI::IsMember({"baseline", "large-scale", "tas"}));
      auto* nothing = sub->add_flag("--nothing-fits", options.nothing_fits,
                                    "cycles over full queues; memory of a pending job");
      auto* victims =
          sub->add_flag("--victims", options.victims, "searches for victims among 10,000");
      on_virtual->excludes("--load")->excludes(nothing)->excludes(victims);
      nothing->excludes("--load")->excludes(victims);
      victims->excludes("--load");
    }
    if (std::string_view(name) == "dispatch") {
      auto* over = sub->add_option("--over", options.over, "one sort of members alone")
                       ->check(CLI::IsMember({"fake", "real"}));
      auto* live = sub->add_option("--live", options.live,
                                   "memory and restart with so many jobs on 20 fake members")
                       ->check(CLI::PositiveNumber)
                       ->excludes(over);
      auto* placement = sub->add_flag("--placement", options.placement,
                                      "choosing members: decisions, rates, spread")
                            ->excludes(over)
                            ->excludes(live);
      sub->add_option("--members", options.members, "simulated members of --placement's rates")
          ->check(CLI::Range(1, 500))
          ->needs(placement);
    }
    if (std::string_view(name) == "query")
      sub->add_flag("--memory", options.memory, "only the memory of each pending job (--big)");
    sub->callback([&run, function] { run = function; });
  };
  add("submit", "durable submission over REST, jobs:batch, sbatch", BenchSubmit);
  add("schedule", "a backlog released at once; submission meanwhile", BenchSchedule);
  add("query", "squeue and get over a deep queue; memory", BenchQuery);
  add("beside", "submission beside 1,000 queries a second", BenchBeside);
  add("recover", "kill -9 under load: lost, doubled, time to ready", BenchRecover);
  add("takeover", "kill -9 of a leader beside a standby: time to take over", BenchTakeover);
  add("dispatch", "admitted to released on members, beside a plain client", BenchDispatch);
  add("access", "one access decision with 10,000 bindings", BenchAccess);
  add("secure", "submission over TLS with tokens and 10,000 bindings, beside plain", BenchSecure);
  SteadyOptions steady;
  AddSend(&app, &steady);
  CLI11_PARSE(app, argc, argv);
  if (app.got_subcommand("send")) return Send(steady);
  auto figures = run(options);
  if (!figures.ok()) {
    std::fprintf(stderr, "muster-bench: %s\n", figures.error().detail.c_str());
    return 1;
  }
  Print(std::string("muster-bench ") + app.get_subcommands().front()->get_name(), *figures, json);
  return 0;
}
