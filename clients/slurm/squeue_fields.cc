// The table of squeue's fields: letter, long name, header, the members of the job view that the
// cell needs, and the function that makes the cell.
//
// A cell function returns a view of the row, of static text or of `scratch`, so that a cell costs
// no allocation. The names, headers and forms are those of squeue's manual page; a field that
// Muster has nothing for shows Slurm's word for none.
#include "clients/slurm/squeue_fields.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <cstdio>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/task_ranges.h"
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

// "12", "12_3" for a task of an array, "12_[3-20%2]" for the waiting ones, "12+1" for a component.
std::string_view Id(const JobRow& row, const RowContext&, std::string* out) {
  AppendNumber(row.array_job_id == 0 ? row.id : row.array_job_id, out);
  if (row.het_offset >= 0) {
    out->push_back('+');
    AppendNumber(row.het_offset, out);
  } else if (IsArrayRecord(row)) {
    out->push_back('_');
    out->append(ShownTasks(row.extra->waiting_tasks, row.extra->task_throttle));
  } else if (row.array_job_id != 0) {
    out->push_back('_');
    AppendNumber(row.array_task_id, out);
  }
  return *out;
}

std::string_view TaskId(const JobRow& row, const RowContext&, std::string* out) {
  if (row.array_job_id == 0) return kNotKnown;
  if (!IsArrayRecord(row)) return Number(row.array_task_id, out);
  *out = ShownTasks(row.extra->waiting_tasks, row.extra->task_throttle);
  if (out->starts_with('[')) *out = out->substr(1, out->size() - 2);
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
  if (!HasNodes(row.state) || row.start_time.empty() || row.time_limit_s == 0) return kNotKnown;
  *out =
      FormatTime(SaturatingAdd(ParseStamp(row.start_time), row.time_limit_s), context.time_format);
  return *out;
}

// The hosts for jobs that have some or had some, else the reason in parentheses.
std::string_view NodesOrReason(const JobRow& row, const RowContext&, std::string* out) {
  if (HasNodes(row.state) || row.state == State::kCompleted) return HostsOf(row);
  out->push_back('(');
  out->append(SlurmReason(row));
  out->push_back(')');
  return *out;
}

// Empty for pending jobs, also for those that ran before.
std::string_view Nodes(const JobRow& row, const RowContext&, std::string*) {
  return IsPending(row.state) ? std::string_view() : HostsOf(row);
}

// The host that runs the script: the first one.
std::string_view BatchHost(const JobRow& row, const RowContext&, std::string* out) {
  if (IsPending(row.state) || HostsOf(row).empty()) return "n/a";
  const std::string_view hosts = HostsOf(row);
  if (hosts.find_first_of("[,") == std::string_view::npos) return hosts;
  *out = FirstHost(hosts);
  return *out;
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

void AppendMegabytes(std::int64_t mb, bool no_convert, std::string* out) {
  if (mb != 0 && mb % 1024 == 0 && !no_convert) {
    AppendNumber(mb / 1024, out);
    out->push_back('G');
    return;
  }
  AppendNumber(mb, out);
  if (mb != 0) out->push_back('M');
}

// Memory for one node or, if it was asked for so, for one CPU: what a script asked for, else the
// average of the pods. Whole gigabytes are shown as such.
std::string_view Memory(const JobRow& row, const RowContext& context, std::string* out) {
  std::int64_t mb = row.extra->memory_per_cpu_mb;
  if (mb == 0) mb = row.memory_per_node_mb;
  if (mb == 0 && row.pods > 0) mb = row.memory_bytes / row.pods >> 20;
  AppendMegabytes(mb, context.no_convert, out);
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
  if (row.memory_bytes != 0) {
    out->append(",mem=");
    AppendMegabytes(row.memory_bytes >> 20, false, out);
  }
  out->append(",node=");
  AppendNumber(NodeCount(row), out);
  out->append(",billing=");
  AppendNumber(CpuCount(row), out);
  if (row.gpus != 0) out->append(",gres/gpu="), AppendNumber(row.gpus, out);
  return *out;
}

// The account of a user of this host. Rows of the same user often follow each other, so the last
// look-up is remembered. 65534 is "nobody", for a user that this host does not know.
struct HostAccount {
  std::string user, group;
  std::int64_t uid = 0, gid = 0;
};
const HostAccount& AccountOf(const JobRow& row) {
  static thread_local HostAccount last;
  if (last.user == row.user && !last.group.empty()) return last;
  last.user = row.user;
  const struct passwd* entry = ::getpwnam(last.user.c_str());
  last.uid = entry == nullptr ? 65534 : entry->pw_uid;
  last.gid = entry == nullptr ? 65534 : entry->pw_gid;
  const struct group* group = ::getgrgid(static_cast<gid_t>(last.gid));
  last.group = group == nullptr ? "nogroup" : group->gr_name;
  return last;
}

// The exit as the status word of wait().
std::int64_t WaitStatus(const JobRow& row) {
  const SlurmExit exit = ExitOf(row);
  return exit.code * 256 + exit.signal;
}

using QueueRow = const JobRow&;
using QueueContext = const RowContext&;
using QueueOut = std::string*;

// The cell of a field that never has another value here.
template <const char* kText>
std::string_view Always(QueueRow, QueueContext, QueueOut) {
  return kText;
}
constexpr char kTextNull[] = "(null)", kTextNone[] = "N/A", kTextZero[] = "0", kTextStar[] = "*",
               kTextEmpty[] = "", kTextNa[] = "NA", kTextOrigin[] = "NONE", kTextSct[] = "*:*:*",
               kTextNoTime[] = "0:00";

// A text of the row, or Slurm's word for none.
template <auto kMember>
std::string_view RowText(QueueRow row, QueueContext, QueueOut) {
  return OrNull(row.*kMember);
}
template <auto kMember>
std::string_view ExtraTextCell(QueueRow row, QueueContext, QueueOut) {
  return OrNull(row.extra->*kMember);
}
// A number that N/A stands for if it was not given.
template <auto kMember>
std::string_view ExtraNumberCell(QueueRow row, QueueContext, QueueOut out) {
  const std::int64_t number = row.extra->*kMember;
  return number == 0 ? kNotKnown : Number(number, out);
}

std::string_view PriorityCell(QueueRow row, QueueContext, QueueOut out) {
  return Number(ShownPriority(row), out);
}

constexpr QueueField kQueueFields[] =
    {
        {'i', "JobArrayID", "JOBID", "id", Id},
        {'A', "JobID", "JOBID", "id",
         [](QueueRow r, QueueContext, QueueOut s) { return Number(r.id, s); }},
        {'F', "ArrayJobID", "ARRAY_JOB_ID", "id",
         [](QueueRow r, QueueContext,
            QueueOut s) { return Number(r.array_job_id != 0 ? r.array_job_id : r.id, s); }},
        {'K', "ArrayTaskID", "ARRAY_TASK_ID", "", TaskId},
        {'j', "Name", "NAME", "name,displayName",
         [](QueueRow r, QueueContext, QueueOut) { return r.name; }},
        {'u', "UserName", "USER", "user",
         [](QueueRow r, QueueContext, QueueOut) { return r.user; }},
        {'U', "UserID", "UID", "user",
         [](QueueRow r, QueueContext, QueueOut s) { return Number(AccountOf(r).uid, s); }},
        {'g', "GroupName", "GROUP", "user",
         [](QueueRow r, QueueContext, QueueOut) { return std::string_view(AccountOf(r).group); }},
        {'G', "GroupID", "GROUP", "user",
         [](QueueRow r, QueueContext, QueueOut s) { return Number(AccountOf(r).gid, s); }},
        {'a', "Account", "ACCOUNT", "clusterQueue", RowText<&JobRow::cluster_queue>},
        {'P', "Partition", "PARTITION", "queue,namespace",
         [](QueueRow r, QueueContext c, QueueOut s) { return PartitionOf(r, c.default_ns, s); }},
        {'q', "QOS", "QOS", "priorityClass",
         [](QueueRow r, QueueContext, QueueOut) { return QosOf(r); }},
        {'t', "StateCompact", "ST", "",
         [](QueueRow r, QueueContext, QueueOut) { return CompactName(r.state); }},
        {'T', "State", "STATE", "",
         [](QueueRow r, QueueContext, QueueOut) { return LongName(r.state); }},
        {'r', "Reason", "REASON", "",
         [](QueueRow r, QueueContext, QueueOut) { return SlurmReason(r); }},
        {'R', "ReasonList", "NODELIST(REASON)", "cluster,nodeList", NodesOrReason},
        {'N', "NodeList", "NODELIST", "cluster,nodeList", Nodes},
        {0, "Nodes", "NODELIST", "cluster,nodeList", Nodes},
        {'B', "BatchHost", "EXEC_HOST", "cluster,nodeList", BatchHost},
        {'D', "NumNodes", "NODES", "podSets",
         [](QueueRow r, QueueContext, QueueOut s) { return Number(NodeCount(r), s); }},
        {'C', "NumCPUs", "CPUS", "podSets",
         [](QueueRow r, QueueContext, QueueOut s) { return Number(CpuCount(r), s); }},
        {0, "NumTasks", "TASKS", "podSets",
         [](QueueRow r, QueueContext,
            QueueOut s) { return Number(r.is_batch ? r.tasks : r.pods, s); }},
        {'c', "MinCPUs", "MIN_CPUS", "",
         [](QueueRow r, QueueContext, QueueOut s) {
  return Number(r.cpus_per_task > 0 ? r.cpus_per_task : 1, s);
         }},
        {0, "cpus-per-task", "CPUS_PER_TASK", "",
         [](QueueRow r, QueueContext, QueueOut s) {
  return Number(r.cpus_per_task > 0 ? r.cpus_per_task : 1, s);
         }},
                     {'m', "MinMemory", "MIN_MEMORY", "podSets", Memory},
                     {'d', "MinTmpDisk", "MIN_TMP_DISK", "", Always<kTextZero>},
                     {'b', "tres-per-node", "TRES_PER_NODE", "podSets", TresPerNode},
                     {0, "gres", "GRES", "podSets", TresPerNode},
                     {0, "tres", "TRES", "podSets", Tres},
                     {0, "tres-alloc", "TRES_ALLOC", "podSets",
                      [](
                          QueueRow r, QueueContext c,
                          QueueOut s) { return IsPending(r.state) ? kNotKnown : Tres(r, c, s); }},
                     {0, "tres-per-job", "TRES_PER_JOB", "", Always<kTextNone>},
                     {0, "tres-per-socket", "TRES_PER_SOCKET", "", Always<kTextNone>},
                     {0, "tres-per-step", "TRES_PER_STEP", "", Always<kTextNone>},
                     {0, "tres-per-task", "TRES_PER_TASK", "", Always<kTextNone>},
                     {0, "tres-bind", "TRES_BIND", "", Always<kTextNone>},
                     {0, "tres-freq", "TRES_FREQ", "", Always<kTextNone>},
                     {0, "cpus-per-tres", "CPUS_PER_TRES", "", Always<kTextNone>},
                     {0, "mem-per-tres", "MEM_PER_TRES", "", Always<kTextNone>},
                     {'M', "TimeUsed", "TIME", "startTime,endTime",
                      [](QueueRow r, QueueContext c, QueueOut s) -> std::string_view {
                        if (r.start_time.empty()) return "0:00";
                        return AppendShortDuration(ElapsedSeconds(r, c.now), s), *s;
                      }},
                     {'l', "TimeLimit", "TIME_LIMIT", "timeLimitSeconds", Limit},
                     {'L', "TimeLeft", "TIME_LEFT", "timeLimitSeconds,startTime,endTime", Left},
                     {0, "MinTime", "TIME_MIN", "",
                      [](QueueRow r, QueueContext, QueueOut s) -> std::string_view {
                        if (r.extra->time_min_s == 0) return kNotKnown;
                        return AppendShortDuration(r.extra->time_min_s, s), *s;
                      }},
                     {'S', "StartTime", "START_TIME", "startTime,requeueAt",
                      [](QueueRow r, QueueContext c,
                         QueueOut s) { return Time(StartTime(r), c, s); }},
                     {'e', "EndTime", "END_TIME", "endTime,timeLimitSeconds,startTime", End},
                     {'V', "SubmitTime", "SUBMIT_TIME", "submitTime",
                      [](QueueRow r, QueueContext c,
                         QueueOut s) { return Time(r.submit_time, c, s); }},
                     {0, "EligibleTime", "ELIGIBLE_TIME", "submitTime,requeueAt",
                      [](QueueRow r, QueueContext c,
                         QueueOut s) { return r.held ? kNotKnown : Time(EligibleTime(r), c, s); }},
                     {0, "AccrueTime", "ACCRUE_TIME", "submitTime,requeueAt",
                      [](
                          QueueRow r, QueueContext c,
                          QueueOut s) { return r.held ? kNotKnown : Time(EligibleTime(r), c, s); }},
                     {0, "Deadline", "DEADLINE", "",
                      [](QueueRow r, QueueContext c, QueueOut s) -> std::string_view {
                        return r.extra->deadline.empty() ? "NONE" : Time(r.extra->deadline, c, s);
                      }},
                     {0, "PendingTime", "PENDING_TIME", "submitTime,startTime",
                      [](QueueRow r, QueueContext c, QueueOut s) {
  const std::int64_t until = r.start_time.empty() ? c.now : ParseStamp(r.start_time);
  return Number(until - ParseStamp(r.submit_time), s);
                      }},
    {0, "LastSchedEval", "LAST_SCHED_EVAL", "", Always<kTextNone>},
    {0, "PreemptTime", "PREEMPT_TIME", "", Always<kTextNone>},
    {0, "ResizeTime", "RESIZE_TIME", "", Always<kTextNone>},
    {0, "DelayBoot", "DELAY_BOOT", "", Always<kTextNoTime>},
    {'Q', "Priority", "PRIORITY", "priority", PriorityCell},
    {0, "PriorityLong", "PRIORITY", "priority", PriorityCell},
    {'p', "PriorityFloat", "PRIORITY", "priority",
     [](QueueRow r, QueueContext, QueueOut s) -> std::string_view {
       // Slurm shows the priority as a share of the 32-bit range.
       char text[40];
       std::snprintf(text, sizeof(text), "%.14f",
                     static_cast<double>(ShownPriority(r)) / 4294967295.0);
       return *s = text, *s;
     }},
    {'E', "Dependency", "DEPENDENCY", "", ExtraTextCell<&JobExtra::dependency>},
    {'k', "Comment", "COMMENT", "batch.comment", RowText<&JobRow::comment>},
    {'Z', "WorkDir", "WORK_DIR", "batch.workDir", RowText<&JobRow::work_dir>},
    {'o', "Command", "COMMAND", "batch.command", RowText<&JobRow::command>},
    {0, "STDIN", "STDIN", "batch.input",
     [](QueueRow r, QueueContext, QueueOut) { return r.std_in.empty() ? "/dev/null" : r.std_in; }},
    {0, "STDOUT", "STDOUT", "batch.output",
     [](QueueRow r, QueueContext, QueueOut) { return r.std_out; }},
    {0, "STDERR", "STDERR", "batch.error",
     [](QueueRow r, QueueContext, QueueOut) { return r.std_err.empty() ? r.std_out : r.std_err; }},
    {0, "RestartCnt", "RESTART_COUNT", "attempt,requeues",
     [](QueueRow r, QueueContext, QueueOut s) { return Number(Restarts(r), s); }},
    {0, "Requeue", "REQUEUE", "batch",
     [](QueueRow r, QueueContext, QueueOut) -> std::string_view { return r.requeue ? "1" : "0"; }},
    {0, "Reboot", "REBOOT", "", Always<kTextZero>},
    {0, "BatchFlag", "BATCH_FLAG", "",
     [](QueueRow r, QueueContext, QueueOut)
         -> std::string_view { return r.is_batch && !r.extra->allocation_only ? "1" : "0"; }},
    {0, "exit_code", "EXIT_CODE", "exitCode,exitSignal",
     [](QueueRow r, QueueContext, QueueOut s) { return Number(WaitStatus(r), s); }},
    {0, "DerivedEC", "DERIVED_EC", "", Always<kTextZero>},
    {'y', "Nice", "NICE", "",
     [](QueueRow r, QueueContext, QueueOut s) { return Number(r.extra->nice, s); }},
    {'v', "Reservation", "RESERVATION", "", ExtraTextCell<&JobExtra::reservation>},
    {'f', "Feature", "FEATURES", "", ExtraTextCell<&JobExtra::features>},
    {0, "ClusterFeature", "CLUSTER_FEATURES", "", Always<kTextNull>},
    {0, "Prefer", "PREFER", "", Always<kTextNone>},
    {'W', "Licenses", "LICENSES", "", ExtraTextCell<&JobExtra::licenses>},
    {'w', "WCKey", "WCKEY", "", ExtraTextCell<&JobExtra::wckey>},
    {'n', "ReqNodes", "REQ_NODES", "",
     [](QueueRow r, QueueContext, QueueOut) { return r.extra->required_nodes; }},
    {'x', "ExcNodes", "EXC_NODES", "",
     [](QueueRow r, QueueContext, QueueOut) { return r.extra->excluded_nodes; }},
    {'Y', "SchedNodes", "SCHEDNODES", "", Always<kTextNull>},
    {'h', "OverSubscribe", "OVER_SUBSCRIBE", "",
     [](QueueRow r, QueueContext, QueueOut) -> std::string_view {
       return r.extra->exclusive ? "NO" : "OK";
     }},
    {'O', "Contiguous", "CONTIGUOUS", "", Always<kTextZero>},
    {'H', "Sockets", "SOCKETS_PER_NODE", "", Always<kTextStar>},
    {'I', "Cores", "CORES_PER_SOCKET", "", Always<kTextStar>},
    {'J', "Threads", "THREADS_PER_CORE", "", Always<kTextStar>},
    {'z', "SCT", "S:C:T", "", Always<kTextSct>},
    {'X', "CoreSpec", "CORE_SPEC", "", Always<kTextNone>},
    {'s', "SelectJobInfo", "SELECT_JOBINFO", "", Always<kTextEmpty>},
    {0, "SPerBoard", "SOCKETS_PER_BOARD", "", Always<kTextStar>},
    {0, "BoardsPerNode", "BOARDS_PER_NODE", "", Always<kTextNone>},
    {0, "NTPerBoard", "NTASKS_PER_BOARD", "", Always<kTextNone>},
    {0, "NTPerCore", "NTASKS_PER_CORE", "", Always<kTextNone>},
    {0, "NTPerSocket", "NTASKS_PER_SOCKET", "", Always<kTextNone>},
    {0, "NTPerNode", "NTASKS_PER_NODE", "", ExtraNumberCell<&JobExtra::tasks_per_node>},
    {0, "MaxCPUs", "MAX_CPUS", "", Always<kTextZero>},
    {0, "MaxNodes", "MAX_NODES", "",
     [](QueueRow r, QueueContext,
        QueueOut s) { return Number(r.max_nodes > r.nodes ? r.max_nodes : 0, s); }},
    {0, "HetJobID", "HET_JOB_ID", "id",
     [](QueueRow r, QueueContext,
        QueueOut s) { return r.het_offset < 0 ? kNotKnown : Number(r.id, s); }},
    {0, "HetJobOffset", "HET_JOB_OFFSET", "",
     [](QueueRow r, QueueContext,
        QueueOut s) { return r.het_offset < 0 ? kNotKnown : Number(r.het_offset, s); }},
    {0, "HetJobIDSet", "HET_JOB_ID_SET", "id",
     [](QueueRow r, QueueContext, QueueOut s) -> std::string_view {
       if (r.het_offset < 0) return kNotKnown;
       AppendNumber(r.id, s);
       s->push_back('-');
       AppendNumber(r.id + static_cast<std::int64_t>(r.extra->components.size()), s);
       return *s;
     }},
    {0, "Cluster", "CLUSTER", "cluster", RowText<&JobRow::cluster>},
    {0, "admin_comment", "ADMIN_COMMENT", "", Always<kTextNull>},
    {0, "system_comment", "SYSTEM_COMMENT", "", Always<kTextNull>},
    {0, "AllocNodes", "ALLOC_NODES", "", Always<kTextNull>},
    {0, "AllocSID", "ALLOC_SID", "", Always<kTextZero>},
    {0, "AssocID", "ASSOC_ID", "", Always<kTextZero>},
    {0, "BurstBuffer", "BURST_BUFFER", "", Always<kTextEmpty>},
    {0, "BurstBufferState", "BURST_BUFFER_STATE", "", Always<kTextEmpty>},
    {0, "Container", "CONTAINER", "", Always<kTextEmpty>},
    {0, "CPUFreq", "CPU_FREQ", "", Always<kTextNone>},
    {0, "MCSLabel", "MCSLABEL", "", Always<kTextNone>},
    {0, "Network", "NETWORK", "", Always<kTextEmpty>},
    {0, "Origin", "ORIGIN", "", Always<kTextOrigin>},
    {0, "OriginRaw", "ORIGIN_RAW", "", Always<kTextNa>},
    {0, "Profile", "PROFILE", "", Always<kTextNone>},
    {0, "ReqSwitch", "REQ_SWITCH", "", Always<kTextZero>},
    {0, "ResvPort", "RESERVED_PORTS", "", Always<kTextNone>},
    {0, "SiblingsActive", "ACTIVE_SIBLINGS", "", Always<kTextNa>},
    {0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", "", Always<kTextNa>},
    {0, "SiblingsViable", "VIABLE_SIBLINGS", "", Always<kTextNa>},
    {0, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", "", Always<kTextNa>},
    {0, "Wait4Switch", "WAIT4SWITCH", "", Always<kTextNoTime>},
    // Of steps: a job has none of these.
    {0, "StepID", "STEPID", "", Always<kTextNone>}, {0, "StepName", "NAME", "", Always<kTextNone>},
    {0, "StepState", "STATE", "", Always<kTextNone>},
    };

}  // namespace

std::int64_t ElapsedSeconds(const JobRow& row, std::int64_t now) {
  const std::int64_t start = ParseStamp(row.start_time);
  if (start == 0) return 0;
  const std::int64_t end = row.end_time.empty() ? now : ParseStamp(row.end_time);
  std::int64_t used = end > start ? end - start : 0;
  if (row.extra != &kNoExtra) {
    used -= row.extra->suspended_s;
    if (row.end_time.empty() && !row.extra->suspended_since.empty())
      used -= now - ParseStamp(row.extra->suspended_since);
  }
  return used > 0 ? used : 0;
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

std::size_t SqueueFieldCount() { return std::size(kQueueFields); }

std::string_view SqueueMembers(std::size_t field) { return kQueueFields[field].members; }

std::string_view SqueueHeader(std::size_t field) { return kQueueFields[field].header; }

std::string_view SqueueCell(std::size_t field, const JobRow& row, const RowContext& context,
                            std::string* scratch) {
  scratch->clear();
  return kQueueFields[field].cell(row, context, scratch);
}

}  // namespace muster::slurm
