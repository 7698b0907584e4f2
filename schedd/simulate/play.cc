#include "schedd/simulate/play.h"

#include "schedd/simulate/edits.h"

namespace muster::simulate {

PlayResult Play(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink) {
  SummaryBuilder builder(scenario, options.start);
  PlayResult played;
  played.outcome = Run(scenario, options, [&](const Decision& decision) {
    builder.Note(decision);
    if (sink) sink(decision);
  });
  played.summary = builder.Finish(played.outcome);
  return played;
}

Result<Scenario> Edited(Scenario scenario, const std::vector<std::string>& edits) {
  for (const std::string& edit : edits) {
    const Status done = ApplyEdit(edit, &scenario);
    if (!done.ok()) return done.error();
  }
  return scenario;
}

}  // namespace muster::simulate
