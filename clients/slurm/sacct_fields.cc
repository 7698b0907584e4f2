// The table of sacct's fields: name, width and how a cell is made. The names and widths are those
// of `sacct --helpformat` in its order; a field that Muster does not measure has no function and is
// always empty. Fields of the whole job, such as Partition, are empty on the line of a batch step
// (JobOnly).
#include "clients/slurm/sacct_fields.h"

#include <strings.h>

#include <cstdio>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"

namespace muster::slurm {
namespace {

using AccountingCell = std::string (*)(const SacctLine& line);

struct AccountingField {
  const char* name;  // in Slurm's spelling; compared without case
  int width;
  AccountingCell cell;  // null: Muster measures nothing of the kind
};

// "12", or "12_3" for a task of an array; the batch step has ".batch" behind it.
std::string Id(const SacctLine& line) {
  const JobRow& row = *line.row;
  std::string id = row.array_job_id == 0
                       ? std::to_string(row.id)
                       : std::to_string(row.array_job_id) + "_" + std::to_string(row.array_task_id);
  return line.batch_step ? id + ".batch" : id;
}

// Local time; "Unknown" where there is none yet, as sacct writes it.
std::string Stamp(std::string_view stamp, const SacctLine& line) {
  const std::int64_t epoch = ParseStamp(stamp);
  return epoch == 0 ? "Unknown" : FormatTime(epoch, line.time_format);
}

std::string ExitCode(const SacctLine& line) { return ExitText(*line.row); }

// Empty on the line of a batch step.
std::string JobOnly(const SacctLine& line, std::string_view text) {
  return line.batch_step ? std::string() : std::string(text);
}

bool Started(const JobRow& row) { return !row.start_time.empty(); }

// A number of what is allocated: 0 for a job that is not admitted.
std::string Allocated(const SacctLine& line, std::int64_t number) {
  return std::to_string(Started(*line.row) || line.row->state == State::kConfiguring ? number : 0);
}

// Memory in `unit` (0: M below a gigabyte, else G): whole, or with two digits behind the point.
std::string MemoryText(std::int64_t mb, char unit) {
  if (unit == 0) unit = mb < 1024 ? 'M' : 'G';
  if (unit == 'K') return std::to_string(mb * 1024) + "K";
  std::int64_t per_unit = 1;
  for (const char larger : {'G', 'T', 'P'}) {
    if (unit == 'M') break;
    per_unit *= 1024;
    if (unit == larger) break;
  }
  if (mb % per_unit == 0) return std::to_string(mb / per_unit) + unit;
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f%c",
                static_cast<double>(mb) / static_cast<double>(per_unit), unit);
  return text;
}

// For one node: what a script asked for, else the average of the pods.
std::string RequestedMemory(const SacctLine& line) {
  const JobRow& row = *line.row;
  std::int64_t mb = row.memory_per_node_mb;
  if (mb == 0 && row.pods > 0) mb = row.memory_bytes / row.pods >> 20;
  return MemoryText(mb, line.unit);
}

// Slurm's trackable resources: "billing=4,cpu=4,mem=8192M,node=1,gres/gpu=2". Billing equals the
// CPUs.
std::string Tres(const SacctLine& line) {
  const JobRow& row = *line.row;
  std::string out = "billing=" + std::to_string(CpuCount(row)) +
                    ",cpu=" + std::to_string(CpuCount(row)) +
                    ",mem=" + MemoryText(row.memory_bytes >> 20, line.unit == 0 ? 'M' : line.unit) +
                    ",node=" + std::to_string(NodeCount(row));
  if (row.gpus != 0) out += ",gres/gpu=" + std::to_string(row.gpus);
  return out;
}

std::int64_t Elapsed(const SacctLine& line) { return ElapsedSeconds(*line.row, line.now); }

std::string Limit(const SacctLine& line) {
  if (line.batch_step) return "";
  return line.row->time_limit_s == 0 ? "UNLIMITED" : LongDuration(line.row->time_limit_s);
}

// How long the job has waited, or waited until it started.
std::string Planned(const SacctLine& line) {
  if (line.batch_step) return "";
  const std::int64_t submitted = ParseStamp(line.row->submit_time);
  const std::int64_t until = Started(*line.row) ? ParseStamp(line.row->start_time) : line.now;
  return LongDuration(until - submitted);
}

const AccountingField kAccountingFields[] =
    {
        {"Account", 10,
         [](const SacctLine& l) {
  return std::string(l.row->cluster_queue);
         }},
        {"AdminComment", 19, nullptr},
        {"AllocCPUS", 10, [](const SacctLine& l) { return Allocated(l, CpuCount(*l.row)); }},
        {"AllocNodes", 10,
         [](const SacctLine& l) {
  return Allocated(l, NodeCount(*l.row));
         }},
                      {"AllocTRES", 10,
                       [](const SacctLine& l) {
  return Started(*l.row) ? Tres(l) : std::string();
                       }},
    {"AssocID", 7, nullptr}, {"AveCPU", 10, nullptr}, {"AveCPUFreq", 10, nullptr},
    {"AveDiskRead", 14, nullptr}, {"AveDiskWrite", 14, nullptr}, {"AvePages", 10, nullptr},
    {"AveRSS", 10, nullptr}, {"AveVMSize", 10, nullptr}, {"BlockID", 16, nullptr},
    {"Cluster", 10, [](const SacctLine& l) { return std::string(l.row->cluster); }},
    {"Comment", 14, [](const SacctLine& l) { return JobOnly(l, l.row->comment); }},
    {"Constraints", 19, nullptr}, {"ConsumedEnergy", 14, nullptr},
    {"ConsumedEnergyRaw", 17, nullptr}, {"Container", 19, nullptr},
    {"CPUTime", 10, [](const SacctLine& l) { return LongDuration(Elapsed(l) * CpuCount(*l.row)); }},
    {"CPUTimeRAW", 10,
     [](const SacctLine& l) { return std::to_string(Elapsed(l) * CpuCount(*l.row)); }},
    {"DBIndex", 10, nullptr},
    {"DerivedExitCode", 15,
     [](const SacctLine& l) { return l.batch_step ? std::string() : ExitCode(l); }},
    {"Elapsed", 10, [](const SacctLine& l) { return LongDuration(Elapsed(l)); }},
    {"ElapsedRaw", 10, [](const SacctLine& l) { return std::to_string(Elapsed(l)); }},
    {"Eligible", 19,
     [](const SacctLine& l) {
  return l.batch_step ? std::string() : Stamp(EligibleTime(*l.row), l);
     }},
    {"End", 19, [](const SacctLine& l) { return Stamp(l.row->end_time, l); }},
    {"ExitCode", 8, ExitCode}, {"Extra", 19, nullptr}, {"FailedNode", 19, nullptr},
    {"Flags", 14, nullptr}, {"GID", 6, nullptr}, {"Group", 9, nullptr}, {"JobID", -12, Id},
    {"JobIDRaw", -12,
     [](const SacctLine& l) { return std::to_string(l.row->id) + (l.batch_step ? ".batch" : ""); }},
    {"JobName", 10,
     [](const SacctLine& l) {
  return l.batch_step ? std::string("batch") : std::string(l.row->name);
     }},
    {"Layout", 9, nullptr}, {"Licenses", 19, nullptr}, {"MaxDiskRead", 12, nullptr},
    {"MaxDiskReadNode", 15, nullptr}, {"MaxDiskReadTask", 15, nullptr},
    {"MaxDiskWrite", 12, nullptr}, {"MaxDiskWriteNode", 16, nullptr},
    {"MaxDiskWriteTask", 16, nullptr}, {"MaxPages", 8, nullptr}, {"MaxPagesNode", 12, nullptr},
    {"MaxPagesTask", 14, nullptr}, {"MaxRSS", 10, nullptr}, {"MaxRSSNode", 10, nullptr},
    {"MaxRSSTask", 10, nullptr}, {"MaxVMSize", 10, nullptr}, {"MaxVMSizeNode", 14, nullptr},
    {"MaxVMSizeTask", 14, nullptr}, {"McsLabel", 10, nullptr}, {"MinCPU", 10, nullptr},
    {"MinCPUNode", 10, nullptr}, {"MinCPUTask", 10, nullptr},
    {"NCPUS", 10, [](const SacctLine& l) { return Allocated(l, CpuCount(*l.row)); }},
    {"NNodes", 8, [](const SacctLine& l) { return std::to_string(NodeCount(*l.row)); }},
    {"NodeList", 15,
     [](const SacctLine& l) {
  return l.row->cluster.empty() ? std::string("None assigned") : std::string(l.row->cluster);
     }},
    {"NTasks", 8,
     [](const SacctLine& l) { return l.batch_step ? std::string("1") : std::string(); }},
    {"Partition", 10,
     [](const SacctLine& l) {
  std::string scratch;
  return JobOnly(l, PartitionOf(*l.row, l.default_ns, &scratch));
     }},
    {"Planned", 10, Planned}, {"PlannedCPU", 10, nullptr}, {"PlannedCPURAW", 13, nullptr},
    {"Priority", 10,
     [](const SacctLine& l) { return JobOnly(l, std::to_string(l.row->priority)); }},
    {"QOS", 10, [](const SacctLine& l) { return JobOnly(l, l.row->priority_class); }},
    {"QOSRAW", 10, nullptr}, {"QOSREQ", 10, nullptr},
    {"Reason", 22, [](const SacctLine& l) { return JobOnly(l, SlurmReason(*l.row)); }},
    {"ReqCPUFreq", 10, nullptr}, {"ReqCPUFreqGov", 13, nullptr}, {"ReqCPUFreqMax", 13, nullptr},
    {"ReqCPUFreqMin", 13, nullptr},
    {"ReqCPUS", 8, [](const SacctLine& l) { return std::to_string(CpuCount(*l.row)); }},
    {"ReqMem", 10, [](const SacctLine& l) { return JobOnly(l, RequestedMemory(l)); }},
    {"ReqNodes", 8, [](const SacctLine& l) { return std::to_string(NodeCount(*l.row)); }},
    {"ReqTRES", 10, [](const SacctLine& l) { return l.batch_step ? std::string() : Tres(l); }},
    {"Reservation", 20, nullptr}, {"ReservationId", 15, nullptr}, {"Reserved", 10, Planned},
    {"ResvCPU", 10, nullptr}, {"ResvCPURAW", 10, nullptr},
    {"Restarts", 8,
     [](const SacctLine& l) {
  return JobOnly(l, std::to_string(l.row->attempt > 1 ? l.row->attempt - 1 : 0));
     }},
    {"Start", 19, [](const SacctLine& l) { return Stamp(l.row->start_time, l); }},
    {"State", 10, [](const SacctLine& l) { return std::string(LongName(l.row->state)); }},
    {"StdErr", 15, [](const SacctLine& l) { return JobOnly(l, l.row->std_err); }},
    {"StdIn", 15, nullptr},
    {"StdOut", 15, [](const SacctLine& l) { return JobOnly(l, l.row->std_out); }},
    {"Submit", 19, [](const SacctLine& l) { return Stamp(l.row->submit_time, l); }},
    {"SubmitLine", 20, nullptr},
    {"Suspended", 10, [](const SacctLine&) { return std::string("00:00:00"); }},
    {"SystemComment", 19, nullptr}, {"SystemCPU", 10, nullptr}, {"Timelimit", 10, Limit},
    {"TimelimitRaw", 12,
     [](const SacctLine& l) {
  return JobOnly(l, std::to_string((l.row->time_limit_s + 59) / 60));
     }},
    {"TotalCPU", 10, nullptr}, {"TRESUsageInAve", 14, nullptr}, {"TRESUsageInMax", 14, nullptr},
    {"TRESUsageInMaxNode", 18, nullptr}, {"TRESUsageInMaxTask", 18, nullptr},
    {"TRESUsageInMin", 14, nullptr}, {"TRESUsageInMinNode", 18, nullptr},
    {"TRESUsageInMinTask", 18, nullptr}, {"TRESUsageInTot", 14, nullptr},
    {"TRESUsageOutAve", 15, nullptr}, {"TRESUsageOutMax", 15, nullptr},
    {"TRESUsageOutMaxNode", 19, nullptr}, {"TRESUsageOutMaxTask", 19, nullptr},
    {"TRESUsageOutMin", 15, nullptr}, {"TRESUsageOutMinNode", 19, nullptr},
    {"TRESUsageOutMinTask", 19, nullptr}, {"TRESUsageOutTot", 15, nullptr},
    {"UID", 6,
     [](const SacctLine& l) {
  std::string scratch;
  RowContext context;
  return JobOnly(l, SqueueCell(*SqueueFieldByLetter('U'), *l.row, context, &scratch));
     }},
    {"User", 9, [](const SacctLine& l) { return JobOnly(l, l.row->user); }},
    {"UserCPU", 10, nullptr}, {"WCKey", 10, nullptr}, {"WCKeyID", 8, nullptr},
    {"WorkDir", 20, [](const SacctLine& l) { return JobOnly(l, l.row->work_dir); }},
    };

}  // namespace

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
