// squeue: the jobs that wait and run (rule B21).
//
// The goal is 100,000 rows in half a second. So the server is asked only for the members of a job
// view that the options need (WantedMembers), it applies the filters that it can (ServerFilters),
// rows are sorted by pointers, and cells are appended to one buffer that is written in large parts.
// Pending tasks of an array that wait for the same reason share one line, as in Slurm.
#include <poll.h>
#include <pwd.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "clients/slurm/command.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "clients/slurm/squeue_json.h"
#include "clients/slurm/squeue_options.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;
// The longest list of array tasks in an id; SLURM_BITSTR_LEN changes it.
constexpr std::size_t kArrayTextLimit = 64;

// True if all filters match the row.
bool Shown(const SqueueOptions& options, const JobRow& row, const std::string& default_ns) {
  return ShowsState(options, row.state) && PassesFilter(options.users, row.user) &&
         PassesFilter(options.names, row.name) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         PassesFilter(options.qos, row.priority_class) &&
         PassesFilter(options.nodes, row.cluster) &&
         InPartitions(options.partitions, row, default_ns);
}

// True if any state of an ended job is asked for; only then the server's list includes ended jobs.
bool ShowsEnded(const SqueueOptions& options) {
  return ShowsState(options, State::kCompleted) || ShowsState(options, State::kFailed) ||
         ShowsState(options, State::kCancelled) || ShowsState(options, State::kTimeout) ||
         ShowsState(options, State::kOutOfMemory);
}

// The members of a job view that columns, filters and order need, as the value of `?fields=`. A
// view with all members is three times as long.
std::string WantedMembers(const SqueueOptions& options) {
  std::set<std::string> wanted = {"id", "state", "reason"};
  const auto add = [&](std::string_view members) {
    for (std::string& member : SplitList(members)) wanted.insert(std::move(member));
  };
  if (!options.one_line_per_task && !options.steps) add("batch");
  if (!options.users.empty()) add("user");
  if (!options.names.empty()) add("name,displayName");
  if (!options.accounts.empty()) add("clusterQueue");
  if (!options.qos.empty()) add("priorityClass");
  if (!options.nodes.empty()) add("cluster");
  if (!options.partitions.empty()) add("namespace,queue");
  for (const Column& column : options.format.columns) add(SqueueMembers(column.field));
  for (const SortKey& key : options.sort) add(SqueueMembers(key.field));
  std::string list;
  for (const std::string& member : wanted) list += (list.empty() ? "" : ",") + member;
  return list;
}

// The filters that the server can apply. Shown applies all filters again, because the server takes
// only one user and one partition.
client::Query ServerFilters(const SqueueOptions& options, const std::string& default_ns) {
  client::Query query;
  if (!options.json) query.Add("fields", WantedMembers(options));
  if (options.users.size() == 1) query.Add("user", options.users[0]);
  if (options.partitions.size() == 1) {
    const Partition partition = SplitPartition(options.partitions[0], default_ns);
    query.Add("namespace", partition.ns).Add("queue", partition.queue);
  }
  if (!ShowsEnded(options)) query.Add("state", "Held,Pending,Admitted,Running");
  return query;
}

// Prints an error for each user that this host does not know and no job belongs to; the other users
// are still shown.
void CheckUsers(SqueueOptions* options, const std::vector<JobRow>& rows) {
  for (const std::string& user : options->users) {
    if (user.empty() || ::getpwnam(user.c_str()) != nullptr) continue;
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const JobRow& row) { return row.user == user; });
    if (!known) PrintError(kSqueue, "Invalid user: " + user);
  }
}

void ResolveUserNumbers(SqueueOptions* options) {
  for (std::string& user : options->users) user = UserName(user);
}

int CompareText(std::string_view a, std::string_view b) {
  return a.compare(b) < 0 ? -1 : a == b ? 0 : 1;
}
int CompareNumber(std::int64_t a, std::int64_t b) { return a < b ? -1 : a == b ? 0 : 1; }

// Compares two rows by a field: by number where the order of texts would be wrong, else by the text
// of the cell. `one` and `two` are scratch space.
int CompareBy(std::size_t field, const JobRow& a, const JobRow& b, const RowContext& context,
              std::string* one, std::string* two) {
  static const std::size_t kId = *SqueueFieldByLetter('i');
  static const std::size_t kState = *SqueueFieldByLetter('t');
  static const std::size_t kPriority = *SqueueFieldByLetter('Q');
  static const std::size_t kPartition = *SqueueFieldByLetter('P');
  static const std::size_t kTime = *SqueueFieldByLetter('M');
  static const std::size_t kCpus = *SqueueFieldByLetter('C');
  static const std::size_t kNodes = *SqueueFieldByLetter('D');
  if (field == kId) return CompareNumber(a.id, b.id);
  if (field == kState) return CompareNumber(static_cast<int>(a.state), static_cast<int>(b.state));
  static const std::size_t kShare = *SqueueFieldByLetter('p');
  if (field == kPriority || field == kShare)
    return CompareNumber(a.held ? 0 : a.priority, b.held ? 0 : b.priority);
  if (field == kPartition) {
    const int by_queue = CompareText(a.queue, b.queue);
    return by_queue != 0 ? by_queue : CompareText(a.ns, b.ns);
  }
  if (field == kTime)
    return CompareNumber(ElapsedSeconds(a, context.now), ElapsedSeconds(b, context.now));
  if (field == kCpus) return CompareNumber(CpuCount(a), CpuCount(b));
  if (field == kNodes) return CompareNumber(NodeCount(a), NodeCount(b));
  return CompareText(SqueueCell(field, a, context, one), SqueueCell(field, b, context, two));
}

// Rows that are equal in all keys are ordered by id. A list that is in order already, the usual
// case, is not sorted again.
void Sort(const SqueueOptions& options, const RowContext& context,
          std::vector<const JobRow*>* rows) {
  std::string one, two;
  const auto before = [&](const JobRow* a, const JobRow* b) {
    for (const SortKey& key : options.sort) {
      const int order = CompareBy(key.field, *a, *b, context, &one, &two);
      if (order != 0) return key.descending ? order > 0 : order < 0;
    }
    return a->id < b->id;
  };
  if (!std::is_sorted(rows->begin(), rows->end(), before))
    std::sort(rows->begin(), rows->end(), before);
}

// "0-3,7": sorted task numbers as ranges.
std::string Ranges(const std::vector<std::int32_t>& tasks) {
  std::string out;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t last = i;
    while (last + 1 < tasks.size() && tasks[last + 1] == tasks[last] + 1) ++last;
    if (!out.empty()) out.push_back(',');
    out += std::to_string(tasks[i]);
    if (last > i) out += "-" + std::to_string(tasks[last]);
    i = last + 1;
  }
  return out;
}

// The id cell of a line that stands for several pending tasks of an array: "36_[3-20]".
std::string ArrayText(const JobRow& row, const std::vector<std::int32_t>& tasks) {
  std::string list = Ranges(tasks);
  std::size_t limit = kArrayTextLimit;
  const auto asked = ParseCount(client::ProcessEnv("SLURM_BITSTR_LEN"));
  // SLURM_BITSTR_LEN=0 means the whole list.
  if (asked) limit = static_cast<std::size_t>(*asked);
  if (limit != 0 && list.size() > limit) list = list.substr(0, limit) + "...";
  return std::to_string(row.array_job_id) + "_[" + list + "]";
}

// Groups the pending tasks of each array by reason and hold, keeps the first row of each group and
// removes the others. Returns the id cells of the rows that are kept.
std::map<const JobRow*, std::string> FoldArrays(std::vector<const JobRow*>* rows) {
  std::map<std::tuple<std::int64_t, std::string_view, bool>, std::vector<const JobRow*>> groups;
  for (const JobRow* row : *rows) {
    if (row->array_job_id == 0 || row->state != State::kPending) continue;
    groups[{row->array_job_id, row->reason, row->held}].push_back(row);
  }
  std::map<const JobRow*, std::string> texts;
  if (groups.empty()) return texts;
  for (auto& [key, group] : groups) {
    std::vector<std::int32_t> tasks;
    for (const JobRow* row : group) tasks.push_back(row->array_task_id);
    std::sort(tasks.begin(), tasks.end());
    texts[group.front()] = ArrayText(*group.front(), tasks);
  }
  std::erase_if(*rows, [&](const JobRow* row) {
    return row->array_job_id != 0 && row->state == State::kPending && !texts.contains(row);
  });
  return texts;
}

void AppendHeader(const SqueueOptions& options, std::string* out) {
  static const std::size_t kId = *SqueueFieldByLetter('i');
  for (const Column& column : options.format.columns) {
    const bool step_id = options.steps && column.field == kId;
    AppendCell(column, step_id ? "STEPID" : SqueueHeader(column.field), out);
  }
  *out += options.format.after;
  out->push_back('\n');
}

// Flushes the buffer whenever it has a megabyte.
void PrintTable(const SqueueOptions& options, std::vector<const JobRow*> rows, RowContext context) {
  std::map<const JobRow*, std::string> texts;
  if (!options.one_line_per_task && !options.steps) texts = FoldArrays(&rows);
  Sort(options, context, &rows);
  std::string out, scratch;
  out.reserve(kFlushBytes + 4096);
  context.step_line = options.steps;
  if (!options.no_header) AppendHeader(options, &out);
  for (const JobRow* row : rows) {
    context.array_text = {};
    if (!texts.empty()) {
      const auto text = texts.find(row);
      if (text != texts.end()) context.array_text = text->second;
    }
    for (const Column& column : options.format.columns) {
      AppendCell(column, SqueueCell(column.field, *row, context, &scratch), &out);
    }
    out += options.format.after;
    out.push_back('\n');
    if (out.size() >= kFlushBytes) {
      WriteOut(out);
      out.clear();
    }
  }
  WriteOut(out);
}

// Prints one table, or one JSON document; gives the exit status.
int ShowOnce(client::ApiClient& api, SqueueOptions options) {
  JobList list;
  const client::Outcome<Done> fetched =
      options.by_job && !options.jobs.empty()
          ? FetchSpecs(api, options.jobs, &list)
          : FetchJobs(api, ServerFilters(options, api.settings().ns), &list);
  if (!fetched.ok()) {
    PrintError(kSqueue, "slurm_load_jobs error: " + FailureText(fetched.failure()));
    return ErrorExit(kExitRefused);
  }
  if (options.jobs.size() == 1 && list.rows().empty()) {
    std::fprintf(stderr, "slurm_load_jobs error: Invalid job id specified\n");
    return ErrorExit(kExitRefused);
  }
  if (!options.me) CheckUsers(&options, list.rows());
  std::vector<const JobRow*> rows;
  rows.reserve(list.rows().size());
  for (const JobRow& row : list.rows()) {
    if (Shown(options, row, api.settings().ns)) rows.push_back(&row);
  }
  RowContext context;
  context.default_ns = api.settings().ns;
  context.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
  context.now = WallSeconds();
  context.no_convert = options.no_convert;
  if (options.json) {
    Sort(options, context, &rows);
    WriteOut(SqueueJson(rows, context));
  } else {
    PrintTable(options, std::move(rows), context);
  }
  return 0;
}

}  // namespace

// -i repeats until the user interrupts it; with -i or -l each table has the time above it.
int RunSqueue(int argc, char** argv) {
  SqueueOptions options;
  int exit = 0;
  if (!ParseSqueue(argc, argv, &options, &exit)) return exit;
  if (options.help) return WriteOut(SqueueHelp()), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  const std::optional<client::Settings> settings = FindServer(kSqueue);
  if (!settings) return ErrorExit(kExitRefused);
  ResolveUserNumbers(&options);
  client::ApiClient api(*settings);
  if (options.me) {
    client::Outcome<std::string> self = OwnUser(api);
    if (!self.ok()) return Fail(kSqueue, "slurm_load_jobs error: " + FailureText(self.failure()));
    options.users = {std::move(self).value()};
  }
  for (;;) {
    const bool dated =
        (options.long_form || options.every_s != 0) && !options.no_header && !options.json;
    if (dated) WriteOut(FormatTime(WallSeconds(), "%a %b %d %H:%M:%S %Y\n"));
    exit = ShowOnce(api, options);
    if (options.every_s == 0) return exit;
    // -i repeats the table at the interval until the user interrupts it.
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(options.every_s, 2'000'000) * 1000));
    if (dated) WriteOut("\n");
  }
}

}  // namespace muster::slurm
