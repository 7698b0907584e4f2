// squeue: the jobs that wait and run (rule B21).
//
// The goal is 100,000 rows in half a second. So the server is asked only for the members of a job
// view that the options need (WantedMembers), it applies the filters that it can (ServerFilters),
// rows are sorted by pointers, and cells are appended to one buffer that is written in large parts.
// The waiting tasks of an array are one record and one line; only -r makes rows of them, and a
// heterogeneous job has one for each component (derived_rows.h).
#include <poll.h>
#include <pwd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "clients/slurm/command.h"
#include "clients/slurm/derived_rows.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "clients/slurm/squeue_json.h"
#include "clients/slurm/squeue_options.h"
#include "clients/slurm/squeue_steps.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;
// True if the list is empty or the job asks for one of its licences ("name[@host][:count]").
bool HasLicense(const std::vector<std::string>& wanted, std::string_view licenses) {
  if (wanted.empty()) return true;
  for (const std::string& license : SplitList(licenses)) {
    if (PassesFilter(wanted, license.substr(0, license.find_first_of(":@=")))) return true;
  }
  return false;
}

// True if all filters match the row.
bool Shown(const SqueueOptions& options, const JobRow& row, const std::string& default_ns) {
  return ShowsState(options, row.state) && PassesFilter(options.users, row.user) &&
         PassesFilter(options.names, row.name) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         PassesFilter(options.qos, QosOf(row)) && OnNodes(options.nodes, row) &&
         PassesFilter(options.reservations, row.extra->reservation) &&
         HasLicense(options.licenses, row.extra->licenses) && InClusters(options.clusters, row) &&
         InPartitions(options.partitions, row, default_ns);
}

// True if any state of an ended job is asked for; only then the server's list includes ended jobs.
bool ShowsEnded(const SqueueOptions& options) {
  for (int state = 0; state <= static_cast<int>(State::kCompleting); ++state) {
    const State one = static_cast<State>(state);
    if (IsOver(one) && ShowsState(options, one)) return true;
  }
  return false;
}

// The members of a job view that columns, filters and order need, as the value of `?fields=`. A
// view with all members is three times as long.
std::string WantedMembers(const SqueueOptions& options) {
  // Of a script what ids, states and reasons are made from; long texts are members of their
  // columns.
  std::set<std::string> wanted = {"id", "state", "reason", "stopping", "batch.brief"};
  const auto add = [&](std::string_view members) {
    for (std::string& member : SplitList(members)) wanted.insert(std::move(member));
  };
  if (options.steps)
    add("user,queue,namespace,startTime,timeLimitSeconds,cluster,nodeList,podSets,name,"
        "displayName");
  if (!options.users.empty()) add("user");
  if (!options.names.empty()) add("name,displayName");
  if (!options.accounts.empty()) add("clusterQueue");
  if (!options.qos.empty()) add("priorityClass");
  if (!options.nodes.empty()) add("cluster,nodeList");
  if (options.clusters.chosen) add("cluster");
  if (!options.partitions.empty()) add("namespace,queue");
  if (!options.steps) {
    for (const Column& column : options.format.columns) add(SqueueMembers(column.field));
    for (const SortKey& key : options.sort) add(SqueueMembers(key.field));
  }
  std::string list;
  for (const std::string& member : wanted) list += (list.empty() ? "" : ",") + member;
  return list;
}

// The filters that the server can apply. Shown applies all filters again, because the server takes
// only one user and one partition.
client::Query ServerFilters(const SqueueOptions& options, const std::string& default_ns) {
  client::Query query;
  if (!options.json && !options.yaml) query.Add("fields", WantedMembers(options));
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
    if (known) continue;
    PrintError(kSqueue, "Invalid user: " + user);
    std::fputs("\n", stderr);
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
    return CompareNumber(ShownPriority(a), ShownPriority(b));
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
    if (a->id != b->id) return a->id < b->id;
    return a->het_offset != b->het_offset ? a->het_offset < b->het_offset
                                          : a->array_task_id < b->array_task_id;
  };
  if (!std::is_sorted(rows->begin(), rows->end(), before))
    std::sort(rows->begin(), rows->end(), before);
}

void AppendHeader(const SqueueOptions& options, std::string* out) {
  for (const Column& column : options.format.columns)
    AppendCell(column, SqueueHeader(column.field), out);
  *out += options.format.after;
  out->push_back('\n');
}

// Flushes the buffer whenever it has a megabyte.
void PrintTable(const SqueueOptions& options, std::vector<const JobRow*> rows,
                const RowContext& context) {
  Sort(options, context, &rows);
  std::string out, scratch;
  out.reserve(kFlushBytes + 4096);
  if (!options.no_header) AppendHeader(options, &out);
  for (const JobRow* row : rows) {
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

// The sentence for a host of -w that is neither a member nor a host of any job; "" if all are.
client::Outcome<std::string> UnknownNode(client::ApiClient& api, const SqueueOptions& options,
                                         const std::vector<JobRow>& rows) {
  if (options.nodes.empty()) return std::string();
  const client::Outcome<std::vector<NodeInfo>> members = FetchMembers(api);
  if (!members.ok()) return members.failure();
  for (const std::string& node : options.nodes) {
    const bool known = std::any_of(members->begin(), members->end(),
                                   [&](const NodeInfo& one) { return one.name == node; }) ||
                       std::any_of(rows.begin(), rows.end(),
                                   [&](const JobRow& row) { return OnNodes({node}, row); });
    if (!known) return "Invalid node name " + node;
  }
  return std::string();
}

// For --start: when the server expects the first jobs of the queue to start. Each estimate is a
// request, so only some are asked for; the others show N/A.
void EstimateStarts(client::ApiClient& api, const std::vector<const JobRow*>& rows, JobList* list) {
  constexpr std::size_t kEstimates = 64;
  std::size_t asked = 0;
  for (const JobRow* shown : rows) {
    JobRow& row = list->rows()[static_cast<std::size_t>(shown - list->rows().data())];
    if (!StartTime(row).empty() || row.held) continue;
    if (++asked > kEstimates) return;
    const auto answer = api.Get(client::JobPath(std::to_string(row.id)) + "/explain");
    if (!answer.ok()) continue;
    row.estimated_start = list->arena().Keep(TextAt(*answer, {"estimatedStart", "latest"}));
  }
}

// Prints the rows as one table.
client::Outcome<Done> PrintRows(client::ApiClient& api, const SqueueOptions& options,
                                const std::vector<const JobRow*>& rows, const RowContext& context) {
  if (options.steps) return PrintSteps(api, options, rows, context);
  PrintTable(options, rows, context);
  return Done{};
}

// With -M one table for each cluster, below its name.
client::Outcome<Done> PrintAll(client::ApiClient& api, const SqueueOptions& options,
                               const std::vector<const JobRow*>& rows, const RowContext& context) {
  if (!options.clusters.chosen) return PrintRows(api, options, rows, context);
  for (std::size_t i = 0; i < options.clusters.names.size(); ++i) {
    std::vector<const JobRow*> its;
    for (const JobRow* row : rows) {
      if (InCluster(options.clusters, i, *row)) its.push_back(row);
    }
    if (!options.no_header) WriteOut("CLUSTER: " + options.clusters.names[i] + "\n");
    const client::Outcome<Done> printed = PrintRows(api, options, its, context);
    if (!printed.ok()) return printed;
    if (!options.no_header && i + 1 < options.clusters.names.size()) WriteOut("\n");
  }
  return Done{};
}

// Prints one table, or one JSON document; gives the exit status.
int ShowOnce(client::ApiClient& api, SqueueOptions options) {
  JobList list;
  const client::Outcome<std::string> refused = ResolveClusters(api, &options.clusters);
  if (!refused.ok())
    return Fail(kSqueue, "slurm_load_jobs error: " + FailureText(refused.failure()));
  if (!refused->empty()) return Fail(kSqueue, *refused);
  const client::Outcome<Done> fetched =
      options.by_job && !options.jobs.empty()
          ? FetchSpecs(api, options.jobs, &list)
          : FetchJobs(api, ServerFilters(options, api.settings().ns), &list);
  if (!fetched.ok()) {
    PrintError(kSqueue, "slurm_load_jobs error: " + FailureText(fetched.failure()));
    return ErrorExit(kExitRefused);
  }
  const bool document = options.json || options.yaml;
  if (options.jobs.size() == 1 && list.rows().empty() && !document) {
    std::fprintf(stderr, "slurm_load_jobs error: Invalid job id specified\n");
    return ErrorExit(kExitRefused);
  }
  const client::Outcome<std::string> unknown = UnknownNode(api, options, list.rows());
  if (!unknown.ok())
    return Fail(kSqueue, "slurm_load_jobs error: " + FailureText(unknown.failure()));
  if (!unknown->empty()) return Fail(kSqueue, *unknown);
  if (!options.me) CheckUsers(&options, list.rows());
  std::vector<const JobRow*> rows;
  rows.reserve(list.rows().size());
  for (const JobRow& row : list.rows()) {
    if (Shown(options, row, api.settings().ns)) rows.push_back(&row);
  }
  if (options.start) EstimateStarts(api, rows, &list);
  DerivedRows derived(list.arena());
  derived.Expand(options.one_line_per_task, options.jobs, &rows);
  RowContext context;
  context.default_ns = api.settings().ns;
  context.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
  context.now = WallSeconds();
  context.no_convert = options.no_convert;
  if (document) {
    if (!options.steps) Sort(options, context, &rows);
    const std::string text = SqueueJson(rows, context, "squeue");
    WriteOut(options.json ? text : YamlOf(text));
    return 0;
  }
  const client::Outcome<Done> printed = PrintAll(api, options, rows, context);
  if (printed.ok()) return 0;
  return Fail(kSqueue, "slurm_get_job_steps error: " + FailureText(printed.failure()));
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
  if (!options.bad_sort.empty()) {
    std::string header;
    if (!options.no_header && !options.steps) AppendHeader(options, &header);
    WriteOut(header);
    return Fail(kSqueue, "Invalid sort specification: " + options.bad_sort);
  }
  ResolveUserNumbers(&options);
  client::ApiClient api(*settings);
  if (options.me) {
    client::Outcome<std::string> self = OwnUser(api);
    if (!self.ok()) return Fail(kSqueue, "slurm_load_jobs error: " + FailureText(self.failure()));
    options.users = {std::move(self).value()};
  }
  for (;;) {
    const bool dated = (options.long_form || options.every_s != 0) && !options.no_header &&
                       !options.json && !options.yaml;
    if (dated) WriteOut(FormatTime(WallSeconds(), "%a %b %d %H:%M:%S %Y\n"));
    exit = ShowOnce(api, options);
    if (options.every_s == 0) return exit;
    // -i repeats the table at the interval until the user interrupts it.
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(options.every_s, 2'000'000) * 1000));
    if (dated) WriteOut("\n");
  }
}

}  // namespace muster::slurm
