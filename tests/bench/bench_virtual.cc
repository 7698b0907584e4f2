// Benchmark: Kueue's loads on the virtual clock, which measures decisions alone.
#include "schedd/simulate/simulator.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/cpu_timer.h"
#include "tests/bench/load_scenario.h"

namespace muster::bench {

Result<std::vector<Figure>> BenchVirtual(const BenchOptions& options) {
  const ReferenceLoad* load = FindReferenceLoad(options.virtual_load);
  if (load == nullptr)
    return InvalidArgument("--virtual is baseline, large-scale or tas, not " +
                           options.virtual_load);
  const simulate::Scenario scenario = ScenarioOf(*load);
  const QuotaBound bound = BoundOf(*load);
  std::vector<double> rates, whole;
  simulate::RunOutcome outcome;
  for (int i = 0; i < options.runs; ++i) {
    CpuTimer timer;
    simulate::RunOptions run;
    run.start = kScenarioStart;
    run.timer = &timer;
    const double begun = ThreadCpuSeconds();
    outcome = simulate::Run(scenario, run, nullptr);
    whole.push_back(ThreadCpuSeconds() - begun);
    if (!outcome.waiting.empty() || !outcome.holding.empty())
      return Internal(std::to_string(outcome.waiting.size()) + " jobs wait at the end");
    rates.push_back(static_cast<double>(outcome.admissions) / timer.seconds());
  }
  const double makespan =
      static_cast<double>(outcome.last.us - kScenarioStart.us) / kMicrosPerSecond;
  const double bar = load->racks > 0 ? 5000 : 50'000;
  return std::vector<Figure>{
      {load->name + ": admissions per second of CPU", Median(rates), "/s", bar, false,
       "Decide and PendingQueues"},
      {"CPU of the whole run, the simulator's too", Median(whole), "s", 0, false, ""},
      {"admissions", static_cast<double>(outcome.admissions), "", 0, false,
       "of " + std::to_string(scenario.jobs.size()) + " jobs"},
      {"preemptions", static_cast<double>(outcome.preemptions), "", 0, false, ""},
      {"calls of Decide", static_cast<double>(outcome.cycles), "", 0, false, ""},
      {"heads looked at", static_cast<double>(outcome.heads), "", 0, false, ""},
      {"finished after, on the virtual clock", makespan, "s", 0, false,
       "quota bound " + std::to_string(bound.seconds) + " s"},
  };
}

}  // namespace muster::bench
