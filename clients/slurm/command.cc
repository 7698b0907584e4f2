// What the Slurm-named commands share: messages in Slurm's form, job ids and partitions as users
// write them, and fetching the jobs that a list of ids names.
//
// FetchSpecs asks for each id alone, which is one small request. An id is an array if the job of
// that number says that it is the first of an array (its array_job_id is its own id); only then the
// list of all jobs is read, once for all arrays, and filtered.
#include "clients/slurm/command.h"

#include <getopt.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/task_ranges.h"
#include "schedd/base/name_list.h"

namespace muster::slurm {

void PrintError(const char* command, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    std::fprintf(stderr, "%s: error: %s\n", command, client::VisibleText(line).c_str());
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// SLURM_EXIT_ERROR counts if it is a number from 1 to 255; exit statuses have no others.
int ErrorExit(int otherwise) {
  const char* replaced = std::getenv("SLURM_EXIT_ERROR");
  const auto number = ParseCount(replaced == nullptr ? "" : replaced);
  return number && *number > 0 && *number < 256 ? static_cast<int>(*number) : otherwise;
}

int Fail(const char* command, std::string_view text) {
  PrintError(command, text);
  return ErrorExit(kExitRefused);
}

int UsageExit(const char* command, int exit) {
  std::fprintf(stderr, "Try \"%s --help\" for more information\n", command);
  return ErrorExit(exit);
}

// `options` ends with an entry without a name, as getopt_long demands.
std::string NotSupported(const ::option* options, int id, const char* why) {
  while (options->name != nullptr && options->val != id) ++options;
  const std::string name = options->name == nullptr ? "option" : options->name;
  return "--" + name + ": " + (why == nullptr ? "not supported by this version" : why);
}

std::string UserName(const std::string& user) {
  const auto number = ParseCount(user);
  const struct passwd* entry = number ? ::getpwuid(static_cast<uid_t>(*number)) : nullptr;
  return entry == nullptr ? user : entry->pw_name;
}

bool InPartitions(const std::vector<std::string>& list, const JobRow& row,
                  const std::string& default_ns) {
  if (list.empty()) return true;
  return std::any_of(list.begin(), list.end(), [&](const std::string& text) {
    const Partition partition = SplitPartition(text, default_ns);
    return partition.ns == row.ns &&
           (partition.queue == row.queue || ListsName(row.extra->partitions, partition.queue));
  });
}

bool PassesFilter(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

std::optional<client::Settings> FindServer(const char* command) {
  Result<client::Settings> settings =
      client::LoadSettings({}, client::ProcessEnv, client::DefaultConfigFile(client::ProcessEnv));
  if (!settings.ok()) {
    PrintError(command, settings.error().detail);
    return std::nullopt;
  }
  if (!settings->warning.empty())
    std::fprintf(stderr, "%s: warning: %s\n", command, settings->warning.c_str());
  settings->warn = [command](const std::string& text) {
    std::fprintf(stderr, "%s: warning: %s\n", command, text.c_str());
  };
  return std::move(settings).value();
}

std::string FailureText(const client::Failure& failure) {
  switch (failure.kind) {
    case client::Failure::Kind::kUnreachable:
      return "Unable to contact slurm controller (connect failure): " + failure.detail;
    case client::Failure::Kind::kTimedOut:
      return "Socket timed out on send/recv operation: " + failure.detail;
    default:
      // The server answers, but it is starting or another daemon leads. For Slurm's users that is a
      // controller that cannot be reached.
      if (failure.status == 503)
        return "Unable to contact slurm controller (connect failure): " + failure.detail;
      return failure.detail;
  }
}

Partition SplitPartition(std::string_view text, const std::string& default_ns) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {default_ns, std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string_view PartitionOf(const JobRow& row, std::string_view default_ns, std::string* scratch) {
  const std::string_view names = row.extra->partitions.empty() ? row.queue : row.extra->partitions;
  if (row.ns == default_ns) return names;
  scratch->assign(row.ns);
  scratch->push_back('/');
  scratch->append(names);
  return *scratch;
}

// The local account is not asked about where a token or certificate decides who it is: its name may
// be somebody else's there, and `scancel --me` would cancel that user's jobs.
client::Outcome<std::string> OwnUser(client::ApiClient& api) {
  const client::Settings& settings = api.settings();
  if (!settings.as_user.empty()) return settings.as_user;
  bool shows = !settings.token.empty() || settings.source != nullptr || settings.server.tls;
  if (!shows && settings.signer) {
    const Result<std::string> given = settings.signer(client::HttpRequest{});
    if (!given.ok()) return client::LocalFailure(given.error().detail);
    shows = !given->empty();
  }
  if (!shows) return client::CurrentUser();
  const client::Outcome<json::value> who = api.Get("/v1/whoami");
  if (!who.ok()) return who.failure();
  std::string user = client::PathText(*who, "user");
  if (user.empty()) return client::BadAnswer("the server does not say who asks");
  return user;
}

// Refuses signs, blanks and numbers that do not fit 64 bits.
std::optional<std::int64_t> ParseCount(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> SplitList(std::string_view text) {
  // Commas inside of brackets do not separate: "12_[1,3],14" has two parts.
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth <= 0) {
      if (!part.empty()) out.push_back(std::move(part));
      part.clear();
    } else {
      part.push_back(c);
    }
  }
  if (!part.empty()) out.push_back(std::move(part));
  return out;
}

// "12_*" is the whole array.
std::optional<JobSpec> ParseJobSpec(std::string_view text) {
  JobSpec out;
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos) {
    out.step = std::string(text.substr(dot + 1));
    if (out.step != "batch" && out.step != "extern" && out.step != "interactive" &&
        !ParseCount(out.step))
      return std::nullopt;
    text = text.substr(0, dot);
  }
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto offset = ParseCount(text.substr(plus + 1));
    if (!offset || *offset > 1000) return std::nullopt;
    out.het_offset = static_cast<std::int32_t>(*offset);
    text = text.substr(0, plus);
  }
  const std::size_t split = text.find('_');
  const auto id = ParseCount(text.substr(0, split));
  if (!id || *id == 0) return std::nullopt;
  out.id = *id;
  if (split == std::string_view::npos) return out;
  std::string_view tasks = text.substr(split + 1);
  if (tasks == "*") return out;
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  std::optional<TaskRanges> parsed = ParseTasks(tasks);
  if (!parsed) return std::nullopt;
  out.tasks_only = true;
  out.tasks = std::move(*parsed);
  return out;
}

// An id without tasks means the job or, if it is an array, all its tasks.
bool Matches(const JobSpec& spec, const JobRow& row) {
  if (!spec.tasks_only)
    return row.id == spec.id || (row.array_job_id != 0 && row.array_job_id == spec.id);
  if (row.array_job_id != spec.id) return false;
  if (!IsArrayRecord(row)) return HasTask(spec.tasks, row.array_task_id);
  const std::optional<TaskRanges> waiting = ParseTasks(row.extra->waiting_tasks);
  return waiting && !CommonTasks(*waiting, spec.tasks).empty();
}

std::string SpecText(const JobSpec& spec) {
  std::string out = std::to_string(spec.id);
  if (spec.het_offset >= 0) out += "+" + std::to_string(spec.het_offset);
  if (!spec.tasks_only) return out;
  const std::string tasks = TasksText(spec.tasks);
  const bool single = tasks.find_first_of(",-:") == std::string::npos;
  return out + (single ? "_" + tasks : "_[" + tasks + "]");
}

// The tasks of an array are asked for as such, so the answer is as long as the array's records are
// many.
client::Outcome<Done> FetchSpecs(client::ApiClient& api, const std::vector<JobSpec>& specs,
                                 JobList* list) {
  std::vector<client::Query> arrays;
  for (const JobSpec& spec : specs) {
    const std::size_t before = list->rows().size();
    client::Outcome<bool> found = FetchJob(api, std::to_string(spec.id), list);
    if (!found.ok()) return found.failure();
    // A row that stands for an array is replaced below by the rows of its tasks.
    const bool array =
        *found && list->rows().size() > before && list->rows().back().array_job_id == spec.id;
    if (!array && !spec.tasks_only) continue;
    if (array) {
      client::Query query;
      query.Add("array", std::to_string(spec.id));
      arrays.push_back(std::move(query));
    }
    list->rows().resize(before);
  }
  for (const client::Query& query : arrays) {
    const auto listed = FetchJobs(api, query, list);
    if (!listed.ok()) return listed.failure();
    std::erase_if(list->rows(), [&](const JobRow& row) {
      return std::none_of(specs.begin(), specs.end(),
                          [&](const JobSpec& spec) { return Matches(spec, row); });
    });
  }
  std::vector<JobRow>& rows = list->rows();
  std::sort(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) { return a.id < b.id; });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [](const JobRow& a, const JobRow& b) { return a.id == b.id; }),
             rows.end());
  return Done{};
}

// The host list is expanded only if the member's name is not what is asked for.
bool OnNodes(const std::vector<std::string>& nodes, const JobRow& row) {
  if (nodes.empty()) return true;
  if (IsPending(row.state)) return false;
  if (PassesFilter(nodes, row.cluster) || PassesFilter(nodes, row.node_list)) return true;
  if (row.node_list.find_first_of("[,") == std::string_view::npos) return false;
  const auto hosts = ExpandHostlist(row.node_list);
  return hosts && std::any_of(hosts->begin(), hosts->end(),
                              [&](const std::string& host) { return PassesFilter(nodes, host); });
}

void WriteOut(std::string_view text) {
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace muster::slurm
