// sbatch: submits a batch script (rules B6 to B16).
//
// Options come from three sources: the command line, SBATCH_* variables, and the script's #SBATCH
// lines. The command line is parsed first, because it names the script; then the options of the
// environment and of the script are laid below it. The job is
// submitted with an idempotency key. Refusals of the server are reported in the sentences that
// sbatch prints, since tools match them.
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "clients/lib/idempotency_key.h"
#include "clients/lib/job_wait.h"
#include "clients/lib/visible_text.h"
#include "clients/slurm/array_wait.h"
#include "clients/slurm/command.h"
#include "clients/slurm/refusal_sentences.h"
#include "clients/slurm/sbatch_options.h"
#include "clients/slurm/sbatch_request.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/text/lenient.h"

extern char** environ;

namespace muster::slurm {
namespace {

constexpr char kSbatch[] = "sbatch";

// Prints the lines of an error: "fatal: " replaces "error: ", "plain: " goes without both.
int Report(const OptionError& error, const char* program) {
  if (error.of_getopt) {
    std::fprintf(stderr, "%s: %s\n", program, error.message.c_str());
    return UsageExit(kSbatch, error.exit);
  }
  std::string_view text = error.message;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    if (line.starts_with("fatal: "))
      std::fprintf(stderr, "sbatch: %s\n", client::VisibleText(line).c_str());
    else if (line.starts_with("plain: "))
      std::fprintf(stderr, "%s\n", client::VisibleText(line.substr(7)).c_str());
    else
      PrintError(kSbatch, line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return ErrorExit(error.exit);
}

// Prints the server's refusal in the sentences that users and tools know (rule B14). With -v the
// server's own sentence is printed too.
int ReportRefusal(const client::Failure& failure, const SbatchOptions& options) {
  std::string text = RefusalText(failure, options.fields, "Batch job submission failed: ");
  if (options.Has("verbose") && text.find(failure.detail) == std::string::npos)
    text = failure.detail + "\n" + text;
  PrintError(kSbatch, text);
  return ErrorExit(kExitRefused);
}

// The id of the new job, which is the array's of an array. Empty if the answer has none.
std::vector<std::int64_t> IdsOf(const json::value& answer) {
  if (!answer.is_object()) return {};
  const std::int64_t id = client::MemberNumber(answer.get_object(), "id");
  return id > 0 ? std::vector{id} : std::vector<std::int64_t>{};
}

// For --wait: the exit code of the job, or the highest one of an array's tasks. A job that a signal
// ended, or that did not run to its end, counts as 1.
int WaitForEnd(client::ApiClient& api, const std::vector<std::int64_t>& ids, bool array) {
  const auto ended = [](const client::JobView& job) { return job.ended(); };
  client::Outcome<std::vector<client::JobView>> jobs =
      array ? WaitForArray(api, ids.front()) : client::WaitForJobs(api, ids, 0, ended);
  if (!jobs.ok()) {
    PrintError(kSbatch, FailureText(jobs.failure()));
    return ErrorExit(kExitRefused);
  }
  int highest = 0;
  for (const client::JobView& job : *jobs) {
    // Out of memory counts as an end by a signal, whatever the script returned.
    const bool out_of_memory = job.reason == "OutOfMemory";
    int code = job.state == "Succeeded" && !out_of_memory ? 0 : 1;
    if (!out_of_memory && job.exit_code && *job.exit_code > 0 && *job.exit_code < 128)
      code = *job.exit_code;
    highest = code > highest ? code : highest;
  }
  return highest;
}

// Tells when the job would start, by a dry run of the submission; submits nothing.
int TestOnly(client::ApiClient& api, const json::object& body, const std::string& ns,
             const SbatchOptions& options) {
  const std::string target = "/v1/namespaces/" + client::PercentEncode(ns) + "/jobs" +
                             client::Query().Add("dryRun", "true").text();
  const client::Outcome<json::value> answer = api.Send({"POST", target, json::serialize(body)});
  if (!answer.ok()) {
    if (Mentions(answer.failure(), "resources")) {
      std::fputs("allocation failure: Requested node configuration is not available\n", stderr);
      return ErrorExit(kExitRefused);
    }
    if (Mentions(answer.failure(), "requiredNodes") ||
        Mentions(answer.failure(), "excludedNodes")) {
      std::fputs("allocation failure: Invalid node name specified\n", stderr);
      return ErrorExit(kExitRefused);
    }
    return ReportRefusal(answer.failure(), options);
  }
  if (!answer->is_object()) return Fail(kSbatch, "the server's answer is no estimate");
  const json::object& estimate = answer->get_object();
  const std::string start(TextAt(*answer, "startTime"));
  if (start.empty()) {
    std::fprintf(stderr, "allocation failure: %s\n",
                 client::VisibleText(TextAt(*answer, "text")).c_str());
    return ErrorExit(kExitRefused);
  }
  std::fprintf(
      stderr, "sbatch: Job %lld to start at %s using %lld processors on nodes %s in partition %s\n",
      static_cast<long long>(client::MemberNumber(estimate, "id")),
      FormatTime(ParseStamp(start), client::ProcessEnv("SLURM_TIME_FORMAT")).c_str(),
      static_cast<long long>(client::MemberNumber(estimate, "cpus")),
      client::VisibleText(TextAt(*answer, "nodeList")).c_str(),
      client::VisibleText(TextAt(*answer, "queue")).c_str());
  return 0;
}

std::string CurrentDir() {
  std::string out(4096, '\0');
  if (::getcwd(out.data(), out.size()) == nullptr) return "/";
  out.resize(std::strlen(out.c_str()));
  return out;
}

// True if the text names the caller: his number or his name; nothing if it names nobody.
std::optional<bool> IsOwnId(const std::string& text, bool group) {
  const auto number = ParseCount(text);
  std::optional<std::uint32_t> id;
  if (number) id = static_cast<std::uint32_t>(*number);
  if (group) {
    const struct group* entry = number ? ::getgrgid(*id) : ::getgrnam(text.c_str());
    if (entry == nullptr) return std::nullopt;
    return entry->gr_gid == ::getgid();
  }
  const struct passwd* entry = number ? ::getpwuid(*id) : ::getpwnam(text.c_str());
  if (entry == nullptr) return std::nullopt;
  return entry->pw_uid == ::getuid();
}

// --uid and --gid may name the caller only.
std::optional<OptionError> CheckOwner(const SbatchOptions& options) {
  for (const char* name : {"uid", "gid"}) {
    const auto found = options.client.find(name);
    if (found == options.client.end()) continue;
    const auto own = IsOwnId(found->second, name[0] == 'g');
    if (!own) return OptionError{std::string("Invalid --") + name + " specification"};
    if (!*own && ::geteuid() != 0)
      return OptionError{std::string("--") + name + " only permitted by root user"};
    if (!*own) {
      return OptionError{std::string("--") + name + ": jobs are submitted in the caller's own name",
                         kExitRefused};
    }
  }
  return std::nullopt;
}

// Reads the script and merges the options of all three sources (rule B6).
std::optional<OptionError> Gather(const std::vector<std::string>& words, SbatchOptions* options,
                                  ScriptSource* script) {
  std::size_t operand = 0;
  if (auto error = ApplyWords(words, options, &operand)) return error;
  for (const char* only : {"help", "usage", "version", "gres-help"}) {
    if (options->Has(only)) return std::nullopt;
  }
  if (auto error = CheckMemoryOptions(*options, false)) return error;
  const std::vector<std::string> operands(words.begin() + static_cast<std::ptrdiff_t>(operand),
                                          words.end());
  if (auto error = ReadScript(*options, operands, script)) return error;
  const std::string file = operands.empty() ? "" : operands.front();
  SbatchOptions of_environment, of_script;
  if (auto error = ApplyDirectives(script->text, file, &of_script)) return error;
  if (auto error = ApplyEnvironment(client::ProcessEnv, &of_environment)) return error;
  OverlayOptions(std::move(of_environment), options);
  OverlayOptions(std::move(of_script), options);
  const json::object& fields = options->fields;
  if (fields.contains("gpusPerTask") && !fields.contains("gpus") && !fields.contains("tasks") &&
      !fields.contains("tasksPerNode")) {
    return OptionError{
        "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is "
        "not allowed.\nInvalid generic resource (gres) specification",
        kExitRefused};
  }
  return CheckOwner(*options);
}

// sbatch takes fewer nodes when there are fewer tasks, and says so.
void WarnOfNodes(const SbatchOptions& options) {
  const json::value* tasks = options.fields.if_contains("tasks");
  const json::value* nodes = options.fields.if_contains("nodes");
  if (tasks == nullptr || nodes == nullptr || !tasks->is_int64() || !nodes->is_string()) return;
  const auto least = ParseCount(
      std::string_view(nodes->get_string()).substr(0, nodes->get_string().find_first_of("-,:")));
  if (!least || tasks->get_int64() >= *least) return;
  std::fprintf(stderr,
               "sbatch: Warning: can't run %lld processes on %lld nodes, setting nnodes to %lld\n",
               static_cast<long long>(tasks->get_int64()), static_cast<long long>(*least),
               static_cast<long long>(tasks->get_int64()));
}

// Of "ns/a,ns/b" or "a,b": the namespace of the first, and the names without it.
Partition SplitPartitions(const std::string& text, const std::string& default_ns) {
  Partition all = {default_ns, ""};
  for (const std::string& one : SplitList(text)) {
    const Partition part = SplitPartition(one, default_ns);
    if (all.queue.empty()) all.ns = part.ns;
    // Another namespace stays in the name, so that the server refuses it.
    all.queue += (all.queue.empty() ? "" : ",") + (part.ns == all.ns ? part.queue : one);
  }
  return all;
}

// Prints "Submitted batch job ID", or with --parsable the id alone.
int Submit(const SbatchOptions& options, const ScriptSource& script, SubmitPlace place,
           const char* program) {
  const std::optional<client::Settings> settings = FindServer(kSbatch);
  if (!settings) return ErrorExit(kExitRefused);
  const auto text = [&](const char* field) {
    const json::value* value = options.fields.if_contains(field);
    return value == nullptr ? std::string() : std::string(std::string_view(value->get_string()));
  };
  const Partition where = SplitPartitions(text("queue"), settings->ns);
  place.queue = where.queue;
  client::ApiClient api(*settings);
  json::object body;
  if (const auto error = BuildSubmission(options, script, place, &body))
    return Report(*error, program);
  WarnOfNodes(options);
  if (options.Has("test-only")) return TestOnly(api, body, where.ns, options);
  const std::string target = "/v1/namespaces/" + client::PercentEncode(where.ns) + "/jobs";
  const client::Outcome<json::value> answer =
      api.Send({"POST", target, json::serialize(body), client::NewIdempotencyKey()});
  if (!answer.ok()) return ReportRefusal(answer.failure(), options);
  const std::vector<std::int64_t> ids = IdsOf(*answer);
  if (ids.empty()) {
    PrintError(kSbatch, "Batch job submission failed: the server's answer names no job");
    return ErrorExit(kExitRefused);
  }
  const std::string id = std::to_string(ids.front());
  const std::string cluster = text("cluster");
  if (options.Has("parsable"))
    WriteOut(id + (cluster.empty() ? "" : ";" + cluster) + "\n");
  else if (!options.Has("quiet"))
    WriteOut("Submitted batch job " + id + (cluster.empty() ? "" : " on cluster " + cluster) +
             "\n");
  return options.Has("wait") ? WaitForEnd(api, ids, IsArrayAnswer(*answer)) : 0;
}

}  // namespace

int RunSbatch(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  SbatchOptions options;
  ScriptSource script;
  if (const auto error = Gather(words, &options, &script)) return Report(*error, argv[0]);
  if (options.Has("help") || options.Has("usage")) return WriteOut(SbatchHelp()), 0;
  if (options.Has("version")) return WriteOut(kVersionLine), 0;
  if (options.Has("gres-help")) return WriteOut("Valid gres options are:\ngpu[[:type]:count]\n"), 0;
  SubmitPlace place;
  place.current_dir = CurrentDir();
  place.environment = environ;
  place.submit_line = kSbatch;
  for (const std::string& word : words) place.submit_line += " " + word;
  return Submit(options, script, std::move(place), argv[0]);
}

}  // namespace muster::slurm
