// seff: how well a job used its CPUs and its memory, in the lines of Slurm's contributed script
// (rule B51).
#include <getopt.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/attempts.h"
#include "clients/slurm/command.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"

namespace muster::slurm {
namespace {

constexpr char kSeff[] = "seff";

std::string Gigabytes(std::int64_t bytes) {
  char text[48];
  const double mb = static_cast<double>(bytes) / (1 << 20);
  std::snprintf(text, sizeof(text), "%.2f %s", mb < 1024 ? mb : mb / 1024, mb < 1024 ? "MB" : "GB");
  return text;
}

std::string Percent(double part, double whole) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.2f%%", whole > 0 ? part / whole * 100 : 0.0);
  return text;
}

// What all attempts' last one used: the job's own figure, or the sum of its steps where those are
// more (a script on one node does not see the other nodes' steps).
MeasuredUse UseOfJob(const JobRow& row, const StepsByJob& steps, const AttemptsByJob& attempts) {
  MeasuredUse out, sum;
  const auto told = attempts.find(row.id);
  if (told != attempts.end()) out = told->second.back().use;
  const auto found = steps.find(row.id);
  if (found != steps.end()) {
    for (const StepInfo& step : found->second) {
      if (told != attempts.end() && step.attempt != told->second.back().attempt) continue;
      sum.user_cpu_us += step.use.user_cpu_us;
      sum.system_cpu_us += step.use.system_cpu_us;
      sum.max_rss_bytes = std::max(sum.max_rss_bytes, step.use.max_rss_bytes * step.tasks);
    }
  }
  out.user_cpu_us = std::max(out.user_cpu_us, sum.user_cpu_us);
  out.system_cpu_us = std::max(out.system_cpu_us, sum.system_cpu_us);
  out.max_rss_bytes = std::max(out.max_rss_bytes, sum.max_rss_bytes);
  return out;
}

std::string EfficiencyText(const JobRow& row, const MeasuredUse& use, std::int64_t now) {
  std::string scratch;
  const RowContext context;
  const auto cell = [&](const char* field) {
    return std::string(SqueueCell(*SqueueFieldByName(field), row, context, &scratch));
  };
  const SlurmExit exit = ExitOf(row);
  const std::int64_t wall = ElapsedSeconds(row, now), cpus = CpuCount(row);
  const std::int64_t core_seconds = wall * cpus;
  const double used = static_cast<double>(use.user_cpu_us + use.system_cpu_us) / 1e6;
  std::string out = "Job ID: " + std::to_string(row.id) + "\n";
  if (row.array_job_id != 0) out += "Array Job ID: " + cell("JobArrayID") + "\n";
  out += "Cluster: " + std::string(row.cluster) + "\nUser/Group: " + std::string(row.user) + "/" +
         cell("GroupName") + "\nState: " + std::string(LongName(row.state)) +
         (IsOver(row.state)
              ? " (exit code " + std::to_string(exit.signal != 0 ? exit.signal : exit.code) + ")\n"
              : "\n");
  const std::int32_t nodes = NodeCount(row);
  if (nodes > 1) {
    out += "Nodes: " + std::to_string(nodes) +
           "\nCores per node: " + std::to_string((cpus + nodes - 1) / nodes) + "\n";
  } else {
    out += "Cores: " + std::to_string(cpus) + "\n";
  }
  if (row.start_time.empty())
    return out + "Efficiency not available for jobs in the PENDING state.\n";
  out += "CPU Utilized: " + LongDuration(static_cast<std::int64_t>(used + 0.5)) +
         "\nCPU Efficiency: " + Percent(used, static_cast<double>(core_seconds)) + " of " +
         LongDuration(core_seconds) + " core-walltime\nJob Wall-clock time: " + LongDuration(wall) +
         "\nMemory Utilized: " + Gigabytes(use.max_rss_bytes) + "\n";
  const std::int64_t asked = row.memory_bytes != 0
                                 ? row.memory_bytes
                                 : (row.memory_per_node_mb << 20) * std::max(nodes, 1);
  const std::string per =
      nodes > 1 ? " (" + Gigabytes(asked / nodes) + "/node)" : " (" + Gigabytes(asked) + "/node)";
  out += "Memory Efficiency: " +
         Percent(static_cast<double>(use.max_rss_bytes), static_cast<double>(asked)) + " of " +
         Gigabytes(asked) + per + "\n";
  if (!IsOver(row.state))
    out += "WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n";
  return out;
}

}  // namespace

int RunSeff(int argc, char** argv) {
  static constexpr option kOptions[] = {{"help", no_argument, nullptr, 'h'},
                                        {"version", no_argument, nullptr, 'v'},
                                        {"debug", no_argument, nullptr, 'd'},
                                        {nullptr, 0, nullptr, 0}};
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "hvdfV", kOptions, nullptr)) != -1) {
    if (id == 'h') {
      return WriteOut("Usage: seff [Options] <Jobid>\n  -h    Help\n  -v    Version\n"), 0;
    }
    if (id == 'v' || id == 'V') return WriteOut(kVersionLine), 0;
    if (id == '?') return UsageExit(kSeff);
  }
  if (optind >= argc) {
    std::fputs("Usage: seff [Options] <Jobid>\n", stderr);
    return ErrorExit(kExitRefused);
  }
  std::vector<JobSpec> specs;
  for (int i = optind; i < argc; ++i) {
    const auto spec = ParseJobSpec(argv[i]);
    if (!spec) {
      std::fprintf(stderr, "Job not found.\n");
      return ErrorExit(kExitRefused);
    }
    specs.push_back(*spec);
  }
  const std::optional<client::Settings> settings = FindServer(kSeff);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  JobList list;
  const client::Outcome<Done> fetched = FetchSpecs(api, specs, &list);
  if (!fetched.ok()) return Fail(kSeff, FailureText(fetched.failure()));
  if (list.rows().empty()) {
    std::fprintf(stderr, "Job not found.\n");
    return ErrorExit(kExitRefused);
  }
  std::vector<std::int64_t> ids;
  for (const JobRow& row : list.rows()) ids.push_back(row.id);
  const client::Outcome<StepsByJob> steps = FetchSteps(api, ids);
  if (!steps.ok()) return Fail(kSeff, FailureText(steps.failure()));
  const client::Outcome<AttemptsByJob> attempts = FetchAttempts(api, ids);
  if (!attempts.ok()) return Fail(kSeff, FailureText(attempts.failure()));
  std::string out;
  for (const JobRow& row : list.rows()) {
    if (!out.empty()) out += "\n";
    const MeasuredUse use = UseOfJob(row, *steps, *attempts);
    out += client::VisibleText(EfficiencyText(row, use, WallSeconds()), client::LineEnds::kKept);
  }
  WriteOut(out);
  return 0;
}

}  // namespace muster::slurm
