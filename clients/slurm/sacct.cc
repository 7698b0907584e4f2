// sacct: the jobs of a time window, with their ends, their steps and what they used (rule B23).
//
// The steps: fetch the jobs (by id if -j names some, else all, of one user if only one is meant),
// drop those that the filters or the window exclude, ask for the steps and attempts of the others
// if lines or columns need them, and print a line for each job, its batch step and its steps; with
// -D also for each earlier attempt. The job list has no filter by time, so the window is applied
// here.
#include <algorithm>
#include <cstdio>
#include <deque>

#include "clients/lib/visible_text.h"
#include "clients/slurm/attempts.h"
#include "clients/slurm/batch_script.h"
#include "clients/slurm/derived_rows.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/sacct_fields.h"
#include "clients/slurm/sacct_json.h"
#include "clients/slurm/sacct_options.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"

namespace muster::slurm {
namespace {

// Seconds since 1970, both inclusive.
struct Window {
  std::int64_t from = 0, to = 0;
};

// Slurm's three defaults where -S is missing: since midnight; from the beginning with -j; this
// moment with -s.
Window WindowOf(const SacctOptions& options, std::int64_t now) {
  Window out{0, now};
  if (options.start)
    out.from = *options.start;
  else if (options.by_state)
    out.from = options.end ? *options.end : now;
  else if (options.jobs.empty())
    out.from = ParsePoint("today", now).value_or(0);
  if (options.end) out.to = *options.end;
  return out;
}

// True if the job existed at some moment of the window.
bool InWindow(const JobRow& row, const Window& window) {
  const std::int64_t submitted = ParseStamp(row.submit_time);
  const std::int64_t ended = ParseStamp(row.end_time);
  return submitted <= window.to && (ended == 0 || ended >= window.from);
}

bool Within(const SacctRange& range, std::int64_t number) {
  return !range.set || (number >= range.low && (range.high == 0 || number <= range.high));
}

// True if the list is empty or names the user's group, by its name or number.
bool InGroups(const std::vector<std::string>& groups, const JobRow& row) {
  if (groups.empty()) return true;
  std::string scratch;
  const RowContext context;
  for (const char* field : {"GroupName", "GroupID"}) {
    if (PassesFilter(groups, SqueueCell(*SqueueFieldByName(field), row, context, &scratch)))
      return true;
  }
  return false;
}

// True if all filters and the window match the row.
bool Chosen(const SacctOptions& options, const JobRow& row, const Window& window,
            const std::string& default_ns) {
  const bool in_state = !options.by_state || std::find(options.states.begin(), options.states.end(),
                                                       row.state) != options.states.end();
  return in_state && PassesFilter(options.users, row.user) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         InPartitions(options.partitions, row, default_ns) &&
         PassesFilter(options.qos, QosOf(row)) && PassesFilter(options.names, row.name) &&
         PassesFilter(options.wckeys, row.extra->wckey) &&
         PassesFilter(options.constraints, row.extra->features) &&
         PassesFilter(options.reasons, AccountedReason(row)) && InGroups(options.groups, row) &&
         Within(options.node_count, NodeCount(row)) && Within(options.cpu_count, CpuCount(row)) &&
         Within(options.limit_minutes, row.time_limit_s / 60) &&
         InClusters(options.clusters, row) && OnNodes(options.nodes, row) && InWindow(row, window);
}

// Cells of fixed columns that are too long end with a plus, as in sacct; parsable ones are never
// cut. -p puts the delimiter behind the last cell too, -P does not.
void AppendCell(const SacctOptions& options, const SacctColumn& column, std::string text, bool last,
                std::string* out) {
  if (!client::IsPlain(text)) text = client::VisibleText(text);
  if (options.parsable || options.parsable2) {
    out->append(text);
    if (options.parsable || !last) out->append(options.delimiter);
    return;
  }
  const auto width = static_cast<std::size_t>(column.width < 0 ? -column.width : column.width);
  if (text.size() > width) text = text.substr(0, width - 1) + "+";
  const std::size_t pad = width - text.size();
  if (column.width > 0) out->append(pad, ' ');
  out->append(text);
  if (column.width < 0) out->append(pad, ' ');
  out->push_back(' ');
}

// Fixed columns have a line of dashes below their names, as in sacct.
void AppendHeader(const SacctOptions& options, std::string* out) {
  for (const SacctColumn& column : options.columns) {
    AppendCell(options, column, std::string(SacctName(column.field)),
               &column == &options.columns.back(), out);
  }
  out->push_back('\n');
  if (options.parsable || options.parsable2) return;
  for (const SacctColumn& column : options.columns) {
    out->append(static_cast<std::size_t>(column.width < 0 ? -column.width : column.width), '-');
    out->push_back(' ');
  }
  out->push_back('\n');
}

void AppendLine(const SacctOptions& options, const SacctLine& line, std::string* out) {
  for (const SacctColumn& column : options.columns) {
    AppendCell(options, column, SacctCell(column.field, line), &column == &options.columns.back(),
               out);
  }
  out->push_back('\n');
}

// True if a column shows something that was measured, which costs a request.
bool ShowsMeasures(const SacctOptions& options) {
  return std::any_of(options.columns.begin(), options.columns.end(), [](const SacctColumn& column) {
    const std::string_view name = SacctName(column.field);
    return name.starts_with("Ave") || name.starts_with("Max") || name.starts_with("Min") ||
           name.starts_with("TRESUsage") || name.ends_with("CPU") ||
           name.starts_with("ConsumedEnergy");
  });
}

// True if -j asks for this line: of a job that it names with a step, only that step.
bool LineAskedFor(const std::vector<JobSpec>& specs, const SacctLine& line) {
  bool named = false;
  const std::string step = line.batch_step        ? "batch"
                           : line.step != nullptr ? std::to_string(line.step->step)
                                                  : std::string();
  for (const JobSpec& spec : specs) {
    if (!Matches(spec, *line.row)) continue;
    if (spec.step.empty() || spec.step == step) return true;
    named = true;
  }
  return !named;
}

// The higher of two exits: by code, then by signal.
SlurmExit Higher(const SlurmExit& a, const SlurmExit& b) {
  if (a.code != b.code) return a.code > b.code ? a : b;
  return a.signal > b.signal ? a : b;
}

void AddUse(const MeasuredUse& from, MeasuredUse* to) {
  to->user_cpu_us += from.user_cpu_us;
  to->system_cpu_us += from.system_cpu_us;
  to->read_bytes += from.read_bytes;
  to->written_bytes += from.written_bytes;
  to->max_rss_bytes = std::max(to->max_rss_bytes, from.max_rss_bytes);
}

// What the script itself used, of what was measured of all processes of the attempt.
MeasuredUse WithoutSteps(const MeasuredUse& all, const MeasuredUse& steps) {
  MeasuredUse out = all;
  out.user_cpu_us = std::max<std::int64_t>(0, all.user_cpu_us - steps.user_cpu_us);
  out.system_cpu_us = std::max<std::int64_t>(0, all.system_cpu_us - steps.system_cpu_us);
  out.read_bytes = std::max<std::int64_t>(0, all.read_bytes - steps.read_bytes);
  out.written_bytes = std::max<std::int64_t>(0, all.written_bytes - steps.written_bytes);
  return out;
}

// What the lines of one call share.
struct SacctReport {
  const SacctOptions& options;
  const StepsByJob& steps;
  const AttemptsByJob& attempts;
  SacctLine common;
  std::deque<JobRow> earlier;  // rows of earlier attempts
};

// The lines of one attempt: the job, its batch step, its steps.
void AddAttempt(SacctReport& report, const JobRow& row, std::int32_t attempt,
                const MeasuredUse& use, std::vector<SacctLine>* out) {
  SacctLine line = report.common;
  line.row = &row;
  std::vector<const StepInfo*> steps;
  MeasuredUse of_steps;
  const auto found = report.steps.find(row.id);
  if (found != report.steps.end()) {
    for (const StepInfo& step : found->second) {
      if (step.attempt != attempt && step.attempt != 0) continue;
      steps.push_back(&step);
      AddUse(step.use, &of_steps);
      line.step = &step;
      line.derived = Higher(line.derived, LineExit(line));
    }
  }
  line.step = nullptr;
  MeasuredUse all = use;
  all.user_cpu_us = std::max(all.user_cpu_us, of_steps.user_cpu_us);
  all.system_cpu_us = std::max(all.system_cpu_us, of_steps.system_cpu_us);
  line.use = all;
  out->push_back(line);
  if (report.options.allocations) return;
  if (row.is_batch && !row.extra->allocation_only && !row.start_time.empty() &&
      row.het_offset <= 0) {
    line.batch_step = true;
    line.use = WithoutSteps(use, of_steps);
    out->push_back(line);
    line.batch_step = false;
  }
  if (row.het_offset > 0) return;
  for (const StepInfo* step : steps) {
    line.step = step;
    line.use = step->use;
    out->push_back(line);
  }
}

// The row as it was in an earlier attempt. One that had ended for good was requeued afterwards.
JobRow EarlierRow(const JobRow& row, const AttemptInfo& attempt) {
  JobRow out = row;
  out.state = attempt.state;
  if (IsOver(out.state) && out.state != State::kPreempted && out.state != State::kNodeFail)
    out.state = State::kRequeued;
  out.held = false;
  out.reason = attempt.reason;
  out.cluster = attempt.cluster;
  if (attempt.cluster != row.cluster) out.node_list = {};
  out.start_time = attempt.start_time;
  out.end_time = attempt.end_time;
  out.requeue_at = {};
  out.has_exit_code = attempt.has_exit_code;
  out.exit_code = attempt.exit_code;
  out.exit_signal = attempt.exit_signal;
  return out;
}

// Earlier attempts come before the last one. A job that waits again has no attempt of its own yet,
// so all that it had are earlier ones. The attempt that runs has no line of accounting yet.
void AddJob(SacctReport& report, const JobRow& row, std::vector<SacctLine>* out) {
  const auto found = report.attempts.find(row.id);
  MeasuredUse use;
  std::int32_t last = row.attempt;
  if (found != report.attempts.end()) {
    for (const AttemptInfo& attempt : found->second) {
      const bool newest =
          row.attempt > 0 ? attempt.attempt >= row.attempt : &attempt == &found->second.back();
      const bool current = newest && !IsPending(row.state);
      if (current) {
        use = attempt.use;
        last = attempt.attempt;
      } else if (report.options.duplicates) {
        const JobRow& earlier = report.earlier.emplace_back(EarlierRow(row, attempt));
        AddAttempt(report, earlier, attempt.attempt, attempt.use, out);
      }
    }
  }
  if (IsPending(row.state)) last = -1;
  AddAttempt(report, row, last, use, out);
}

// The script of each job of -j, as `sacct -B` shows it, or its environment.
int ShowScripts(client::ApiClient& api, const SacctOptions& options,
                const std::vector<const JobRow*>& rows) {
  for (const JobRow* row : rows) {
    const client::Outcome<ScriptText> script = FetchScript(api, row->id);
    if (!script.ok()) return Fail(kSacct, FailureText(script.failure()));
    const std::string id = std::to_string(row->id);
    const std::string title =
        options.script ? "Batch Script for " + id : "Environment used for " + id;
    WriteOut(title + (options.script ? "\n" : " (must be batch to display)\n") +
             std::string(80, '-') + "\n" + (options.script ? script->script : script->environment) +
             "\n");
  }
  return 0;
}

// Asks for the steps and the attempts of the rows, as far as lines and columns need them.
client::Outcome<Done> FetchMeasures(client::ApiClient& api, const SacctOptions& options,
                                    const std::vector<const JobRow*>& rows, StepsByJob* steps,
                                    AttemptsByJob* attempts) {
  const bool document = options.json || options.yaml;
  std::vector<std::int64_t> started, again;
  for (const JobRow* row : rows) {
    if (!row->start_time.empty()) started.push_back(row->id);
    if (!row->start_time.empty() || row->attempt > 0) again.push_back(row->id);
  }
  const bool derived = std::any_of(
      options.columns.begin(), options.columns.end(),
      [](const SacctColumn& column) { return SacctName(column.field) == "DerivedExitCode"; });
  if (!options.allocations || document || derived) {
    client::Outcome<StepsByJob> told =
        FetchSteps(api, options.duplicates || document ? again : started);
    if (!told.ok()) return told.failure();
    *steps = std::move(*told);
  }
  if (options.duplicates || document || ShowsMeasures(options)) {
    client::Outcome<AttemptsByJob> told = FetchAttempts(api, options.duplicates ? again : started);
    if (!told.ok()) return told.failure();
    *attempts = std::move(*told);
  }
  return Done{};
}

// Slurm's accounting knows states without their flags: a job that has its nodes runs until it has
// ended (sacct's manual page, "JOB STATE CODES", has no CONFIGURING and no COMPLETING).
State AccountedState(State state) {
  return state == State::kConfiguring || state == State::kCompleting ? State::kRunning : state;
}

// Without -a, -u and -j a user sees their own jobs, and root sees all.
int Show(SacctOptions options) {
  const std::optional<client::Settings> settings = FindServer(kSacct);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  for (std::string& user : options.users) user = UserName(user);
  const bool own_only = !options.all_users && options.users.empty() && options.jobs.empty();
  if (own_only) {
    const client::Outcome<std::string> self = OwnUser(api);
    if (!self.ok()) return Fail(kSacct, FailureText(self.failure()));
    if (*self != "root") options.users.push_back(*self);
  }
  const client::Outcome<std::string> refused = ResolveClusters(api, &options.clusters);
  if (!refused.ok()) return Fail(kSacct, FailureText(refused.failure()));
  if (!refused->empty()) return Fail(kSacct, *refused);
  JobList list;
  client::Query query;
  if (options.users.size() == 1) query.Add("user", options.users[0]);
  const client::Outcome<Done> fetched =
      options.jobs.empty() ? FetchJobs(api, query, &list) : FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) return Fail(kSacct, FailureText(fetched.failure()));
  for (JobRow& row : list.rows()) row.state = AccountedState(row.state);
  std::sort(list.rows().begin(), list.rows().end(), [](const JobRow& a, const JobRow& b) {
    // The tasks of an array in their order, where its first id stands.
    const auto key = [](const JobRow& row) {
      return row.array_job_id != 0 ? row.array_job_id : row.id;
    };
    if (key(a) != key(b)) return key(a) < key(b);
    if (a.array_job_id != 0 && a.array_task_id != b.array_task_id)
      return a.array_task_id < b.array_task_id;
    return a.id < b.id;
  });
  const std::int64_t now = WallSeconds();
  const Window window = WindowOf(options, now);
  std::vector<const JobRow*> rows;
  for (const JobRow& row : list.rows()) {
    if (Chosen(options, row, window, settings->ns)) rows.push_back(&row);
  }
  if (options.script || options.environment) return ShowScripts(api, options, rows);
  StepsByJob steps;
  AttemptsByJob attempts;
  const client::Outcome<Done> told = FetchMeasures(api, options, rows, &steps, &attempts);
  if (!told.ok()) return Fail(kSacct, FailureText(told.failure()));
  DerivedRows derived(list.arena());
  derived.Expand(false, options.jobs, &rows);
  SacctReport report{options, steps, attempts, {}, {}};
  report.common.default_ns = settings->ns;
  report.common.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
  report.common.now = now;
  report.common.unit = options.unit;
  report.common.no_convert = options.no_convert;
  if (options.truncate) report.common.cut_from = window.from, report.common.cut_to = window.to;
  std::vector<SacctLine> lines;
  for (const JobRow* row : rows) AddJob(report, *row, &lines);
  if (options.json || options.yaml) {
    const std::string document = SacctJson(lines);
    return WriteOut(options.json ? document : YamlOf(document)), 0;
  }
  std::string out;
  if (!options.no_header) AppendHeader(options, &out);
  for (const SacctLine& line : lines) {
    if (LineAskedFor(options.jobs, line)) AppendLine(options, line, &out);
  }
  WriteOut(out);
  return 0;
}

}  // namespace

int RunSacct(int argc, char** argv) {
  SacctOptions options;
  int exit = 0;
  if (!ParseSacct(argc, argv, &options, &exit)) return exit;
  return Show(std::move(options));
}

}  // namespace muster::slurm
