// Traces in the Standard Workload Format, and the jobs that are made of them.
#include "schedd/simulate/scenario.h"
#include "schedd/simulate/swf.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto trace = simulate::ParseSwf(fuzz::Text(data, size));
  if (!trace.ok()) return 0;
  simulate::Scenario scenario;
  simulate::SwfRules rules;
  rules.queue = "default/main";
  rules.memory = true;
  const auto counts = simulate::AddSwfJobs(*trace, rules, &scenario);
  if (counts.ok())
    fuzz::Require(counts->taken + counts->never_ran + counts->no_processors + counts->partial ==
                      trace->size(),
                  "every line is counted once");
  return 0;
}
