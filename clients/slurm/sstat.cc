// sstat: what the running steps of a job use (rule B51). The server tells what was measured of a
// step last; the batch step is what the job used beside its steps.
#include <getopt.h>

#include <algorithm>
#include <cstdio>

#include "clients/slurm/attempts.h"
#include "clients/slurm/command.h"
#include "clients/slurm/sacct_fields.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kSstat[] = "sstat";
constexpr char kSstatColumns[] =
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,"
    "MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,"
    "AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,"
    "MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,"
    "AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,"
    "TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"
    "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,"
    "TRESUsageOutMinTask,TRESUsageOutTot";

constexpr char kSstatHelpText[] = R"(Usage: sstat [OPTIONS] -j JOB[.STEP],...
  -j, --jobs=LIST  -a, --allsteps  -o, --format=Field[%WIDTH],...  -e, --helpformat
  -n, --noheader  -p, --parsable  -P, --parsable2  --noconvert  -i, --pidformat
      --help  -V, --version
)";

struct SstatOptions {
  std::vector<JobSpec> jobs;
  std::string format;
  bool all = false, no_header = false, parsable = false, parsable2 = false, no_convert = false,
       pids = false;
};

struct SstatColumn {
  std::size_t field;
  int width;
};

// Fields of sacct, and of sstat alone: the list of nodes goes by the same name, pids are empty.
std::string SetSstatColumns(const SstatOptions& options, std::vector<SstatColumn>* out) {
  std::string text = options.format;
  if (options.pids) text = "JobID,NodeList";
  if (text.empty()) text = kSstatColumns;
  for (const std::string& part : SplitList(text)) {
    const std::size_t percent = part.find('%');
    const auto field = SacctField(part.substr(0, percent));
    if (!field) return "Invalid field requested: \"" + part.substr(0, percent) + "\"";
    SstatColumn column{*field, SacctWidth(*field)};
    if (percent != std::string::npos) {
      const bool left = part.size() > percent + 1 && part[percent + 1] == '-';
      const auto width = ParseCount(std::string_view(part).substr(percent + (left ? 2 : 1)));
      if (!width || *width == 0 || *width > 100'000)
        return "Invalid width requested: \"" + part + "\"";
      column.width = left ? -static_cast<int>(*width) : static_cast<int>(*width);
    }
    out->push_back(column);
  }
  return "";
}

void AppendStatCell(const SstatOptions& options, int width, std::string text, bool last,
                    std::string* out) {
  if (options.parsable || options.parsable2) {
    *out += text;
    if (options.parsable || !last) *out += '|';
    return;
  }
  const auto wide = static_cast<std::size_t>(width < 0 ? -width : width);
  if (text.size() > wide) text = text.substr(0, wide - 1) + "+";
  if (width > 0) out->append(wide - text.size(), ' ');
  *out += text;
  if (width < 0) out->append(wide - text.size(), ' ');
  *out += ' ';
}

// The lines of one id: its numbered steps that run; with -a or `.batch` the batch step too.
void AddStatLines(const JobSpec& spec, bool all, const JobRow& row, const StepsByJob& steps,
                  const AttemptsByJob& attempts, const SacctLine& common,
                  std::vector<SacctLine>* out) {
  SacctLine line = common;
  line.row = &row;
  const auto found = steps.find(row.id);
  if (row.is_batch && (spec.step == "batch" || (all && spec.step.empty()))) {
    line.batch_step = true;
    const auto told = attempts.find(row.id);
    if (told != attempts.end()) line.use = told->second.back().use;
    out->push_back(line);
    line.batch_step = false;
  }
  if (found == steps.end()) return;
  for (const StepInfo& step : found->second) {
    if (step.state != State::kRunning) continue;
    if (!spec.step.empty() && spec.step != std::to_string(step.step)) continue;
    line.step = &step;
    line.use = step.use;
    out->push_back(line);
  }
}

int ShowStats(const SstatOptions& options) {
  std::vector<SstatColumn> columns;
  if (const std::string error = SetSstatColumns(options, &columns); !error.empty())
    return Fail(kSstat, error);
  const std::optional<client::Settings> settings = FindServer(kSstat);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  JobList list;
  const client::Outcome<Done> fetched = FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) return Fail(kSstat, FailureText(fetched.failure()));
  std::vector<std::int64_t> ids;
  for (const JobRow& row : list.rows()) {
    if (HasNodes(row.state)) ids.push_back(row.id);
  }
  const client::Outcome<StepsByJob> steps = FetchSteps(api, ids);
  if (!steps.ok()) return Fail(kSstat, FailureText(steps.failure()));
  const client::Outcome<AttemptsByJob> attempts = FetchAttempts(api, ids);
  if (!attempts.ok()) return Fail(kSstat, FailureText(attempts.failure()));
  SacctLine common;
  common.default_ns = settings->ns;
  common.now = WallSeconds();
  common.no_convert = options.no_convert;
  std::vector<SacctLine> lines;
  int exit = 0;
  for (const JobSpec& spec : options.jobs) {
    const std::size_t before = lines.size();
    for (const JobRow& row : list.rows()) {
      if (HasNodes(row.state) && Matches(spec, row))
        AddStatLines(spec, options.all, row, *steps, *attempts, common, &lines);
    }
    if (lines.size() != before) continue;
    PrintError(kSstat, "couldn't get steps for job " + std::to_string(spec.id));
    exit = ErrorExit(kExitRefused);
  }
  std::string out;
  if (!options.no_header) {
    for (const SstatColumn& column : columns)
      AppendStatCell(options, column.width, std::string(SacctName(column.field)),
                     &column == &columns.back(), &out);
    out += '\n';
    for (const SstatColumn& column : columns) {
      if (options.parsable || options.parsable2) break;
      out.append(static_cast<std::size_t>(column.width < 0 ? -column.width : column.width), '-');
      out += ' ';
    }
    if (!options.parsable && !options.parsable2) out += '\n';
  }
  for (const SacctLine& line : lines) {
    for (const SstatColumn& column : columns)
      AppendStatCell(options, column.width, SacctCell(column.field, line),
                     &column == &columns.back(), &out);
    out += '\n';
  }
  WriteOut(out);
  return exit;
}

enum SstatOptionId : int { kSstatNoConvert = 256, kSstatUsage };
constexpr option kSstatOptions[] = {{"jobs", required_argument, nullptr, 'j'},
                                    {"allsteps", no_argument, nullptr, 'a'},
                                    {"format", required_argument, nullptr, 'o'},
                                    {"helpformat", no_argument, nullptr, 'e'},
                                    {"fields", required_argument, nullptr, 'o'},
                                    {"noheader", no_argument, nullptr, 'n'},
                                    {"parsable", no_argument, nullptr, 'p'},
                                    {"parsable2", no_argument, nullptr, 'P'},
                                    {"pidformat", no_argument, nullptr, 'i'},
                                    {"noconvert", no_argument, nullptr, kSstatNoConvert},
                                    {"verbose", no_argument, nullptr, 'v'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {"usage", no_argument, nullptr, kSstatUsage},
                                    {"version", no_argument, nullptr, 'V'},
                                    {nullptr, 0, nullptr, 0}};

}  // namespace

int RunSstat(int argc, char** argv) {
  SstatOptions options;
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "j:ao:enpPivhV", kSstatOptions, nullptr)) != -1) {
    switch (id) {
      case 'j':
        for (const std::string& part : SplitList(optarg)) {
          const auto spec = ParseJobSpec(part);
          if (!spec) {
            std::fprintf(stderr, "sstat: fatal: Bad job/step specified: %s\n", part.c_str());
            return ErrorExit(kExitRefused);
          }
          options.jobs.push_back(*spec);
        }
        break;
      case 'a':
        options.all = true;
        break;
      case 'o':
        options.format += (options.format.empty() ? "" : ",") + std::string(optarg);
        break;
      case 'e':
        return WriteOut(SacctHelpFormat()), 0;
      case 'n':
        options.no_header = true;
        break;
      case 'p':
        options.parsable = true;
        break;
      case 'P':
        options.parsable2 = true;
        break;
      case 'i':
        options.pids = true;
        break;
      case kSstatNoConvert:
        options.no_convert = true;
        break;
      case 'v':
        break;
      case 'h':
      case kSstatUsage:
        return WriteOut(kSstatHelpText), 0;
      case 'V':
        return WriteOut(kVersionLine), 0;
      default:
        return UsageExit(kSstat);
    }
  }
  for (int i = optind; i < argc; ++i) {
    for (const std::string& part : SplitList(argv[i])) {
      if (const auto spec = ParseJobSpec(part)) options.jobs.push_back(*spec);
    }
  }
  if (options.jobs.empty()) return Fail(kSstat, "You didn't give me any jobs to stat.");
  return ShowStats(options);
}

}  // namespace muster::slurm
