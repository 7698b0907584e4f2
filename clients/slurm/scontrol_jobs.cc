// The keywords of scontrol that change or wait for jobs (rule B25).
#include <fcntl.h>
#include <poll.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "clients/lib/job_view.h"
#include "clients/lib/settings.h"
#include "clients/lib/visible_text.h"
#include "clients/slurm/batch_script.h"
#include "clients/slurm/many_calls.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/scontrol.h"
#include "clients/slurm/task_outcomes.h"
#include "clients/slurm/task_ranges.h"
#include "schedd/text/json.h"

namespace muster::slurm {
namespace {

// The id of the row in a request: of waiting tasks those that `spec` names.
std::string ChangedId(const JobSpec& spec, const JobRow& row) {
  if (!IsArrayRecord(row)) return std::to_string(row.id);
  const auto waiting = ParseTasks(row.extra->waiting_tasks);
  if (!waiting) return std::to_string(row.id);
  JobSpec target;
  target.id = row.array_job_id;
  target.tasks_only = true;
  target.tasks = spec.tasks_only ? CommonTasks(*waiting, spec.tasks) : *waiting;
  return SpecText(target);
}

// One verb and its body, which may depend on the job.
struct Verb {
  std::string name;
  json::object body;
  bool admin_of_others = false;  // hold: of other users' jobs it is the operator's
};

// A hold by root, or of another user's job, is the operator's.
bool IsOwn(client::ApiClient& api, const JobRow& row) {
  return row.user != "root" && IsOfCaller(api, row);
}

constexpr char kDenied[] = "Access/permission denied";

// What became of the verb for one id, in Slurm's words.
struct VerbResult {
  std::vector<std::string> errors;
  std::string failure;  // of the connection, or of the list of jobs; "": none

  // Slurm has a second line for all of these verbs but requeue, unless a right is missing.
  void Refuse(const Verb& verb, const std::string& why, const std::string& id) {
    const bool one_line = verb.name == "requeue" || why == kDenied;
    errors.push_back(why + " for job " + id + (one_line ? "" : "\nslurm_suspend error: " + why));
  }
};

bool Suspends(const Verb& verb) { return verb.name == "suspend" || verb.name == "resume"; }

const char* OverWords(const Verb& verb) {
  return Suspends(verb) ? "Job/step already completing or completed" : "Job has already finished";
}

// Slurm's words for a verb that the state of the job does not allow.
std::string VerbFailure(client::ApiClient& api, const Verb& verb, const client::Failure& failure,
                        const JobRow& row) {
  const bool suspends = Suspends(verb);
  if (failure.kind == client::Failure::Kind::kRefused && failure.status == 403) {
    const bool denied = suspends || verb.name == "requeue" || IsOfCaller(api, row);
    return denied ? kDenied : ChangeFailure(failure, false);
  }
  if (failure.kind == client::Failure::Kind::kRefused && failure.status == 409) {
    // Its record has left the controller.
    if (verb.name == "requeue" && IsOver(row.state) && row.requeue)
      return "Invalid job id specified";
    if (IsOver(row.state) && verb.name != "requeue") return OverWords(verb);
    if ((suspends || verb.name == "requeue") && IsPending(row.state))
      return "Job is pending execution";
    if (verb.name == "resume" && row.state == State::kRunning) return "Job is not suspended";
    if (verb.name == "requeue" && !row.requeue) return "Requested operation is presently disabled";
  }
  return ChangeFailure(failure, IsOver(row.state));
}

// Sends one verb for one job, or for each task of an array. Prints nothing.
VerbResult SendVerb(client::ApiClient& api, const Verb& verb, const std::string& text) {
  VerbResult result;
  const auto spec = ParseJobSpec(text);
  JobList list;
  if (spec && spec->step.empty()) {
    const client::Outcome<Done> fetched = FetchSpecs(api, {*spec}, &list);
    if (!fetched.ok()) return result.failure = FailureText(fetched.failure()), result;
  }
  if (list.rows().empty() && (!spec || !spec->tasks_only))
    return result.Refuse(verb, "Invalid job id specified", text), result;
  TaskOutcomes outcomes(*spec);
  for (const JobRow& row : list.rows()) {
    // An ended task runs again, too.
    const bool again = verb.name == "requeue" && !IsArrayRecord(row);
    if (IsOver(row.state) && !again && outcomes.Skips(row, OverWords(verb))) continue;
    // Of an array the waiting tasks are held and released, the others run on.
    const bool waits = IsPending(row.state);
    const bool of_waiting = verb.name == "hold" || verb.name == "release";
    if (of_waiting && !waits && !IsOver(row.state) && list.rows().size() > 1) {
      outcomes.Add(row, "");
      continue;
    }
    client::Call call;
    call.target = client::JobPath(ChangedId(*spec, row)) + ":" + verb.name;
    json::object body = verb.body;
    if (verb.admin_of_others && !IsOwn(api, row)) body["byAdmin"] = true;
    if (!body.empty()) call.body = json::serialize(body);
    const client::Outcome<json::value> answer = api.Send(call);
    const std::string why = answer.ok() ? "" : VerbFailure(api, verb, answer.failure(), row);
    if (row.array_job_id != 0) {
      outcomes.Add(row, why);
    } else if (!why.empty()) {
      result.Refuse(verb, why, std::to_string(row.id));
    }
  }
  if (outcomes.OfTasks()) result.errors = outcomes.Lines(text);
  return result;
}

// The exit status is the highest.
int SendVerbs(Session& session, const Verb& verb, const std::vector<std::string>& ids) {
  std::vector<VerbResult> results(ids.size());
  ForEachCall(session.api, ids.size(), [&](client::ApiClient& api, std::size_t i) {
    results[i] = SendVerb(api, verb, ids[i]);
  });
  int exit = 0;
  for (const VerbResult& result : results) {
    for (const std::string& error : result.errors) exit = std::max(exit, FailPlain(error));
    if (!result.failure.empty()) exit = std::max(exit, Fail(kScontrol, result.failure));
  }
  return exit;
}

std::optional<JobRow> OneJob(Session& session, const std::string& text, JobList* list) {
  const auto spec = ParseJobSpec(text);
  if (!spec) return std::nullopt;
  const client::Outcome<Done> fetched = FetchSpecs(session.api, {*spec}, list);
  if (!fetched.ok()) {
    PrintError(kScontrol, FailureText(fetched.failure()));
    return std::nullopt;
  }
  if (list->rows().empty()) return std::nullopt;
  return list->rows().front();
}

}  // namespace

int ChangeJobs(Session& session, const Words& words) {
  Verb verb;
  verb.name = words[0];
  if (SameWord(words[0], "uhold")) verb.name = "hold";
  if (SameWord(words[0], "hold")) verb.admin_of_others = true;
  std::size_t first = 1;
  if (SameWord(words[0], "requeuehold")) {
    verb.name = "requeue";
    verb.body["hold"] = true;
    if (::strncasecmp(words[1].c_str(), "state=", 6) == 0) {
      if (!SameWord(words[1].substr(6), "SpecialExit"))
        return FailPlain("Invalid state: " + words[1].substr(6));
      verb.body["specialExit"] = true;
      first = 2;
    }
  }
  if (SameWord(words[0], "top")) {
    for (const std::string& id : SplitList(WithoutJobKey(words[1]))) {
      JobList list;
      const std::optional<JobRow> row = OneJob(session, id, &list);
      if (!row) return FailPlain("Invalid job id specified for job " + id);
      if (row->held)
        return FailPlain("Job is in held state, pending scheduler release for job " + id);
    }
    return Fail(kScontrol,
                "top is not supported: jobs are ordered by priority; use update JobId=ID Nice=N");
  }
  for (char& c : verb.name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (first >= words.size()) return FailPlain("too few arguments for keyword:" + words[0]);
  std::vector<std::string> ids;
  for (std::size_t i = first; i < words.size(); ++i) {
    for (std::string& id : SplitList(WithoutJobKey(words[i]))) ids.push_back(std::move(id));
  }
  // A job that requeues itself is told to end at once, this process with it, and would take the
  // signal for a requeue that failed (submitit does).
  if (verb.name == "requeue" && !client::ProcessEnv("SLURM_JOB_ID").empty())
    std::signal(SIGTERM, SIG_IGN);
  return SendVerbs(session, verb, ids);
}

// Waits until the job's nodes are there: 0 once it runs, 1 if it ended.
int WaitForJob(Session& session, const Words& words) {
  constexpr int kWaitMs = 500;
  bool told = false;
  for (;;) {
    JobList list;
    const std::optional<JobRow> row = OneJob(session, WithoutJobKey(words[1]), &list);
    if (!row) return FailPlain("slurm_load_jobs error: Invalid job id specified");
    if (IsOver(row->state)) {
      return FailPlain("Job " + std::to_string(row->id) + " no longer running");
    }
    if (row->state == State::kRunning || row->state == State::kSuspended) {
      if (!session.options.quiet)
        std::fprintf(stderr, "scontrol: Nodes are ready for job %lld\n",
                     static_cast<long long>(row->id));
      return 0;
    }
    if (!told && !session.options.quiet)
      std::fprintf(stderr, "scontrol: Waiting for nodes to boot\n");
    told = true;
    ::poll(nullptr, 0, kWaitMs);
  }
}

// write batch_script ID [FILE]: slurm-ID.sh by default, "-" is stdout.
int WriteScript(Session& session, const Words& words) {
  if (SameWord(words[1], "config"))
    return Fail(kScontrol, "write config is not supported: there is no slurm.conf");
  if (!SameWord(words[1], "batch_script")) return FailPlain("invalid write argument:" + words[1]);
  if (words.size() < 3) return FailPlain("too few arguments for keyword:write");
  JobList list;
  const std::optional<JobRow> row = OneJob(session, words[2], &list);
  if (!row || !row->is_batch)
    return FailPlain("job script retrieval failed: Invalid job id specified");
  const client::Outcome<ScriptText> script = FetchScript(session.api, row->id);
  if (!script.ok())
    return FailPlain("job script retrieval failed: " + ChangeFailure(script.failure(), false));
  const std::string id = std::to_string(row->id);
  const std::string path = words.size() > 3 ? words[3] : "slurm-" + id + ".sh";
  if (path == "-") return WriteOut(script->script), 0;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  std::FILE* file = fd < 0 ? nullptr : ::fdopen(fd, "w");
  if (file == nullptr) {
    if (fd >= 0) ::close(fd);
    return Fail(kScontrol, "failed to open file `" + path + "`");
  }
  const bool whole =
      std::fwrite(script->script.data(), 1, script->script.size(), file) == script->script.size();
  if (std::fclose(file) != 0 || !whole)
    return Fail(kScontrol, "failed to write file `" + path + "`");
  if (!session.options.quiet) WriteOut("batch script for job " + id + " written to " + path + "\n");
  return 0;
}

int NotifyJob(Session& session, const Words& words) {
  JobList list;
  const std::optional<JobRow> row = OneJob(session, WithoutJobKey(words[1]), &list);
  if (!row) return FailPlain("job notify failure: Invalid job id specified");
  // The words stand in the job's output as slurmstepd's.
  std::string message = "slurmstepd: error: ";
  for (std::size_t i = 2; i < words.size(); ++i) message += (i == 2 ? "" : " ") + words[i];
  client::Call call;
  call.target = client::JobPath(std::to_string(row->id)) + ":notify";
  call.body = json::serialize(json::object{{"message", message}});
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (answer.ok()) return 0;
  return FailPlain("job notify failure: " + ChangeFailure(answer.failure(), IsOver(row->state)));
}

// The token of the server's own token API in the variable that Slurm's clients read.
int MintToken(Session& session, const Words& words) {
  json::object body{{"description", "scontrol token"}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (SameWord(key, "username") && !value.empty()) {
      body["user"] = value;
    } else if (SameWord(key, "lifespan") && SameWord(value, "infinite")) {
      return Fail(kScontrol, "lifespan=infinite is not supported: every token ends");
    } else if (SameWord(key, "lifespan") && ParseCount(value)) {
      body["ttl"] = *ParseCount(value);
    } else {
      return FailPlain("Invalid option: `" + words[i] + "`");
    }
  }
  client::Call call;
  call.target = "/v1/tokens";
  call.body = json::serialize(body);
  const client::Outcome<json::value> answer = session.api.Send(call);
  if (!answer.ok())
    return FailPlain("Error fetching token: " + ChangeFailure(answer.failure(), false));
  WriteOut("SLURM_JWT=" + client::PathText(*answer, "token") + "\n");
  return 0;
}

}  // namespace muster::slurm
