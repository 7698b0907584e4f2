// sbatch: submits a batch script (rules B6 to B16).
//
// Options come from three sources: the command line, SBATCH_* variables, and the script's #SBATCH
// lines. The command line must be parsed first, because it names the script. Then the sources are
// applied from the lowest to the highest precedence: script, environment, command line. The job is
// submitted with an idempotency key. Refusals of the server are reported in the sentences that
// sbatch prints, since tools match them.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "clients/lib/idempotency_key.h"
#include "clients/lib/job_wait.h"
#include "clients/slurm/array_wait.h"
#include "clients/slurm/command.h"
#include "clients/slurm/sbatch_options.h"
#include "clients/slurm/sbatch_request.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/text/lenient.h"

extern char** environ;

namespace muster::slurm {
namespace {

constexpr char kSbatch[] = "sbatch";

// An error without a message is one that getopt_long has printed already.
int Report(const OptionError& error) {
  if (error.message.empty()) return UsageExit(kSbatch, kExitUsage);
  PrintError(kSbatch, error.message);
  return ErrorExit(error.exit);
}

// Applies the options of the script's #SBATCH lines; a word that is no option is an error there.
std::optional<OptionError> ApplyDirectives(const std::string& script, SbatchOptions* options) {
  Result<std::vector<std::string>> words = shapes::DirectiveWords(script);
  if (!words.ok()) return OptionError{words.error().detail, kExitRefused};
  std::vector<char*> argv;
  std::string me = kSbatch;
  argv.push_back(me.data());
  for (std::string& word : words.value()) argv.push_back(word.data());
  argv.push_back(nullptr);
  int operand = 0;
  const int argc = static_cast<int>(argv.size()) - 1;
  if (auto error = ApplyWords(argc, argv.data(), options, &operand)) return error;
  if (operand >= argc) return std::nullopt;
  return OptionError{std::string("Invalid directive found in batch script: ") +
                         argv[static_cast<std::size_t>(operand)],
                     kExitRefused};
}

// True if one of the refusal's fields has this name as the last part of its path.
bool Mentions(const client::Failure& failure, const char* field) {
  for (const FieldError& error : failure.fields) {
    const std::size_t dot = error.field.rfind('.');
    if (error.field.substr(dot == std::string::npos ? 0 : dot + 1) == field) return true;
  }
  return false;
}

// Prints the server's refusal in the sentences that users and tools know (rule B14); the wrong
// field decides which.
int ReportRefusal(const client::Failure& failure, const std::string& partition,
                  const std::string& qos) {
  std::string text;
  if (failure.kind != client::Failure::Kind::kRefused || failure.status == 503) {
    text = "Batch job submission failed: " + FailureText(failure);
  } else if (Mentions(failure, "queue")) {
    text = "invalid partition specified: " + (partition.empty() ? "(default)" : partition) + "\n" +
           failure.detail + "\nBatch job submission failed: Invalid partition name specified";
  } else if (Mentions(failure, "account")) {
    text =
        failure.detail +
        "\nBatch job submission failed: Invalid account or account/partition combination specified";
  } else if (Mentions(failure, "priorityClass") || Mentions(failure, "qos")) {
    text = "Batch job submission failed: Invalid qos specification: " + qos;
  } else {
    text = "Batch job submission failed: " + failure.detail;
  }
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

// Checks the request by a dry run of `apply` and submits nothing. Slurm also prints an estimate of
// the start; Muster gives none here.
int TestOnly(client::ApiClient& api, const json::object& body, const std::string& ns,
             const std::string& partition, const std::string& qos) {
  const Result<json::value> manifest = shapes::BatchScriptManifest(body, ns);
  if (!manifest.ok()) {
    PrintError(kSbatch, "Batch job submission failed: " + manifest.error().detail);
    return ErrorExit(kExitRefused);
  }
  const std::string target =
      "/v1/apply" + client::Query().Add("namespace", ns).Add("dryRun", "true").text();
  const client::Outcome<json::value> answer =
      api.Send({"POST", target, json::serialize(json::array{*manifest})});
  if (!answer.ok()) return ReportRefusal(answer.failure(), partition, qos);
  std::fprintf(stderr, "sbatch: the request is valid; nothing was submitted\n");
  return 0;
}

std::string CurrentDir() {
  std::string out(4096, '\0');
  if (::getcwd(out.data(), out.size()) == nullptr) return "/";
  out.resize(std::strlen(out.c_str()));
  return out;
}

// Reads the script and merges the options of all three sources.
std::optional<OptionError> Gather(int argc, char** argv, SbatchOptions* options,
                                  ScriptSource* script) {
  SbatchOptions command_line;
  int operand = 0;
  if (auto error = ApplyWords(argc, argv, &command_line, &operand)) return error;
  if (command_line.help || command_line.usage || command_line.version) {
    *options = command_line;
    return std::nullopt;
  }
  const std::vector<std::string> operands(argv + operand, argv + argc);
  if (auto error = ReadScript(command_line, operands, script)) return error;
  // From the lowest precedence to the highest (rule B6).
  if (auto error = ApplyDirectives(script->text, options)) return error;
  if (auto error = ApplyEnvironment(client::ProcessEnv, options)) return error;
  // --mem and --mem-per-cpu exclude each other; one on the command line replaces either of a lower
  // source.
  if (command_line.memory_per_cpu) options->memory_per_node.reset();
  if (command_line.memory_per_node) options->memory_per_cpu.reset();
  if (auto error = ApplyWords(argc, argv, options, &operand)) return error;
  return CheckTogether(*options);
}

// Prints "Submitted batch job ID", or with --parsable the id alone.
int Submit(const SbatchOptions& options, const ScriptSource& script) {
  const std::optional<client::Settings> settings = FindServer(kSbatch);
  if (!settings) return ErrorExit(kExitRefused);
  const std::string partition = options.partition.value_or("");
  const Partition where = SplitPartition(partition, settings->ns);
  client::ApiClient api(*settings);
  const json::object body = BuildSubmission(options, script, where.queue, CurrentDir(), environ);
  if (options.test_only) return TestOnly(api, body, where.ns, partition, options.qos.value_or(""));
  const std::string target = "/v1/namespaces/" + client::PercentEncode(where.ns) + "/jobs";
  const client::Outcome<json::value> answer =
      api.Send({"POST", target, json::serialize(body), client::NewIdempotencyKey()});
  if (!answer.ok()) return ReportRefusal(answer.failure(), partition, options.qos.value_or(""));
  const std::vector<std::int64_t> ids = IdsOf(*answer);
  if (ids.empty()) {
    PrintError(kSbatch, "Batch job submission failed: the server's answer names no job");
    return ErrorExit(kExitRefused);
  }
  const std::string id = std::to_string(ids.front());
  if (options.parsable)
    WriteOut(id + (options.cluster ? ";" + *options.cluster : "") + "\n");
  else if (!options.quiet)
    WriteOut("Submitted batch job " + id +
             (options.cluster ? " on cluster " + *options.cluster : "") + "\n");
  return options.wait ? WaitForEnd(api, ids, IsArrayAnswer(*answer)) : 0;
}

}  // namespace

int RunSbatch(int argc, char** argv) {
  SbatchOptions options;
  ScriptSource script;
  if (auto error = Gather(argc, argv, &options, &script)) return Report(*error);
  if (options.help || options.usage) return WriteOut(SbatchHelp()), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  return Submit(options, script);
}

}  // namespace muster::slurm
