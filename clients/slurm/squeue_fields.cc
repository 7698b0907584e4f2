// The table of squeue's fields: letter, long name, header, the members of the job view that the
// cell needs, and the function that makes the cell.
//
// A cell function returns a view of the row, of static text or of `scratch`, so that a cell costs
// no allocation. The names, headers and forms are those of squeue's manual page; a field that
// Muster has nothing for shows Slurm's word for none.
#include "clients/slurm/squeue_fields.h"

#include <pwd.h>
#include <strings.h>

#include <charconv>
#include <cstdio>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/base/saturating.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kNull = "(null)";
constexpr std::string_view kNotKnown = "N/A";

using QueueCell = std::string_view (*)(const JobRow& row, const RowContext& context,
                                       std::string* scratch);

struct QueueField {
  char letter;  // 0 if it has only a name
  const char* name;
  const char* header;
  const char* members;  // see SqueueMembers
  QueueCell cell;
};

void AppendNumber(std::int64_t number, std::string* out) {
  char text[24];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  out->append(text, end);
}

std::string_view Number(std::int64_t number, std::string* scratch) {
  return AppendNumber(number, scratch), *scratch;
}

std::string_view OrNull(std::string_view text) { return text.empty() ? kNull : text; }

// "12", "12_3" for a task of an array, or the text of a line that stands for several tasks.
std::string_view Id(const JobRow& row, const RowContext& context, std::string* out) {
  if (!context.array_text.empty()) return context.array_text;
  if (row.array_job_id == 0) {
    AppendNumber(row.id, out);
  } else {
    AppendNumber(row.array_job_id, out);
    out->push_back('_');
    AppendNumber(row.array_task_id, out);
  }
  if (context.step_line) out->append(".batch");
  return *out;
}

std::string_view Time(std::string_view stamp, const RowContext& context, std::string* out) {
  const std::int64_t epoch = ParseStamp(stamp);
  if (epoch == 0) return kNotKnown;
  *out = FormatTime(epoch, context.time_format);
  return *out;
}

// The end, or for a running job with a time limit the time when the limit ends it.
std::string_view End(const JobRow& row, const RowContext& context, std::string* out) {
  if (!row.end_time.empty()) return Time(row.end_time, context, out);
  if (row.state != State::kRunning || row.time_limit_s == 0) return kNotKnown;
  *out =
      FormatTime(SaturatingAdd(ParseStamp(row.start_time), row.time_limit_s), context.time_format);
  return *out;
}

// The node for jobs that have one or had one, else the reason in parentheses.
std::string_view NodesOrReason(const JobRow& row, const RowContext&, std::string* out) {
  if (row.state == State::kRunning || row.state == State::kConfiguring ||
      row.state == State::kCompleted) {
    return row.cluster;
  }
  out->push_back('(');
  out->append(SlurmReason(row));
  out->push_back(')');
  return *out;
}

// Empty for pending jobs, also for those that ran before.
std::string_view Nodes(const JobRow& row, const RowContext&, std::string*) {
  return row.state == State::kPending ? std::string_view() : row.cluster;
}

std::string_view Limit(const JobRow& row, const RowContext&, std::string* out) {
  if (row.time_limit_s == 0) return "UNLIMITED";
  return AppendShortDuration(row.time_limit_s, out), *out;
}

// Negative once the limit has passed, which the short form shows as 0:00.
std::string_view Left(const JobRow& row, const RowContext& context, std::string* out) {
  if (row.time_limit_s == 0) return "UNLIMITED";
  return AppendShortDuration(row.time_limit_s - ElapsedSeconds(row, context.now), out), *out;
}

// Memory for one node: what a script asked for, else the average of the pods. Whole gigabytes are
// shown as such.
std::string_view Memory(const JobRow& row, const RowContext& context, std::string* out) {
  std::int64_t mb = row.memory_per_node_mb;
  if (mb == 0 && row.pods > 0) mb = row.memory_bytes / row.pods >> 20;
  if (mb != 0 && mb % 1024 == 0 && !context.no_convert)
    return AppendNumber(mb / 1024, out), out->push_back('G'), *out;
  AppendNumber(mb, out);
  if (mb != 0) out->push_back('M');
  return *out;
}

// What a script asked for with --gres, else the GPUs of one pod.
std::string_view TresPerNode(const JobRow& row, const RowContext&, std::string* out) {
  if (!row.gres.empty()) {
    if (!row.gres.starts_with("gres/")) out->append("gres/");
    return out->append(row.gres), *out;
  }
  if (row.gpus == 0) return kNotKnown;
  out->append("gres/gpu:");
  return Number(row.pods > 0 ? row.gpus / row.pods : row.gpus, out);
}

// Slurm's trackable resources: "cpu=4,mem=8192M,node=1,gres/gpu=2".
std::string_view Tres(const JobRow& row, const RowContext&, std::string* out) {
  out->append("cpu=");
  AppendNumber(CpuCount(row), out);
  out->append(",mem=");
  AppendNumber(row.memory_bytes >> 20, out);
  out->append("M,node=");
  AppendNumber(NodeCount(row), out);
  if (row.gpus != 0) out->append(",gres/gpu="), AppendNumber(row.gpus, out);
  return *out;
}

std::string_view Uid(const JobRow& row, const RowContext&, std::string* out) {
  // Rows of the same user often follow each other, so the last look-up is remembered. 65534 is
  // "nobody", for a user that this host does not know.
  static thread_local std::string last_user;
  static thread_local std::int64_t last_uid = 0;
  if (last_user != row.user) {
    last_user = row.user;
    const struct passwd* entry = ::getpwnam(last_user.c_str());
    last_uid = entry == nullptr ? 65534 : entry->pw_uid;
  }
  return Number(last_uid, out);
}

constexpr QueueField kQueueFields[] =
    {
        {'i', "JobArrayID", "JOBID", "id,batch", Id},
        {'A', "JobID", "JOBID", "id",
         [](const JobRow& r, const RowContext&, std::string* s) { return Number(r.id, s); }},
        {'F', "ArrayJobID", "ARRAY_JOB_ID", "id,batch",
         [](const JobRow& r, const RowContext&,
            std::string* s) { return Number(r.array_job_id != 0 ? r.array_job_id : r.id, s); }},
        {'K', "ArrayTaskID", "ARRAY_TASK_ID", "batch",
         [](const JobRow& r, const RowContext& c, std::string* s) -> std::string_view {
           if (r.array_job_id == 0) return kNotKnown;
           const std::size_t split = c.array_text.find('_');
           if (split != std::string_view::npos) {
             std::string_view tasks = c.array_text.substr(split + 1);
             return tasks.starts_with('[') ? tasks.substr(1, tasks.size() - 2) : tasks;
           }
           return Number(r.array_task_id, s);
         }},
        {'j', "Name", "NAME", "name,displayName",
         [](const JobRow& r, const RowContext&, std::string*) { return r.name; }},
        {'u', "UserName", "USER", "user",
         [](const JobRow& r, const RowContext&, std::string*) { return r.user; }},
        {'U', "UserID", "UID", "user", Uid},
        {'a', "Account", "ACCOUNT", "clusterQueue",
         [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.cluster_queue); }},
        {'P', "Partition", "PARTITION", "queue,namespace",
         [](const JobRow& r, const RowContext& c,
            std::string* s) { return PartitionOf(r, c.default_ns, s); }},
        {'q', "QOS", "QOS", "priorityClass",
         [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.priority_class); }},
        {'t', "StateCompact", "ST", "",
         [](const JobRow& r, const RowContext&, std::string*) { return CompactName(r.state); }},
        {'T', "State", "STATE", "",
         [](const JobRow& r, const RowContext&, std::string*) { return LongName(r.state); }},
        {'r', "Reason", "REASON", "",
         [](const JobRow& r, const RowContext&, std::string*) { return SlurmReason(r); }},
        {'R', "ReasonList", "NODELIST(REASON)", "cluster", NodesOrReason},
        {'N', "NodeList", "NODELIST", "cluster", Nodes},
        {'B', "BatchHost", "EXEC_HOST", "cluster",
         [](const JobRow& r, const RowContext& c, std::string* s) -> std::string_view {
           const std::string_view node = Nodes(r, c, s);
           return node.empty() ? "n/a" : node;
         }},
        {'D', "NumNodes", "NODES", "podSets,batch",
         [](const JobRow& r, const RowContext&, std::string* s) {
  return Number(NodeCount(r), s);
         }},
        {'C', "NumCPUs", "CPUS", "podSets",
         [](const JobRow& r, const RowContext&, std::string* s) { return Number(CpuCount(r), s); }},
        {0, "NumTasks", "TASKS", "podSets,batch",
         [](const JobRow& r, const RowContext&,
            std::string* s) { return Number(r.is_batch ? r.tasks : r.pods, s); }},
        {'c', "MinCPUs", "MIN_CPUS", "batch",
         [](const JobRow& r, const RowContext&,
            std::string* s) { return Number(r.cpus_per_task > 0 ? r.cpus_per_task : 1, s); }},
        {'m', "MinMemory", "MIN_MEMORY", "podSets,batch", Memory},
        {'b', "tres-per-node", "TRES_PER_NODE", "podSets,batch", TresPerNode},
        {0, "gres", "GRES", "podSets,batch", TresPerNode},
        {0, "tres", "TRES", "podSets,batch", Tres},
        {0, "tres-alloc", "TRES_ALLOC", "podSets,batch",
         [](const JobRow& r, const RowContext& c, std::string* s) -> std::string_view {
           return r.state == State::kPending ? kNotKnown : Tres(r, c, s);
         }},
        {'M', "TimeUsed", "TIME", "startTime,endTime",
         [](const JobRow& r, const RowContext& c, std::string* s) -> std::string_view {
           if (r.start_time.empty()) return "0:00";
           return AppendShortDuration(ElapsedSeconds(r, c.now), s), *s;
         }},
        {'l', "TimeLimit", "TIME_LIMIT", "timeLimitSeconds", Limit},
        {'L', "TimeLeft", "TIME_LEFT", "timeLimitSeconds,startTime,endTime", Left},
        {'S', "StartTime", "START_TIME", "startTime,requeueAt",
         [](const JobRow& r, const RowContext& c,
            std::string* s) { return Time(StartTime(r), c, s); }},
        {'e', "EndTime", "END_TIME", "endTime,timeLimitSeconds,startTime", End},
        {'V', "SubmitTime", "SUBMIT_TIME", "submitTime",
         [](const JobRow& r, const RowContext& c,
            std::string* s) { return Time(r.submit_time, c, s); }},
        {0, "EligibleTime", "ELIGIBLE_TIME", "submitTime,requeueAt",
         [](const JobRow& r, const RowContext& c, std::string* s) {
  return r.held ? kNotKnown : Time(EligibleTime(r), c, s);
         }},
                     {0, "PendingTime", "PENDING_TIME", "submitTime,startTime",
                      [](const JobRow& r, const RowContext& c, std::string* s) {
  const std::int64_t until = r.start_time.empty() ? c.now : ParseStamp(r.start_time);
  return Number(until - ParseStamp(r.submit_time), s);
                      }},
    {'Q', "Priority", "PRIORITY", "priority",
     [](const JobRow& r, const RowContext&, std::string* s) {
  return Number(r.held ? 0 : r.priority, s);
     }},
    {'p', "PriorityFloat", "PRIORITY", "priority",
     [](const JobRow& r, const RowContext&, std::string* s) -> std::string_view {
       // Slurm shows the priority as a share of the 32-bit range.
       char text[40];
       std::snprintf(text, sizeof(text), "%.14f",
                     r.held ? 0.0 : static_cast<double>(r.priority) / 4294967295.0);
       return *s = text, *s;
     }},
    {0, "PriorityLong", "PRIORITY", "priority",
     [](const JobRow& r, const RowContext&, std::string* s) {
  return Number(r.held ? 0 : r.priority, s);
     }},
    {'E', "Dependency", "DEPENDENCY", "",
     [](const JobRow&, const RowContext&, std::string*) { return kNull; }},
    {'k', "Comment", "COMMENT", "batch",
     [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.comment); }},
    {'Z', "WorkDir", "WORK_DIR", "batch",
     [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.work_dir); }},
    {'o', "Command", "COMMAND", "batch",
     [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.command); }},
    {0, "STDOUT", "STDOUT", "batch",
     [](const JobRow& r, const RowContext&, std::string*) { return r.std_out; }},
    {0, "STDERR", "STDERR", "batch",
     [](const JobRow& r, const RowContext&, std::string*) { return r.std_err; }},
    {0, "RestartCnt", "RESTART_COUNT", "attempt",
     [](const JobRow& r, const RowContext&, std::string* s) {
  return Number(r.attempt > 1 ? r.attempt - 1 : 0, s);
     }},
    {'y', "Nice", "NICE", "",
     [](const JobRow&, const RowContext&, std::string*) -> std::string_view { return "0"; }},
    {'v', "Reservation", "RESERVATION", "",
     [](const JobRow&, const RowContext&, std::string*) { return kNull; }},
    {'f', "Feature", "FEATURES", "",
     [](const JobRow&, const RowContext&, std::string*) { return kNull; }},
    {'W', "Licenses", "LICENSES", "",
     [](const JobRow&, const RowContext&, std::string*) { return kNull; }},
    {'Y', "SchedNodes", "SCHEDNODES", "",
     [](const JobRow&, const RowContext&, std::string*) { return kNull; }},
    {0, "Cluster", "CLUSTER", "cluster",
     [](const JobRow& r, const RowContext&, std::string*) { return OrNull(r.cluster); }},
    };

}  // namespace

std::int64_t ElapsedSeconds(const JobRow& row, std::int64_t now) {
  const std::int64_t start = ParseStamp(row.start_time);
  if (start == 0) return 0;
  const std::int64_t end = row.end_time.empty() ? now : ParseStamp(row.end_time);
  return end > start ? end - start : 0;
}

std::optional<std::size_t> SqueueFieldByLetter(char letter) {
  for (std::size_t i = 0; i < std::size(kQueueFields); ++i) {
    if (kQueueFields[i].letter == letter) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> SqueueFieldByName(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kQueueFields); ++i) {
    if (SameWord(name, kQueueFields[i].name)) return i;
  }
  return std::nullopt;
}

std::string_view SqueueMembers(std::size_t field) { return kQueueFields[field].members; }

std::string_view SqueueHeader(std::size_t field) { return kQueueFields[field].header; }

std::string_view SqueueCell(std::size_t field, const JobRow& row, const RowContext& context,
                            std::string* scratch) {
  scratch->clear();
  return kQueueFields[field].cell(row, context, scratch);
}

}  // namespace muster::slurm
