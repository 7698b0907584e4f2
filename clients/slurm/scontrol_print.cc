// `scontrol show`: which records are printed. What they look like is in scontrol_show.
#include <algorithm>
#include <cstdio>

#include "clients/slurm/attempts.h"
#include "clients/slurm/derived_rows.h"
#include "clients/slurm/fleet_json.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/licenses.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/scontrol.h"
#include "clients/slurm/squeue_json.h"

namespace muster::slurm {
namespace {

int SayUnknownJob() { return FailPlain("slurm_load_jobs error: Invalid job id specified"); }

bool IsEntity(const std::string& entity, const char* name) {
  return SameWord(entity, name) || SameWord(entity, std::string(name) + "s");
}

// "show job 12" and "show job=12" mean the same; the entity may be in the plural.
void SplitEntity(const Words& words, std::string* entity, std::string* which) {
  *entity = words.size() > 1 ? words[1] : "";
  *which = words.size() > 2 ? words[2] : "";
  const std::size_t equals = entity->find('=');
  if (equals == std::string::npos) return;
  *which = entity->substr(equals + 1);
  entity->resize(equals);
}

// Slurm has other words, on stdout, for a task that an array of this number does not have.
int SayWhatIsMissing(Session& session, const std::vector<JobSpec>& specs) {
  for (const JobSpec& spec : specs) {
    JobList array;
    if (!spec.tasks_only) continue;
    const client::Outcome<bool> found = FetchJob(session.api, std::to_string(spec.id), &array);
    if (found.ok() && *found) return WriteOut("Job " + SpecText(spec) + " not found\n"), 1;
  }
  return SayUnknownJob();
}

// Fetches the jobs that `which` names, or all. False after an error on stderr; `*exit` has the
// status.
bool FetchShown(Session& session, const std::string& which, std::vector<JobSpec>* specs,
                JobList* list, int* exit) {
  if (which.empty()) {
    const client::Outcome<Done> fetched = FetchJobs(session.api, client::Query(), list);
    if (fetched.ok()) return true;
    *exit = Fail(kScontrol, "slurm_load_jobs error: " + FailureText(fetched.failure()));
    return false;
  }
  for (const std::string& part : SplitList(which)) {
    const auto spec = ParseJobSpec(part);
    if (!spec)
      return *exit = FailPlain("scontrol_print_job error: Invalid job id specified"), false;
    specs->push_back(*spec);
  }
  const client::Outcome<Done> fetched = FetchSpecs(session.api, *specs, list);
  if (!fetched.ok())
    *exit = Fail(kScontrol, "slurm_load_jobs error: " + FailureText(fetched.failure()));
  else if (list->rows().empty())
    *exit = SayWhatIsMissing(session, *specs);
  else
    return true;
  return false;
}

// show job [ID]: without an id all jobs.
int ShowJobs(Session& session, const std::string& which, bool only_completing) {
  JobList list;
  std::vector<JobSpec> specs;
  int exit = 0;
  if (!FetchShown(session, which, &specs, &list, &exit)) return exit;
  std::vector<const JobRow*> rows;
  for (const JobRow& row : list.rows()) {
    if (only_completing && row.state != State::kCompleting) continue;
    if (InClusters(session.options.clusters, row)) rows.push_back(&row);
  }
  DerivedRows derived(list.arena());
  // A task that waits is shown by itself, though it has no record of its own yet.
  const bool tasks =
      std::any_of(specs.begin(), specs.end(), [](const JobSpec& spec) { return spec.tasks_only; });
  derived.Expand(tasks, specs, &rows);
  if (session.options.json || session.options.yaml) {
    RowContext context;
    context.default_ns = session.context.default_ns;
    context.now = session.context.now;
    const std::string document = SqueueJson(rows, context, "scontrol");
    return WriteOut(session.options.json ? document : YamlOf(document)), 0;
  }
  if (rows.empty()) return only_completing ? 0 : (WriteOut("No jobs in the system\n"), 0);
  std::string out;
  for (const JobRow* row : rows) out += ShowJob(*row, session.context);
  WriteOut(out);
  return 0;
}

// show step [ID[.STEP]]: the running ones, or those of one job.
int ShowSteps(Session& session, const std::string& which) {
  JobList list;
  std::vector<JobSpec> specs;
  int exit = 0;
  if (which.empty()) {
    client::Query query;
    query.Add("state", "Admitted,Running");
    const client::Outcome<Done> fetched = FetchJobs(session.api, query, &list);
    if (!fetched.ok())
      return Fail(kScontrol, "slurm_get_job_steps error: " + FailureText(fetched.failure()));
  } else if (!FetchShown(session, which, &specs, &list, &exit)) {
    return exit;
  }
  std::vector<std::int64_t> ids;
  for (const JobRow& row : list.rows()) ids.push_back(row.id);
  const client::Outcome<StepsByJob> steps = FetchSteps(session.api, ids);
  if (!steps.ok())
    return Fail(kScontrol, "slurm_get_job_steps error: " + FailureText(steps.failure()));
  std::string out;
  for (const JobRow& row : list.rows()) {
    const auto wanted = [&](const std::string& name) {
      return std::none_of(specs.begin(), specs.end(), [&](const JobSpec& spec) {
        return Matches(spec, row) && !spec.step.empty() && spec.step != name;
      });
    };
    if (HasNodes(row.state) && row.is_batch && !row.extra->allocation_only && wanted("batch"))
      out += ShowStep(row, nullptr, session.context);
    const auto found = steps->find(row.id);
    if (found == steps->end()) continue;
    for (const StepInfo& step : found->second) {
      const bool shown = step.state == State::kRunning || !which.empty();
      if (shown && wanted(std::to_string(step.step))) out += ShowStep(row, &step, session.context);
    }
  }
  if (out.empty() && !which.empty()) return FailPlain("Job step " + which + " not found");
  if (out.empty()) out = "No job steps in the system\n";
  WriteOut(out);
  return 0;
}

// show node [LIST] and show partition [NAME].
int ShowFleet(Session& session, bool nodes, const std::string& which) {
  client::Outcome<Fleet> fleet = FetchFleet(session.api);
  if (!fleet.ok()) return Fail(kScontrol, FailureText(fleet.failure()));
  const auto wanted = ExpandHostlist(which);
  Fleet shown = *fleet;
  std::erase_if(shown.nodes, [&](const NodeInfo& node) {
    return nodes && !which.empty() &&
           (!wanted || std::find(wanted->begin(), wanted->end(), node.name) == wanted->end());
  });
  std::erase_if(shown.partitions, [&](const PartitionInfo& partition) {
    return !nodes && !which.empty() && partition.Name(session.context.default_ns) != which;
  });
  if (nodes && shown.nodes.empty() && !which.empty())
    return std::printf("Node %s not found\n", which.c_str()), ErrorExit(kExitRefused);
  if (!nodes && shown.partitions.empty() && !which.empty())
    return std::printf("Partition %s not found\n", which.c_str()), ErrorExit(kExitRefused);
  if (session.options.json || session.options.yaml) {
    const std::string document = FleetJson(shown, session.context.default_ns, "scontrol");
    return WriteOut(session.options.json ? document : YamlOf(document)), 0;
  }
  std::string out;
  if (nodes) {
    for (const NodeInfo& node : shown.nodes) out += ShowNode(node, *fleet, session.context);
  } else {
    for (const PartitionInfo& one : shown.partitions)
      out += ShowPartition(one, *fleet, session.context);
  }
  if (out.empty()) out = nodes ? "No nodes in the system\n" : "No partitions in the system\n";
  WriteOut(out);
  return 0;
}

// Prints one host a line. Without a list it expands the job's own node list (rule B24); distributed
// training starts with this command. Slurm ends with 0 even if there is no list.
int ShowHostnames(const std::string& list) {
  std::string text = list.empty() ? client::ProcessEnv("SLURM_JOB_NODELIST") : list;
  if (text.empty()) text = client::ProcessEnv("SLURM_NODELIST");
  if (text.empty()) return PrintError(kScontrol, "host list is empty"), 0;
  const auto hosts = ExpandHostlist(text);
  if (!hosts || hosts->empty()) return Fail(kScontrol, "Invalid hostlist: " + text);
  std::string out;
  for (const std::string& host : *hosts) out += host + "\n";
  WriteOut(out);
  return 0;
}

}  // namespace

std::optional<int> ShowHosts(const Words& words) {
  if (words.size() < 2 || words.size() > 3 || !SameWord(words[0], "show")) return std::nullopt;
  std::string entity, which;
  SplitEntity(words, &entity, &which);
  if (IsEntity(entity, "hostname")) return ShowHostnames(which);
  const bool sorted = SameWord(entity, "hostlistsorted");
  if (!sorted && !IsEntity(entity, "hostlist")) return std::nullopt;
  // A file of names, one a line, may stand in place of them.
  std::string text = which;
  if (!text.empty() && text[0] == '/') {
    std::FILE* file = std::fopen(text.c_str(), "re");
    if (file == nullptr) return Fail(kScontrol, "Can not open " + text);
    text.clear();
    for (int c; (c = std::fgetc(file)) != EOF && text.size() < (1u << 20);)
      text.push_back(c == '\n' ? ',' : static_cast<char>(c));
    std::fclose(file);
  }
  const auto hosts = ExpandHostlist(text);
  if (!hosts) return Fail(kScontrol, "Invalid hostlist: " + which);
  WriteOut(FoldHostlist(sorted ? SortedHosts(*hosts) : *hosts) + "\n");
  return 0;
}

int ShowEntity(Session& session, const Words& words) {
  std::string entity, which;
  SplitEntity(words, &entity, &which);
  if (IsEntity(entity, "job") || SameWord(entity, "jobid")) return ShowJobs(session, which, false);
  if (SameWord(entity, "completing")) return ShowJobs(session, "", true);
  if (IsEntity(entity, "step")) return ShowSteps(session, which);
  if (IsEntity(entity, "node")) return ShowFleet(session, true, which);
  if (IsEntity(entity, "partition")) return ShowFleet(session, false, which);
  if (IsEntity(entity, "config")) return WriteOut(ShowConfig(session.context)), 0;
  if (IsEntity(entity, "license") || SameWord(entity, "lic")) {
    const auto licenses = FetchLicenses(session.api);
    if (!licenses.ok()) return Fail(kScontrol, FailureText(licenses.failure()));
    return WriteOut(ShowLicenses(*licenses, session.options.one_line)), 0;
  }
  if (IsEntity(entity, "reservation")) {
    if (which.empty()) return WriteOut("No reservations in the system\n"), 0;
    return std::printf("Reservation %s not found\n", which.c_str()), ErrorExit(kExitRefused);
  }
  if (IsEntity(entity, "daemon")) return WriteOut("slurmctld \n"), 0;
  for (const char* refused : {"topology", "burstbuffer", "bbstat", "assoc_mgr", "aliases",
                              "federation", "frontend", "dwstat", "slurmd", "topoconf"}) {
    if (SameWord(entity, refused))
      return Fail(kScontrol,
                  "show " + entity + " is not supported: Muster has nothing of the kind");
  }
  return FailPlain("invalid entity:" + entity + " for keyword:show ");
}

}  // namespace muster::slurm
