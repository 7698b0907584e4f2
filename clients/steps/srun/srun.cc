// srun inside a job: a step. Outside a job the command makes an allocation first, which is the
// matter of muster-slurm beside this program; that runs this one again, inside.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clients/steps/srun/allocation_end.h"
#include "clients/steps/srun/commands.h"
#include "clients/steps/srun/components.h"
#include "clients/steps/srun/connect.h"
#include "clients/steps/srun/job_variables.h"
#include "clients/steps/srun/other_job.h"
#include "clients/steps/srun/step_create.h"
#include "clients/steps/srun/step_environment.h"
#include "clients/steps/srun/step_run.h"
#include "clients/steps/words.h"

extern char** environ;

namespace muster::steps {
namespace {

constexpr char kVersion[] = "slurm 25.05.0 (muster 0.1.0)\n";

int ErrorExit(int otherwise) {
  const auto replaced = WholeNumber(EnvironmentText("SLURM_EXIT_ERROR"));
  return replaced && *replaced < 256 ? static_cast<int>(*replaced) : otherwise;
}

// An error without words is one that getopt_long has printed.
int Report(const OptionRefusal& refusal) {
  std::string_view text = refusal.message;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::fprintf(stderr, "srun: error: %.*s\n", static_cast<int>(line.size()), line.data());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  if (refusal.message.empty()) std::fputs("Try \"srun --help\" for more information\n", stderr);
  return ErrorExit(refusal.exit);
}

int Fail(const std::string& text) { return Report({text, 1}); }

// The words that end srun before anything runs; -1 if there are none.
int AnswerQuestions(const OptionValues& options) {
  if (options.Has("help") || options.Has("usage"))
    return std::fputs(OptionHelp(Tool::kSrun).c_str(), stdout), 0;
  if (options.Has("version")) return std::fputs(kVersion, stdout), 0;
  if (options.Get("mpi") == "list")
    return std::fputs("MPI plugin types are...\n\tnone\n\tpmi2\n", stdout), 0;
  return -1;
}

// Makes the allocation by muster-slurm, which becomes this process.
int Allocate(int argc, char** argv) {
  const std::string program = OwnProgramDirectory() + "/muster-slurm";
  std::string name = "srun";
  std::vector<char*> words{name.data()};
  for (int i = 1; i < argc; ++i) words.push_back(argv[i]);
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return Fail("Unable to allocate resources: " + program + ": " + std::strerror(errno));
}

// SLURM_* of the joined job take the place of those of this process.
void TakeEnvironment(const std::string& job, const std::vector<std::string>& environment) {
  for (const std::string& one : environment) {
    const auto sign = one.find('=');
    ::setenv(one.substr(0, sign).c_str(), one.c_str() + sign + 1, 1);
  }
  ::setenv("SLURM_JOB_ID", job.c_str(), 1);
}

std::int32_t PmiVersion(const OptionValues& options, std::optional<OptionRefusal>* refusal) {
  const std::string mpi = options.Get("mpi");
  if (mpi.empty() || mpi == "none" || mpi == "openmpi") return 0;
  if (mpi == "pmi2") return 2;
  *refusal =
      OptionRefusal{"--mpi=" + mpi +
                    (mpi.starts_with("pmix") ? ": PMIx is not supported by this version; use "
                                               "--mpi=pmi2"
                                             : ": not supported; use none or pmi2")};
  return 0;
}

// The soft limits of this process, of those that --propagate names.
std::vector<std::int64_t> OwnLimits(const OptionValues& options) {
  static constexpr std::pair<const char*, int> kLimits[] = {
      {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
      {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
      {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
      {"STACK", RLIMIT_STACK}};
  std::string list = options.Get("propagate");
  if (list.empty()) list = "ALL";
  std::vector<std::int64_t> out;
  if (list == "NONE") return out;
  for (const auto& [name, resource] : kLimits) {
    bool named = list == "ALL";
    for (const std::string& one : SplitCommas(list)) named = named || one == name;
    rlimit limit{};
    if (!named || ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) continue;
    out.push_back(resource);
    out.push_back(limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur));
  }
  return out;
}

// SLURM_UMASK, an octal number, is the umask of the tasks and of the files that srun makes.
void UseUmaskOfVariable() {
  const std::string text = EnvironmentText("SLURM_UMASK");
  if (text.empty() || text.size() > 4 || text.find_first_not_of("01234567") != std::string::npos)
    return;
  ::umask(static_cast<mode_t>(std::strtoul(text.c_str(), nullptr, 8) & 0777));
}

std::string WorkingDirectory(const OptionValues& options) {
  char here[4096];
  const std::string current = ::getcwd(here, sizeof(here)) == nullptr ? "/" : here;
  const std::string wanted = options.Get("chdir");
  if (wanted.empty()) return current;
  return wanted[0] == '/' ? wanted : current + "/" + wanted;
}

RunSettings RunSettingsOf(const OptionValues& options, const std::string& job) {
  RunSettings out;
  out.job = job;
  out.quiet = options.Has("quiet");
  out.quit_on_interrupt = options.Has("quit-on-interrupt");
  out.disable_status = options.Has("disable-status");
  out.kill_on_bad_exit = options.Has("kill-on-bad-exit") && options.Get("kill-on-bad-exit") != "0";
  out.wait_s = WholeNumber(options.Get("wait")).value_or(0);
  const std::string once = EnvironmentText("SLURM_SRUN_REDUCE_TASK_EXIT_MSG");
  out.once_per_code = !once.empty() && once != "0";
  out.terminal = options.Has("pty");
  return out;
}

// What a component does not say itself is as in the first one.
std::vector<IoSettings> IoSettingsOf(const std::vector<Component>& components) {
  std::vector<IoSettings> out;
  for (const Component& component : components) {
    const OptionValues& options = component.options;
    IoSettings& one = out.emplace_back(out.empty() ? IoSettings() : out.front());
    if (options.Has("input")) one.input = options.Get("input");
    if (options.Has("output")) one.output = options.Get("output");
    if (options.Has("error")) one.error = options.Get("error");
    if (options.Has("label")) one.label = true;
    if (options.Has("unbuffered")) one.unbuffered = true;
    if (options.Has("open-mode")) one.append = options.Get("open-mode").starts_with("a");
  }
  return out;
}

NameFacts FactsOf(const std::string& job, std::int32_t step) {
  NameFacts out;
  out.job = job;
  out.array_job = EnvironmentText("SLURM_ARRAY_JOB_ID");
  out.array_task = EnvironmentText("SLURM_ARRAY_TASK_ID");
  for (const char* name : {"SLURM_JOB_USER", "USER", "LOGNAME"}) {
    if (out.user.empty()) out.user = EnvironmentText(name);
  }
  out.job_name = EnvironmentText("SLURM_JOB_NAME");
  out.step = step;
  return out;
}

// The host of this pod of the job; "" of a job that names none.
std::string OwnHost() {
  const auto hosts = ExpandHosts(EnvironmentText("SLURM_JOB_NODELIST"));
  const auto index = WholeNumber(EnvironmentText("JOB_COMPLETION_INDEX")).value_or(0);
  if (!hosts || hosts->empty()) return "";
  return (*hosts)[std::min(static_cast<std::size_t>(index), hosts->size() - 1)];
}

// Places the step on this node, the only one whose agent can be reached. False if it asks for
// others.
bool KeepToOwnNode(std::vector<Component>* components) {
  const std::string own = OwnHost();
  for (Component& component : *components) {
    PartRequest& request = component.plan.request;
    const bool others = std::any_of(request.with_hosts.begin(), request.with_hosts.end(),
                                    [&](const std::string& host) { return host != own; });
    if (request.nodes > 1 || request.het_group > 0 || request.relative > 0 || others) return false;
    if (!own.empty() && request.with_hosts.empty()) request.with_hosts = {own};
  }
  return true;
}

// The whole step, from its creation to the last task's end.
int RunStep(const JobPlace& place, bool start_agent, std::vector<Component>* components) {
  const OptionValues& options = components->front().options;
  std::optional<OptionRefusal> refusal;
  Launch launch;
  launch.world.pmi = PmiVersion(options, &refusal);
  std::string error;
  if (!refusal && !PlanBinding(options.Get("cpu-bind"), &launch.world, &error))
    refusal = OptionRefusal{error};
  if (!refusal) refusal = PlanComponents(EnvironmentText, components);
  if (refusal) return Report(*refusal);
  if (place.private_directory && !KeepToOwnNode(components))
    return Fail("the nodes of job " + place.job +
                " share no steps directory: a step can use this one alone (-N1)");
  const RunSettings settings = RunSettingsOf(components->front().options, place.job);
  for (const Component& component : *components) {
    for (const std::string& warning : component.plan.warnings) {
      if (!settings.quiet) std::fprintf(stderr, "srun: %s\n", warning.c_str());
    }
  }
  const Descriptor signals = WatchForwardedSignals();
  std::unique_ptr<Channel> channel = ConnectManager(place, start_agent, &error);
  if (channel == nullptr) return Fail("Unable to create step for job " + place.job + ": " + error);
  StepCreated step;
  const int created = CreateStepFor(channel.get(), place.job, *components, signals.get(), &step);
  if (created != 0) return ErrorExit(created);

  launch.world.directory = WorkingDirectory(components->front().options);
  launch.world.limits = OwnLimits(components->front().options);
  UseUmaskOfVariable();
  launch.world.umask = static_cast<std::int32_t>(::umask(0));
  ::umask(static_cast<mode_t>(launch.world.umask));
  launch.world.terminal = settings.terminal;
  TerminalSize(&launch.world.rows, &launch.world.columns);
  AddPrograms(*components, step, place, environ, &launch);
  StepIo io;
  std::vector<Descriptor> descriptors;
  if (!settings.terminal && !io.Prepare(IoSettingsOf(*components), FactsOf(place.job, step.step),
                                        step.shares, &descriptors, &error))
    return Fail(error);
  channel->Send(MessageType::kLaunch, Encode(launch), std::move(descriptors));
  StepRun run(channel.get(), step, settings, &io, signals.get());
  return run.Run();
}

}  // namespace

int RunSrun(int argc, char** argv) {
  std::vector<Component> components;
  RestoreJobVariables();
  const bool inside = !EnvironmentText("SLURM_JOB_ID").empty();
  if (auto refusal = ReadComponents(argc, argv, inside, &components)) return Report(*refusal);
  const OptionValues& options = components.front().options;
  if (const int answer = AnswerQuestions(options); answer >= 0) return answer;
  if (options.command.empty()) {
    std::fputs("srun: fatal: No command given to execute.\n", stderr);
    return ErrorExit(1);
  }
  const std::string job = options.Get("jobid");
  if (job.empty()) return Allocate(argc, argv);
  if (!WholeNumber(job)) return Report({"Invalid --jobid specification", 255});
  const bool own = IsOwnJob(job);
  const std::optional<std::string> attempt = TakeAnswer(job);
  JobPlace place;
  if (own) {
    place = OwnJobPlace();
  } else if (!attempt) {
    return Fail("Unable to confirm allocation for job " + job + ": " +
                AskDaemon("srun", job, argv));
  } else {
    std::vector<std::string> environment;
    place = OtherJobPlace(job, *attempt, &environment);
    TakeEnvironment(job, environment);
    components.clear();
    if (auto refusal = ReadComponents(argc, argv, true, &components)) return Report(*refusal);
  }
  if (!place.error.empty()) return Fail(place.error);
  AllocationEnd allocation;
  const int status = RunStep(place, own, &components);
  allocation.GiveBack(status);
  return status;
}

}  // namespace muster::steps
