// Reads a request, builds a scenario from it and plays the scenario through schedd/simulate, which
// runs the scheduler's own decisions on a virtual clock. With `compare` it plays twice, without and
// with the edits of `set`, and answers with both summaries. Jobs, cycles and listed decisions of a
// run are bounded, because a run blocks a thread of the pool; a larger one is refused with the
// advice to run `muster simulate` on the user's machine, which has no limits.
#include "api/service/simulations.h"

#include <string>
#include <vector>

#include "schedd/base/limits.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/simulate/play.h"
#include "schedd/simulate/report.h"
#include "schedd/simulate/scenario.h"
#include "schedd/simulate/swf.h"
#include "schedd/text/duration.h"

namespace muster::api {
namespace {

using shapes::Field;

// The fields of a request, validated.
struct Request {
  std::vector<json::value> documents;
  bool current = false, compare = false, decisions = true;
  std::string ns, trace;
  std::optional<std::int64_t> run_us, until_us;
  std::int64_t arrival_us = 0, stop_us = 0;
  simulate::SwfRules rules;
  std::vector<std::string> edits;
};

// A duration such as "90s" in microseconds; nullopt if the field is absent or wrong.
std::optional<std::int64_t> Micros(const Field& field) {
  const auto text = field.String();
  if (!text) return std::nullopt;
  const auto ms = ParseDurationMs(*text);
  if (!ms) field.Fail("must be a duration such as \"90s\" or \"1h30m\"");
  return ms ? std::optional(*ms * 1000) : std::nullopt;
}

// The field `swf`: a trace in the Standard Workload Format and how its jobs are mapped to queues.
void ReadTrace(const Field& field, Request* request) {
  if (!field.present()) return;
  field.OnlyMembers(
      {"trace", "queueBy", "queues", "queue", "resource", "processors", "memory", "timeLimit"});
  if (field["trace"].Require()) request->trace = field["trace"].StringOr("");
  simulate::SwfRules& rules = request->rules;
  const auto by = field["queueBy"].OneOf({"queue", "user", "group", "partition"});
  if (by) rules.by = *simulate::SwfByOf(*by);
  for (const auto& [number, queue] : field["queues"].Members()) {
    const auto value = simulate::SwfNumberOf(number);
    if (!value) queue.Fail("its name must be a number of the trace");
    if (value) rules.queue_of[*value] = std::string(queue.StringOr(""));
  }
  rules.queue = std::string(field["queue"].StringOr(""));
  rules.resource = std::string(field["resource"].StringOr(rules.resource));
  rules.used_processors =
      field["processors"].OneOf({"requested", "used"}).value_or("requested") == "used";
  rules.memory = field["memory"].BoolOr(false);
  rules.time_limit = field["timeLimit"].BoolOr(true);
  rules.max_jobs = limits::kSimulateJobs;
}

// Reads all fields and reports all wrong ones together.
Result<Request> Read(const json::value& body) {
  shapes::Problems problems;
  const Field root(body, &problems);
  root.OnlyMembers({"documents", "current", "namespace", "swf", "runTime", "arrival", "until",
                    "stopTime", "set", "compare", "decisions"});
  Request request;
  if (const json::array* documents = root["documents"].Array())
    request.documents.assign(documents->begin(), documents->end());
  request.current = root["current"].BoolOr(false);
  request.ns = std::string(root["namespace"].StringOr(""));
  // The namespace that the caller was asked for: beside the daemon's own objects, the jobs of the
  // documents stay in it.
  if (request.current && request.ns.empty()) request.ns = "default";
  ReadTrace(root["swf"], &request);
  request.run_us = Micros(root["runTime"]);
  request.arrival_us = Micros(root["arrival"]).value_or(0);
  request.until_us = Micros(root["until"]);
  request.stop_us = Micros(root["stopTime"]).value_or(0);
  for (const Field& edit : root["set"].Elements()) request.edits.emplace_back(edit.StringOr(""));
  request.compare = root["compare"].BoolOr(false);
  if (request.compare && request.edits.empty())
    root["compare"].Fail("needs an edit in `set` to compare with");
  request.decisions = root["decisions"].BoolOr(!request.compare);
  if (request.compare && request.decisions)
    root["decisions"].Fail("a comparison shows summaries only");
  if (!problems.empty()) return problems.ToError();
  return request;
}

// The documents, the jobs of the trace and, with `current`, the daemon's own configuration.
Result<simulate::Scenario> ScenarioOf(const WorldView& view, const Request& request) {
  simulate::ReadOptions options;
  if (request.current) options.base = view.config;
  options.settings = view.settings;
  options.run_us = request.run_us;
  options.arrival_us = request.arrival_us;
  options.ns = request.ns;
  options.max_jobs = limits::kSimulateJobs;
  Result<simulate::Scenario> scenario = simulate::ReadScenario(request.documents, options);
  if (!scenario.ok() || request.trace.empty()) return scenario;
  const auto trace = simulate::ParseSwf(request.trace);
  if (!trace.ok()) return InvalidField("swf.trace", trace.error().detail);
  const auto taken = simulate::AddSwfJobs(*trace, request.rules, &*scenario);
  if (!taken.ok()) return InvalidField("swf", taken.error().detail);
  return scenario;
}

Error BeyondLimit(const std::string& what) {
  return {Code::kOutOfRange,
          what + "; `muster simulate` runs it on your own machine without limit"};
}

// One run: its summary and the decisions to list.
struct RunResult {
  simulate::PlayResult played;
  json::array decisions;
};

// Plays the scenario within the limits.
Result<RunResult> PlayOne(const simulate::Scenario& scenario, const Request& request) {
  simulate::RunOptions run;
  run.start = simulate::kClockStart;
  if (request.until_us) run.until = run.start.Plus(*request.until_us);
  run.stop_us = request.stop_us;
  run.max_cycles = limits::kSimulateCycles;
  RunResult out;
  // Stops a run whose decisions are too many to list, as soon as that is known.
  run.keep_going = [&out] { return out.decisions.size() <= limits::kSimulateDecisions; };
  out.played = simulate::Play(scenario, run, [&](const simulate::Decision& decision) {
    if (request.decisions) out.decisions.push_back(simulate::DecisionJson(decision, run.start));
  });
  if (out.played.outcome.end == simulate::RunEnd::kCycles)
    return BeyondLimit("more than " + std::to_string(limits::kSimulateCycles) +
                       " cycles are needed");
  if (out.decisions.size() > limits::kSimulateDecisions) {
    return BeyondLimit("there are more than " + std::to_string(limits::kSimulateDecisions) +
                       " decisions to list: ask with decisions false");
  }
  return out;
}

json::array WaitingOf(const simulate::PlayResult& played) {
  json::array waiting;
  for (const JobPtr& job : played.outcome.waiting) waiting.push_back(simulate::WaitingJson(*job));
  return waiting;
}

// The answer to a request that was read without errors.
Result<json::value> Answer(const WorldView& view, const Request& request) {
  Result<simulate::Scenario> scenario = ScenarioOf(view, request);
  if (!scenario.ok()) return scenario.error();
  if (scenario->jobs.empty()) return InvalidArgument("there is no job to simulate");
  json::object answer;
  if (request.compare) {
    const Result<RunResult> before = PlayOne(*scenario, request);
    if (!before.ok()) return before.error();
    answer["asIs"] = simulate::SummaryJson(before->played.summary);
  }
  // The edits of `set` apply to the second run; without `compare` it is the only one.
  const Result<simulate::Scenario> edited = simulate::Edited(std::move(*scenario), request.edits);
  if (!edited.ok()) return InvalidField("set", edited.error().detail);
  Result<RunResult> after = PlayOne(*edited, request);
  if (!after.ok()) return after.error();
  if (request.decisions) answer["decisions"] = std::move(after->decisions);
  answer["summary"] = simulate::SummaryJson(after->played.summary);
  answer["waiting"] = WaitingOf(after->played);
  return json::value(std::move(answer));
}

}  // namespace

Result<json::value> Simulations::Run(const WorldView& view, const json::value& request) {
  const Result<Request> read = Read(request);
  if (!read.ok()) return read.error();
  if (read->current && !view.ready)
    return Unavailable("the daemon is not ready yet: its objects are not known");
  // A second simulation is refused and not queued: its client would wait without a sign.
  if (running_.exchange(true)) {
    return Overloaded("another simulation is running; they run one at a time",
                      limits::kSimulateRetryMs);
  }
  Result<json::value> answer = Answer(view, *read);
  running_ = false;
  return answer;
}

}  // namespace muster::api
