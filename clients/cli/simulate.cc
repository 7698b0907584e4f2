// muster simulate: what the scheduler would do with jobs and queues from files, on a virtual clock
// and on this machine. No server is asked.
//
// The steps: read the flags, read the daemon's `admission:` settings if a file is named, read all
// documents into a scenario, add the jobs of a trace, apply the edits of --set, play the scenario
// (schedd/simulate) and print. With --compare the scenario is played twice, without and with the
// edits. Whatever cannot be read ends the command with an error before anything is played.
#include <cstdio>
#include <map>
#include <set>

#include "clients/cli/commands.h"
#include "clients/cli/documents.h"
#include "clients/cli/text_table.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/config/admission_config.h"
#include "schedd/simulate/play.h"
#include "schedd/simulate/report.h"
#include "schedd/simulate/scenario.h"
#include "schedd/simulate/swf.h"
#include "schedd/text/documents.h"
#include "schedd/text/duration.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

using client::Failure;
using client::LocalFailure;
using client::Outcome;

int BadUsage(const std::string& sentence) {
  PrintError(sentence);
  return kBadUsage;
}

// The flags in the form that schedd/simulate takes.
struct SimulationFlags {
  simulate::ReadOptions read;
  simulate::RunOptions run;
  simulate::SwfRules swf;
};

// Reads a duration flag into `us`; an empty text leaves it unset. Returns what is wrong, or "".
std::string TakeDuration(const std::string& flag, const std::string& text,
                         std::optional<std::int64_t>* us) {
  if (text.empty()) return "";
  const auto ms = ParseDurationMs(text);
  if (!ms) return flag + " must be a duration such as 90s or 1h30m, not " + text;
  *us = *ms * 1000;
  return "";
}

// The --swf-... flags: which number of a trace's line names the queue, and what its processors and
// memory mean. Returns what is wrong, or "".
std::string ReadTraceFlags(const SimulateOptions& options, simulate::SwfRules* rules) {
  const bool any = !options.swf_by.empty() || !options.swf_map.empty() ||
                   !options.swf_queue.empty() || !options.swf_resource.empty() ||
                   options.swf_used || options.swf_memory || options.swf_no_limit;
  if (options.swf.empty()) return any ? "the --swf-... flags need --swf TRACE" : "";
  if (!options.swf_by.empty()) {
    const auto by = simulate::SwfByOf(options.swf_by);
    if (!by) return "--swf-queue-by is queue, user, group or partition, not " + options.swf_by;
    rules->by = *by;
  }
  for (const std::string& one : options.swf_map) {
    const auto equals = one.find('=');
    const auto number = simulate::SwfNumberOf(one.substr(0, equals));
    if (equals == std::string::npos || !number || equals + 1 == one.size())
      return "--swf-map reads NUMBER=NAMESPACE/LOCALQUEUE, not " + one;
    rules->queue_of[*number] = one.substr(equals + 1);
  }
  if (!options.swf_map.empty() && options.swf_by.empty())
    return "--swf-map needs --swf-queue-by: numbers of what?";
  rules->queue = options.swf_queue;
  if (!options.swf_resource.empty()) rules->resource = options.swf_resource;
  rules->used_processors = options.swf_used;
  rules->memory = options.swf_memory;
  rules->time_limit = !options.swf_no_limit;
  return "";
}

// Returns what is wrong with the flags, or "".
std::string ReadFlags(const SimulateOptions& options, SimulationFlags* flags) {
  flags->read.ns = options.ns;
  flags->run.start = simulate::kClockStart;
  std::optional<std::int64_t> until, stop, arrival;
  for (const std::string& wrong :
       {TakeDuration("--until", options.until, &until),
        TakeDuration("--stop-time", options.stop_time, &stop),
        TakeDuration("--run-time", options.run_time, &flags->read.run_us),
        TakeDuration("--arrival", options.arrival, &arrival),
        ReadTraceFlags(options, &flags->swf)}) {
    if (!wrong.empty()) return wrong;
  }
  if (until) flags->run.until = flags->run.start.Plus(*until);
  flags->run.stop_us = stop.value_or(0);
  flags->read.arrival_us = arrival.value_or(0);
  if (options.compare && options.edits.empty()) return "--compare needs --set";
  const std::set<std::string> outputs = {"", "text", "json", "yaml"};
  if (!outputs.contains(options.output)) return "-o is text, json or yaml, not " + options.output;
  return "";
}

// The `admission:` section of a daemon's configuration file, or the defaults.
Outcome<AdmissionSettingsPtr> ReadSettings(const std::string& path) {
  if (path.empty()) return std::make_shared<const AdmissionSettings>();
  const Outcome<std::string> text = ReadText(path);
  if (!text.ok()) return text.failure();
  const Result<std::vector<json::value>> documents = ParseDocuments(*text);
  if (!documents.ok()) return LocalFailure(path + ": " + documents.error().detail);
  if (documents->size() != 1 || !documents->front().is_object())
    return LocalFailure(path + ": must be one mapping, as the daemon's configuration file");
  const json::value* section = documents->front().get_object().if_contains("admission");
  if (section == nullptr) return std::make_shared<const AdmissionSettings>();
  Result<AdmissionSettings> settings = ReadAdmissionSettings(*section);
  if (settings.ok()) return std::make_shared<const AdmissionSettings>(std::move(*settings));
  Failure failure = LocalFailure(path + ": " + settings.error().detail);
  failure.fields = settings.error().fields;
  return failure;
}

// An error of schedd/simulate with its fields, so that PrintFailure lists them.
Failure FromError(const Error& error) {
  Failure failure = LocalFailure(error.detail);
  failure.fields = error.fields;
  return failure;
}

// Builds the scenario from the files and the trace. `*counts` says how many jobs of the trace were
// taken and left out.
Outcome<simulate::Scenario> ReadAll(const SimulateOptions& options, SimulationFlags* flags,
                                    simulate::SwfCounts* counts) {
  Outcome<AdmissionSettingsPtr> settings = ReadSettings(options.settings);
  if (!settings.ok()) return settings.failure();
  flags->read.settings = std::move(settings).value();
  const Outcome<std::vector<Document>> documents = ReadDocuments(options.files);
  if (!documents.ok()) return documents.failure();
  std::vector<json::value> values;
  for (const Document& document : *documents) values.push_back(document.value);
  Result<simulate::Scenario> scenario = simulate::ReadScenario(values, flags->read);
  if (!scenario.ok()) {
    Failure failure = NameSources(FromError(scenario.error()), *documents);
    failure.detail = "this cannot be simulated";
    return failure;
  }
  if (!options.swf.empty()) {
    const Outcome<std::string> text = ReadText(options.swf);
    if (!text.ok()) return text.failure();
    const auto trace = simulate::ParseSwf(*text);
    if (!trace.ok()) return LocalFailure(options.swf + ": " + trace.error().detail);
    const auto taken = simulate::AddSwfJobs(*trace, flags->swf, &*scenario);
    if (!taken.ok()) return LocalFailure(options.swf + ": " + taken.error().detail);
    *counts = *taken;
  }
  if (scenario->jobs.empty()) return LocalFailure("there is no job in what was given");
  return std::move(*scenario);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// "85.4 %" for 854 thousandths.
std::string Percent(std::int64_t permille) {
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %";
}

// The figures of a summary with their names. Waits are shown for each priority class, uses for each
// quota.
Rows RowsOf(const simulate::Summary& summary) {
  const auto count = [](std::size_t value) { return std::to_string(value); };
  Rows rows = {{"makespan", simulate::SecondsText(summary.makespan_us)},
               {"jobs", count(summary.jobs)},
               {"finished", count(summary.finished)},
               {"ended by their time limit", count(summary.timed_out)},
               {"deactivated", count(summary.deactivated)},
               {"running at the end", count(summary.running)},
               {"waiting at the end", count(summary.waiting)},
               {"not arrived", count(summary.not_arrived)},
               {"starts", count(summary.starts)},
               {"evictions", count(summary.evictions)},
               {"preemptions", count(summary.preemptions)},
               {"run time lost by evictions", simulate::SecondsText(summary.lost_us)}};
  for (const simulate::WaitFigures& wait : summary.waits) {
    const std::string name =
        "wait " + (wait.priority_class.empty() ? "(no class)" : wait.priority_class);
    rows.emplace_back(name + ": started", count(wait.started));
    rows.emplace_back(name + ": never started", count(wait.never_started));
    rows.emplace_back(name + ": mean", simulate::SecondsText(wait.mean_us));
    rows.emplace_back(name + ": median", simulate::SecondsText(wait.median_us));
    rows.emplace_back(name + ": p95", simulate::SecondsText(wait.p95_us));
    rows.emplace_back(name + ": max", simulate::SecondsText(wait.max_us));
  }
  for (const simulate::UseFigures& use : summary.uses) {
    rows.emplace_back("use " + use.cluster_queue + " " + use.flavor + " " + use.resource,
                      (use.nominal > 0 ? Percent(use.permille) : std::string("-")) + " of " +
                          FormatQuantity(use.resource, use.nominal));
  }
  return rows;
}

void PrintSummary(const simulate::Summary& summary) {
  TextTable table({"FIGURE", "VALUE"});
  for (auto& [name, value] : RowsOf(summary)) table.Add({name, value});
  std::fputs(table.Render().c_str(), stdout);
}

// The rows are those of the changed run; an edit can add quotas, whose first column then is empty.
void PrintComparison(const simulate::Summary& before, const simulate::Summary& after) {
  const Rows as_is = RowsOf(before);
  const Rows changed = RowsOf(after);
  std::map<std::string, std::string> known(as_is.begin(), as_is.end());
  TextTable table({"FIGURE", "AS IS", "WITH --set"});
  for (const auto& [name, value] : changed) table.Add({name, known[name], value});
  std::fputs(table.Render().c_str(), stdout);
}

// A line for each job that still waits at the end, laid out as the lines of decisions.
void PrintWaiting(const std::vector<JobPtr>& waiting) {
  for (const JobPtr& job : waiting) {
    std::printf("%14s  waiting      %s/%s (%lld)  %s: %s\n", "at the end", job->ns.c_str(),
                job->name.c_str(), static_cast<long long>(job->id.value),
                job->cluster_queue.c_str(), job->message.c_str());
  }
}

// Says on stderr how many jobs of the trace were left out, and why.
void PrintLeftOut(const simulate::SwfCounts& counts) {
  const std::size_t left = counts.never_ran + counts.no_processors + counts.partial;
  if (left == 0) return;
  std::fprintf(stderr,
               "muster: %zu jobs of the trace taken; left out: %zu that never ran, %zu without "
               "processors, %zu parts of others\n",
               counts.taken, counts.never_ran, counts.no_processors, counts.partial);
}

int PrintStructured(const std::string& output, const json::value& value) {
  const std::string text = output == "yaml" ? WriteYaml(value) : WriteJsonPretty(value) + "\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

int Compare(const SimulateOptions& options, const SimulationFlags& flags,
            const simulate::Scenario& as_is, const simulate::Scenario& changed) {
  const simulate::PlayResult before = simulate::Play(as_is, flags.run, nullptr);
  const simulate::PlayResult after = simulate::Play(changed, flags.run, nullptr);
  if (options.output == "json" || options.output == "yaml") {
    return PrintStructured(options.output,
                           json::object{{"asIs", simulate::SummaryJson(before.summary)},
                                        {"summary", simulate::SummaryJson(after.summary)}});
  }
  PrintComparison(before.summary, after.summary);
  return 0;
}

// Prints decisions as they are made, or collects them for JSON and YAML, which are one document.
int PlayAndPrint(const SimulateOptions& options, const SimulationFlags& flags,
                 const simulate::Scenario& scenario) {
  const bool structured = options.output == "json" || options.output == "yaml";
  json::array decisions;
  simulate::DecisionSink sink;
  if (!options.summary_only) {
    sink = [&](const simulate::Decision& decision) {
      if (structured) {
        decisions.push_back(simulate::DecisionJson(decision, flags.run.start));
      } else {
        std::printf("%s\n", simulate::DecisionLine(decision, flags.run.start).c_str());
      }
    };
  }
  const simulate::PlayResult played = simulate::Play(scenario, flags.run, sink);
  if (!structured) {
    if (!options.summary_only) {
      PrintWaiting(played.outcome.waiting);
      std::printf("\n");
    }
    PrintSummary(played.summary);
    return 0;
  }
  json::object out;
  if (!options.summary_only) {
    json::array waiting;
    for (const JobPtr& job : played.outcome.waiting) waiting.push_back(simulate::WaitingJson(*job));
    out["decisions"] = std::move(decisions);
    out["waiting"] = std::move(waiting);
  }
  out["summary"] = simulate::SummaryJson(played.summary);
  return PrintStructured(options.output, out);
}

}  // namespace

// The edits are applied even without --compare: then only the changed scenario is played.
int Simulate(const SimulateOptions& options) {
  SimulationFlags flags;
  const std::string wrong = ReadFlags(options, &flags);
  if (!wrong.empty()) return BadUsage(wrong);
  simulate::SwfCounts counts;
  Outcome<simulate::Scenario> scenario = ReadAll(options, &flags, &counts);
  if (!scenario.ok()) return PrintFailure(scenario.failure());
  PrintLeftOut(counts);
  const Result<simulate::Scenario> changed = simulate::Edited(*scenario, options.edits);
  if (!changed.ok()) return PrintFailure(FromError(changed.error()));
  return options.compare ? Compare(options, flags, *scenario, *changed)
                         : PlayAndPrint(options, flags, *changed);
}

}  // namespace muster::cli
