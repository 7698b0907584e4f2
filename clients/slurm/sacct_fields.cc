// The table of sacct's fields: name, width and how a cell is made. The names and widths are those
// of `sacct --helpformat` in its order; a field that Muster does not measure has no function and is
// always empty. Fields of the whole job, such as Partition, are empty on the lines of steps
// (JobOnly), measured ones on those of jobs (MeasuredOnly).
#include "clients/slurm/sacct_fields.h"

#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "clients/slurm/usage_text.h"

namespace muster::slurm {
namespace {

using AccountingCell = std::string (*)(const SacctLine& line);

struct AccountingField {
  const char* name;  // in Slurm's spelling; compared without case
  int width;
  AccountingCell cell;  // null: Muster measures nothing of the kind
};

// Local time; "Unknown" where there is none yet, as sacct writes it.
std::string Stamp(std::int64_t epoch, const SacctLine& line) {
  return epoch == 0 ? "Unknown" : FormatTime(epoch, line.time_format);
}

using SacctRef = const SacctLine&;

std::string ExitCode(SacctRef line) {
  const SlurmExit exit = LineExit(line);
  return std::to_string(exit.code) + ":" + std::to_string(exit.signal);
}

// Empty on the line of a step.
std::string JobOnly(SacctRef line, std::string_view text) {
  return line.of_step() ? std::string() : std::string(text);
}

bool Started(const JobRow& row) { return !row.start_time.empty(); }

// A number of what is allocated: 0 for a job that is not admitted.
std::string Allocated(SacctRef line, std::int64_t number) {
  return std::to_string(Started(*line.row) || HasNodes(line.row->state) ? number : 0);
}

std::int64_t LineNodes(SacctRef line) {
  if (line.batch_step) return 1;
  return line.step != nullptr ? line.step->node_count : NodeCount(*line.row);
}

std::string LineHosts(SacctRef line) {
  if (line.step != nullptr && !line.step->nodes.empty()) return line.step->nodes;
  const std::string_view hosts = HostsOf(*line.row);
  if (line.batch_step) return FirstHost(hosts);
  return hosts.empty() ? std::string("None assigned") : std::string(hosts);
}

// Of the whole job, over all its nodes.
std::string RequestedMemory(SacctRef line) {
  if (line.of_step()) return "";
  const std::int64_t mb = line.row->memory_bytes >> 20;
  return mb == 0 ? "0" : MegabytesText(mb, line.unit);
}

// Slurm's trackable resources in the order of their names. Billing equals the CPUs; steps have
// none.
std::string Tres(SacctRef line) {
  const JobRow& row = *line.row;
  const std::string cpus = std::to_string(LineCpus(line));
  std::string out = line.of_step() ? "cpu=" + cpus : "billing=" + cpus + ",cpu=" + cpus;
  if (row.gpus != 0 && line.step == nullptr) out += ",gres/gpu=" + std::to_string(row.gpus);
  const std::int64_t mb = row.memory_bytes >> 20;
  if (mb != 0 && line.step == nullptr)
    out += ",mem=" + MegabytesText(mb, line.unit == 0 ? 'M' : line.unit);
  return out + ",node=" + std::to_string(LineNodes(line));
}

std::string Limit(SacctRef line) {
  if (line.of_step()) return "";
  return line.row->time_limit_s == 0 ? "UNLIMITED" : LongDuration(line.row->time_limit_s);
}

// How long the job has waited, or waited until it started.
std::int64_t WaitedSeconds(SacctRef line) {
  const std::int64_t eligible = ParseStamp(EligibleTime(*line.row));
  std::int64_t until = Started(*line.row) ? ParseStamp(line.row->start_time) : line.now;
  if (!Started(*line.row) && !line.row->end_time.empty()) until = ParseStamp(line.row->end_time);
  return until > eligible ? until - eligible : 0;
}
std::string Planned(SacctRef line) {
  return line.of_step() ? std::string() : LongDuration(WaitedSeconds(line));
}
std::string PlannedCpu(SacctRef line) {
  return line.of_step() ? std::string() : LongDuration(WaitedSeconds(line) * CpuCount(*line.row));
}
std::string PlannedCpuRaw(SacctRef line) {
  return line.of_step() ? std::string() : std::to_string(WaitedSeconds(line) * CpuCount(*line.row));
}

std::string OfQueue(SacctRef line, const char* field) {
  std::string scratch;
  const RowContext context;
  return JobOnly(line, SqueueCell(*SqueueFieldByName(field), *line.row, context, &scratch));
}

// Measured only on lines of steps, and only if something was measured.
std::string MeasuredOnly(SacctRef line, const std::string& text) {
  return line.of_step() && Measured(line.use) ? text : std::string();
}
std::int64_t TasksOf(SacctRef line) {
  const std::int64_t tasks = line.step == nullptr ? 1 : line.step->tasks;
  return tasks > 0 ? tasks : 1;
}
std::int64_t TotalCpu(SacctRef line) { return line.use.user_cpu_us + line.use.system_cpu_us; }

// A size in memory; the peak of the largest task stands for the average too.
std::string Rss(SacctRef line) {
  if (line.no_convert) return MeasuredOnly(line, std::to_string(line.use.max_rss_bytes));
  return MeasuredOnly(line, SizeText(line.use.max_rss_bytes, line.unit == 'M' ? 0 : line.unit));
}
std::string TaskCpu(SacctRef line) {
  return MeasuredOnly(line, LongDuration(TotalCpu(line) / TasksOf(line) / 1'000'000));
}
std::string DiskRead(SacctRef line) {
  return MeasuredOnly(line, TransferText(line.use.read_bytes));
}
std::string DiskWrite(SacctRef line) {
  return MeasuredOnly(line, TransferText(line.use.written_bytes));
}
std::string FirstNode(SacctRef line) { return MeasuredOnly(line, FirstHost(LineHosts(line))); }
std::string FirstTask(SacctRef line) { return MeasuredOnly(line, "0"); }

std::string UsageIn(SacctRef line, std::int64_t cpu_us) {
  return MeasuredOnly(line, "cpu=" + LongDuration(cpu_us / 1'000'000) +
                                ",energy=0,fs/disk=" + std::to_string(line.use.read_bytes) +
                                ",mem=" + SizeText(line.use.max_rss_bytes, 0) +
                                ",pages=0,vmem=" + SizeText(line.use.max_rss_bytes, 0));
}
std::string UsageInOne(SacctRef line) { return UsageIn(line, TotalCpu(line) / TasksOf(line)); }
std::string UsageInAll(SacctRef line) { return UsageIn(line, TotalCpu(line)); }
std::string UsageOut(SacctRef line) {
  return MeasuredOnly(line, "energy=0,fs/disk=" + std::to_string(line.use.written_bytes));
}
std::string UsageNode(SacctRef line) {
  const std::string host = FirstHost(LineHosts(line));
  return MeasuredOnly(line, "cpu=" + host + ",energy=" + host + ",fs/disk=" + host +
                                ",mem=" + host + ",pages=" + host + ",vmem=" + host);
}
std::string UsageTask(SacctRef line) {
  return MeasuredOnly(line, "cpu=0,fs/disk=0,mem=0,pages=0,vmem=0");
}
std::string Zero(SacctRef line) { return MeasuredOnly(line, "0"); }
std::string ReqCpuFreq(SacctRef line) { return line.of_step() ? "0" : "Unknown"; }
std::string CpuSeconds(SacctRef line, bool raw) {
  const std::int64_t seconds = LineElapsed(line) * LineCpus(line);
  return raw ? std::to_string(seconds) : LongDuration(seconds);
}

constexpr AccountingField kAccountingFields[] =
    {
        {"Account", 10,
         [](SacctRef l) {
  return std::string(l.row->cluster_queue);
         }},
        {"AdminComment", 19, nullptr},
        {"AllocCPUS", 10, [](SacctRef l) { return Allocated(l, LineCpus(l)); }},
        {"AllocNodes", 10,
         [](SacctRef l) {
  return Allocated(l, LineNodes(l));
         }},
                          {"AllocTRES", 10,
                           [](SacctRef l) {
  return Started(*l.row) ? Tres(l) : std::string();
                           }},
    {"AssocID", 7, [](SacctRef l) { return JobOnly(l, "0"); }}, {"AveCPU", 10, TaskCpu},
    {"AveCPUFreq", 10, Zero}, {"AveDiskRead", 14, DiskRead}, {"AveDiskWrite", 14, DiskWrite},
    {"AvePages", 10, Zero}, {"AveRSS", 10, Rss}, {"AveVMSize", 10, Rss}, {"BlockID", 16, nullptr},
    {"Cluster", 10, [](SacctRef l) { return std::string(l.row->cluster); }},
    {"Comment", 14, [](SacctRef l) { return JobOnly(l, l.row->comment); }},
    {"Constraints", 19, [](SacctRef l) { return JobOnly(l, l.row->extra->features); }},
    {"ConsumedEnergy", 14, Zero}, {"ConsumedEnergyRaw", 17, Zero}, {"Container", 19, nullptr},
    {"CPUTime", 10, [](SacctRef l) { return CpuSeconds(l, false); }},
    {"CPUTimeRAW", 10, [](SacctRef l) { return CpuSeconds(l, true); }},
    {"DBIndex", 10, [](SacctRef l) { return std::to_string(l.row->id); }},
    {"DerivedExitCode", 15,
     [](SacctRef l) {
  return JobOnly(l, std::to_string(l.derived.code) + ":" + std::to_string(l.derived.signal));
     }},
    {"Elapsed", 10, [](SacctRef l) { return LongDuration(LineElapsed(l)); }},
    {"ElapsedRaw", 10, [](SacctRef l) { return std::to_string(LineElapsed(l)); }},
    {"Eligible", 19,
     [](SacctRef l) {
  if (l.of_step()) return Stamp(LineStart(l), l);
  return l.row->held ? std::string("Unknown") : Stamp(ParseStamp(EligibleTime(*l.row)), l);
     }},
    {"End", 19, [](SacctRef l) { return Stamp(LineEnd(l), l); }}, {"ExitCode", 8, ExitCode},
    {"Extra", 19, nullptr}, {"FailedNode", 19, nullptr},
    {"Flags", 14, [](SacctRef l) { return JobOnly(l, Started(*l.row) ? "SchedMain" : ""); }},
    {"GID", 6, [](SacctRef l) { return OfQueue(l, "GroupID"); }},
    {"Group", 9, [](SacctRef l) { return OfQueue(l, "GroupName"); }}, {"JobID", -12, LineId},
    {"JobIDRaw", -12,
     [](SacctRef l) {
  const std::string id = std::to_string(l.row->id);
  if (l.batch_step) return id + ".batch";
  return l.step == nullptr ? id : id + "." + std::to_string(l.step->step);
     }},
    {"JobName", 10,
     [](SacctRef l) {
  if (l.batch_step) return std::string("batch");
  return l.step == nullptr ? std::string(l.row->name) : l.step->name;
     }},
    {"Layout", 9,
     [](SacctRef l) {
  return std::string(l.step != nullptr ? "Block" : l.batch_step ? "Unknown" : "");
     }},
    {"Licenses", 19, [](SacctRef l) { return JobOnly(l, l.row->extra->licenses); }},
    {"MaxDiskRead", 12, DiskRead}, {"MaxDiskReadNode", 15, FirstNode},
    {"MaxDiskReadTask", 15, FirstTask}, {"MaxDiskWrite", 12, DiskWrite},
    {"MaxDiskWriteNode", 16, FirstNode}, {"MaxDiskWriteTask", 16, FirstTask}, {"MaxPages", 8, Zero},
    {"MaxPagesNode", 12, FirstNode}, {"MaxPagesTask", 14, FirstTask}, {"MaxRSS", 10, Rss},
    {"MaxRSSNode", 10, FirstNode}, {"MaxRSSTask", 10, FirstTask}, {"MaxVMSize", 10, Rss},
    {"MaxVMSizeNode", 14, FirstNode}, {"MaxVMSizeTask", 14, FirstTask}, {"McsLabel", 10, nullptr},
    {"MinCPU", 10, TaskCpu}, {"MinCPUNode", 10, FirstNode}, {"MinCPUTask", 10, FirstTask},
    {"NCPUS", 10, [](SacctRef l) { return Allocated(l, LineCpus(l)); }},
    {"NNodes", 8, [](SacctRef l) { return std::to_string(LineNodes(l)); }},
    {"NodeList", 15, LineHosts},
    {"NTasks", 8, [](SacctRef l) { return l.of_step() ? std::to_string(TasksOf(l)) : ""; }},
    {"Partition", 10,
     [](SacctRef l) {
  std::string scratch;
  return JobOnly(l, PartitionOf(*l.row, l.default_ns, &scratch));
     }},
    {"Planned", 10, Planned}, {"PlannedCPU", 10, PlannedCpu}, {"PlannedCPURAW", 13, PlannedCpuRaw},
    {"Priority", 10, [](SacctRef l) { return JobOnly(l, std::to_string(ShownPriority(*l.row))); }},
    {"QOS", 10, [](SacctRef l) { return JobOnly(l, QosOf(*l.row)); }}, {"QOSRAW", 10, nullptr},
    {"QOSREQ", 10, nullptr},
    {"Reason", 22, [](SacctRef l) { return JobOnly(l, AccountedReason(*l.row)); }},
    {"ReqCPUFreq", 10, ReqCpuFreq}, {"ReqCPUFreqGov", 13, ReqCpuFreq},
    {"ReqCPUFreqMax", 13, ReqCpuFreq}, {"ReqCPUFreqMin", 13, ReqCpuFreq},
    {"ReqCPUS", 8, [](SacctRef l) { return std::to_string(LineCpus(l)); }},
    {"ReqMem", 10, RequestedMemory},
    {"ReqNodes", 8, [](SacctRef l) { return std::to_string(LineNodes(l)); }},
    {"ReqTRES", 10, [](SacctRef l) { return l.of_step() ? std::string() : Tres(l); }},
    {"Reservation", 20, [](SacctRef l) { return JobOnly(l, l.row->extra->reservation); }},
    {"ReservationId", 15, nullptr}, {"Reserved", 10, Planned},
    {"Restarts", 8, [](SacctRef l) { return JobOnly(l, std::to_string(Restarts(*l.row))); }},
    {"ResvCPU", 10, PlannedCpu}, {"ResvCPURAW", 10, PlannedCpuRaw},
    {"Start", 19, [](SacctRef l) { return Stamp(LineStart(l), l); }}, {"State", 10, LineStateText},
    {"StdErr", 15,
     [](SacctRef l) {
  return JobOnly(l, l.row->std_err.empty() ? l.row->std_out : l.row->std_err);
     }},
    {"StdIn", 15,
     [](SacctRef l) { return JobOnly(l, l.row->std_in.empty() ? "/dev/null" : l.row->std_in); }},
    {"StdOut", 15, [](SacctRef l) { return JobOnly(l, l.row->std_out); }},
    {"Submit", 19,
     [](SacctRef l) {
  return Stamp(l.of_step() ? LineStart(l) : ParseStamp(l.row->submit_time), l);
     }},
    {"SubmitLine", 20, [](SacctRef l) { return JobOnly(l, l.row->submit_line); }},
    {"Suspended", 10, [](SacctRef l) { return LongDuration(l.row->extra->suspended_s); }},
    {"SystemComment", 19, nullptr},
    {"SystemCPU", 10, [](SacctRef l) { return CpuTimeText(l.use.system_cpu_us); }},
    {"Timelimit", 10, Limit},
    {"TimelimitRaw", 12,
     [](SacctRef l) {
  if (l.row->time_limit_s == 0) return JobOnly(l, "UNLIMITED");
  return JobOnly(l, std::to_string((l.row->time_limit_s + 59) / 60));
     }},
    {"TotalCPU", 10, [](SacctRef l) { return CpuTimeText(TotalCpu(l)); }},
    {"TRESUsageInAve", 14, UsageInOne}, {"TRESUsageInMax", 14, UsageInOne},
    {"TRESUsageInMaxNode", 18, UsageNode}, {"TRESUsageInMaxTask", 18, UsageTask},
    {"TRESUsageInMin", 14, UsageInOne}, {"TRESUsageInMinNode", 18, UsageNode},
    {"TRESUsageInMinTask", 18, UsageTask}, {"TRESUsageInTot", 14, UsageInAll},
    {"TRESUsageOutAve", 15, UsageOut}, {"TRESUsageOutMax", 15, UsageOut},
    {"TRESUsageOutMaxNode", 19,
     [](SacctRef l) { return MeasuredOnly(l, "fs/disk=" + FirstHost(LineHosts(l))); }},
    {"TRESUsageOutMaxTask", 19, [](SacctRef l) { return MeasuredOnly(l, "fs/disk=0"); }},
    {"TRESUsageOutMin", 15, UsageOut},
    {"TRESUsageOutMinNode", 19,
     [](SacctRef l) { return MeasuredOnly(l, "fs/disk=" + FirstHost(LineHosts(l))); }},
    {"TRESUsageOutMinTask", 19, [](SacctRef l) { return MeasuredOnly(l, "fs/disk=0"); }},
    {"TRESUsageOutTot", 15, UsageOut}, {"UID", 6, [](SacctRef l) { return OfQueue(l, "UserID"); }},
    {"User", 9, [](SacctRef l) { return JobOnly(l, l.row->user); }},
    {"UserCPU", 10, [](SacctRef l) { return CpuTimeText(l.use.user_cpu_us); }},
    {"WCKey", 10, [](SacctRef l) { return JobOnly(l, l.row->extra->wckey); }},
    {"WCKeyID", 8, [](SacctRef l) { return JobOnly(l, "0"); }},
    {"WorkDir", 20, [](SacctRef l) { return JobOnly(l, l.row->work_dir); }},
    };

}  // namespace

std::string LineId(const SacctLine& line) {
  std::string scratch;
  const RowContext context;
  std::string id(SqueueCell(*SqueueFieldByLetter('i'), *line.row, context, &scratch));
  if (line.batch_step) return id + ".batch";
  return line.step == nullptr ? id : id + "." + std::to_string(line.step->step);
}

// The batch step of a job that was ended from outside was cancelled.
State LineState(const SacctLine& line) {
  if (line.step != nullptr) return line.step->state;
  const State state = line.row->state;
  if (!line.batch_step) return state;
  // One that had ended by itself before its job was requeued.
  if (state == State::kRequeued && line.row->reason != "Requeued") {
    const SlurmExit exit = ScriptExitOf(*line.row);
    return exit.code == 0 && exit.signal == 0 ? State::kCompleted : State::kFailed;
  }
  if (state == State::kTimeout || state == State::kPreempted || state == State::kDeadline ||
      state == State::kNodeFail || state == State::kRequeued)
    return State::kCancelled;
  return HasNodes(state) ? State::kRunning : state;
}

SlurmExit LineExit(const SacctLine& line) {
  if (line.step != nullptr) {
    if (line.step->state == State::kOutOfMemory) return {0, 125};
    if (line.step->exit_signal != 0) return {0, line.step->exit_signal};
    return {line.step->exit_code, 0};
  }
  return line.batch_step ? ScriptExitOf(*line.row) : ExitOf(*line.row);
}

std::int64_t LineStart(const SacctLine& line) {
  const std::int64_t start = line.step != nullptr ? ParseStamp(line.step->start_time)
                             : line.batch_step    ? ParseStamp(line.row->start_time)
                                                  : ParseStamp(StartTime(*line.row));
  return start != 0 && line.cut_from != 0 && start < line.cut_from ? line.cut_from : start;
}

std::int64_t LineEnd(const SacctLine& line) {
  const std::int64_t end =
      line.step != nullptr ? ParseStamp(line.step->end_time) : ParseStamp(line.row->end_time);
  if (line.cut_to != 0 && (end == 0 || end > line.cut_to)) return line.cut_to;
  return end;
}

std::int64_t LineElapsed(const SacctLine& line) {
  const bool cut = line.cut_from != 0 || line.cut_to != 0;
  if (line.step == nullptr && !cut) return ElapsedSeconds(*line.row, line.now);
  if (line.step == nullptr && line.row->start_time.empty()) return 0;
  const std::int64_t start = LineStart(line), end = LineEnd(line);
  if (start == 0) return 0;
  const std::int64_t until = end == 0 ? line.now : end;
  return until > start ? until - start : 0;
}

std::int64_t LineCpus(const SacctLine& line) {
  if (line.step != nullptr) return line.step->cpus > 0 ? line.step->cpus : 1;
  const std::int64_t cpus = CpuCount(*line.row);
  const std::int32_t nodes = NodeCount(*line.row);
  // The script has the CPUs of the first node.
  return line.batch_step && nodes > 1 ? (cpus + nodes - 1) / nodes : cpus;
}

std::string_view AccountedReason(const JobRow& row) {
  return IsPending(row.state) ? SlurmReason(row) : std::string_view("None");
}

// Jobs are cancelled by their users, as far as the server tells.
std::string LineStateText(const SacctLine& line) {
  const State state = LineState(line);
  if (state != State::kCancelled || line.of_step()) return std::string(LongName(state));
  return "CANCELLED by " + OfQueue(line, "UserID");
}

std::optional<std::size_t> SacctField(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kAccountingFields); ++i) {
    if (SameWord(name, kAccountingFields[i].name)) return i;
  }
  return std::nullopt;
}

std::string_view SacctName(std::size_t field) { return kAccountingFields[field].name; }
int SacctWidth(std::size_t field) { return kAccountingFields[field].width; }

std::string SacctCell(std::size_t field, const SacctLine& line) {
  return kAccountingFields[field].cell == nullptr ? std::string()
                                                  : kAccountingFields[field].cell(line);
}

std::string SacctHelpFormat() {
  std::string out;
  for (std::size_t i = 0; i < std::size(kAccountingFields); ++i) {
    std::string name = kAccountingFields[i].name;
    name.resize(name.size() < 19 ? 19 : name.size(), ' ');
    out += name;
    out += i % 4 == 3 ? "\n" : " ";
  }
  if (out.back() != '\n') out += '\n';
  return out;
}

}  // namespace muster::slurm
