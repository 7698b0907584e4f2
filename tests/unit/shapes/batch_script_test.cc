// Batch scripts: the #SBATCH parser, the REST form, and the Job they become.
#include "schedd/base/limits.h"
#include "schedd/shapes/batch/batch_dependency.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/batch/batch_times.h"
#include "schedd/shapes/batch/sbatch_table.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Words(const std::string& script) {
  const auto words = DirectiveWords(script);
  EXPECT_TRUE(words.ok()) << (words.ok() ? "" : words.error().detail);
  return words.ok() ? *words : std::vector<std::string>{};
}

TEST(DirectiveWords, FollowsSbatchsRules) {
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH -J a -c4\n#SBATCH --mem=4G\necho\n"),
              ElementsAre("-J", "a", "-c4", "--mem=4G"));
  EXPECT_THAT(Words("#!/bin/sh\n #SBATCH -J a\n##SBATCH -J b\n"), ElementsAre());
  EXPECT_THAT(Words("#!/bin/sh\n\n# comment\n   # comment\n#SBATCH -J a\n"),
              ElementsAre("-J", "a"));
  EXPECT_THAT(Words("#!/bin/sh\necho\n#SBATCH -J late\n"), ElementsAre());
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH --comment='x y' -J \"a b\"\n"),
              ElementsAre("--comment=x y", "-J", "a b"));
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH --comment=a#b -J c\n#SBATCH -n 2 # two\n"),
              ElementsAre("--comment=a", "-n", "2"));
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH -o $USER\\ x.out\n"), ElementsAre("-o", "$USER x.out"));
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH -J ''\n"), ElementsAre("-J", ""));
  EXPECT_THAT(Words("#!/bin/sh\n#SBATCH"), ElementsAre());
}

TEST(DirectiveWords, RefusesWhatIsNoScript) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "Batch script is empty!"},
      {"echo\n", "the first line must start with #!"},
      {"#!/bin/sh\r\necho\r\n", "DOS line breaks"},
      {std::string("#!/bin/sh\n\0", 11), "NUL"},
      {"#!/bin/sh\n" + std::string(limits::kScriptBytes, 'x'), "is longer than"},
      {"#!/bin/sh\n#\n#SBATCH -J 'a\n", "line 3: Unmatched `'` in [ 'a]"},
  };
  for (const auto& [script, problem] : cases)
    EXPECT_THAT(ProblemsOf(DirectiveWords(script)), HasSubstr(problem));
}

// The job of a request with these fields (flow YAML) and these directives.
Result<ParsedJob> Submit(const std::string& fields, const std::string& directives = "") {
  json::value request = Yaml("{" + fields + "}");
  request.as_object()["script"] = "#!/bin/sh\n" + directives + "echo hello\n";
  auto manifest = BatchScriptManifest(request.as_object(), "team");
  if (!manifest.ok()) return manifest.error();
  return ParseJob(*manifest);
}

std::string Amounts(const std::string& fields, const std::string& directives = "") {
  const auto job = Submit(fields, directives);
  return job.ok() ? PodSetsText(job->pod_sets) : "error: " + job.error().detail;
}

TEST(BatchScript, AsksForWhatItsOptionsSay) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"", "", "main x1 cpu=1"},
      {"cpusPerTask: 4", "", "main x1 cpu=4"},
      {"tasks: 3, cpusPerTask: 2", "", "main x1 cpu=6"},
      {"tasksPerNode: 3", "", "main x1 cpu=3"},
      {"", "#SBATCH -n 3 -c 2 --mem=4G --gres=gpu:2\n",
       "main x1 cpu=6 memory=4Gi nvidia.com/gpu=2"},
      {"cpusPerTask: 8", "#SBATCH -n 2 -c 2\n", "main x1 cpu=16"},
      {"", "#SBATCH --mem-per-cpu=512 -c 4\n", "main x1 cpu=4 memory=2Gi"},
      {"memoryPerNode: 1G", "#SBATCH --mem-per-cpu=512 -c 4\n", "main x1 cpu=4 memory=1Gi"},
      {"memoryPerNode: 2000", "", "main x1 cpu=1 memory=2000Mi"},
      {"gres: gpu", "", "main x1 cpu=1 nvidia.com/gpu=1"},
      {"gres: \"example.com/fpga:2,gpu:1\"", "",
       "main x1 cpu=1 example.com/fpga=2 nvidia.com/gpu=1"},
      {"nodes: 2", "", "main x2 cpu=1"},
      {"nodes: 2-4, tasks: 3", "", "main x2 cpu=2"},
      {"tasks: 5, tasksPerNode: 2", "", "main x3 cpu=2"},
      {"nodes: 1-4, tasks: 4, tasksPerNode: 2", "", "main x2 cpu=2"},
      {"", "#SBATCH -N2 -n1\n", "main x1 cpu=1"},
      {"", "#SBATCH -N2 --ntasks-per-node=2 -c3 --mem=1G\n", "main x2 cpu=6 memory=1Gi"},
      {"", "#SBATCH -N2 --gpus=4 --cpus-per-gpu=3 --mem-per-gpu=1G\n",
       "main x2 cpu=6 memory=2Gi nvidia.com/gpu=2"},
      {"", "#SBATCH --gpus=2 --ntasks-per-gpu=2\n", "main x1 cpu=4 nvidia.com/gpu=2"},
      {"", "#SBATCH -n4 --ntasks-per-gpu=2\n", "main x1 cpu=4 nvidia.com/gpu=2"},
      {"", "#SBATCH -n2 --tres-per-task=cpu:3,gres/gpu:1\n", "main x1 cpu=6 nvidia.com/gpu=2"},
      {"", "#SBATCH --gpus-per-socket=2 --sockets-per-node=2\n", "main x1 cpu=1 nvidia.com/gpu=4"},
      {"", "#SBATCH -n8 --overcommit\n", "main x1 cpu=1"},
      {"", "#SBATCH --mincpus=4\n", "main x1 cpu=4"},
      {"", "#SBATCH -N2 -L matlab:4\n", "main x2 cpu=1 license/matlab=2"},
      {"", "#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -N2 -c2\n",
       "main x1 cpu=1; component-1 x2 cpu=2"},
      {"gpus: 2", "#SBATCH --gres=gpu:4\n", "main x1 cpu=1 nvidia.com/gpu=2"},
      {"gpusPerTask: 2, tasks: 3", "", "main x1 cpu=3 nvidia.com/gpu=6"},
      {"", "#SBATCH --gpus-per-node=2\n", "main x1 cpu=1 nvidia.com/gpu=2"},
      {"gres: \"gpu:2\", gpus: 2", "", "main x1 cpu=1 nvidia.com/gpu=2"},
      {"resources: {cpu: 500m, memory: 1Gi}", "#SBATCH -c 4 --mem=8G\n",
       "main x1 cpu=500m memory=1Gi"},
      {"nodes: 1-4", "", "main x1 cpu=1"},
  };
  for (const auto& [fields, directives, wanted] : cases)
    EXPECT_EQ(Amounts(fields, directives), wanted) << fields << directives;
}

TEST(BatchScript, RefusesWrongFieldsAsTheCallerNamedThem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"nodes: 2-1", "nodes: Invalid --nodes specification"},
      {"nodes: x", "nodes: Invalid --nodes specification"},
      {"tasks: 0", "tasks: must be at least 1"},
      {"nodes: 1, tasks: 4, tasksPerNode: 2",
       "tasks: Requested node configuration is not available"},
      {"cpusPerTask: -1", "cpusPerTask: must be at least 1"},
      {"cpusPerTask: 4000000000", "cpusPerTask: must be at most"},
      {"memoryPerNode: 4X", "memoryPerNode: Invalid --mem specification"},
      {"memoryPerNode: 999999999999T", "memoryPerNode: Invalid --mem specification"},
      {"memoryPerNode: 1G, memoryPerCpu: 1G",
       "memoryPerCpu: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."},
      {"gres: \"gpu:a100:2,gpu:h100:1\"", "gres: one node cannot be asked for two types"},
      {"gres: craynetwork", "gres: Invalid generic resource (gres) specification"},
      {"gres: \"gpu:2g\"", "gres: asks for more than 10000 GPUs on a node"},
      {"gres: \"gpu:9999999999g\", nodes: 2, tasksPerGpu: 1",
       "gres: asks for more than 10000 GPUs"},
      {"gpus: 20002, nodes: 2", "gpus: asks for more than 10000 GPUs on a node"},
      {"gpusPerTask: 6000, tasks: 2", "gpusPerTask: asks for more than 10000 GPUs on a node"},
      {"tasksPerGpu: 1, tasks: 20000", "tasksPerGpu: asks for more than 10000 GPUs on a node"},
      {"resources: {nvidia.com/gpu: 10001}",
       "resources[nvidia.com/gpu]: asks for more than 10000 GPUs on a node"},
      {"gpus: \"a100:x\"", "gpus: Invalid generic resource (gres) specification"},
      {"gpus: 1, nodes: 2", "gpus: asks for less than one GPU on each of 2 nodes"},
      {"nodes: 2, licenses: \"a:3\"", "licenses: the licences of a job on 2 nodes"},
      {"dependency: \"afterok\"", "dependency: Job dependency problem"},
      {"begin: soon", "begin: Invalid --begin specification"},
      {"signal: NONE", "signal: Invalid --signal specification"},
      {"how: {bogus: x}", "how[bogus]"},
      {"umask: \"99\"", "umask: must be an octal number"},
      {"limits: {FOO: 1}", "is no limit of a process"},
      {"components: [{queue: x}]", "unknown field"},
      {"wholeNode: {cpus: 1}", "wholeNode: unknown field"},
      {"nodes: 1, gpus: 2, gres: \"gpu:1\"", "gpus: asks for 2 GPUs, another option for 1"},
      {"gpusPerTask: 2", "gpusPerTask: --gpus-per-task used without"},
      {"resources: {cpu: 2}, cpusPerTask: 2", "resources[cpu]: is given in two ways"},
      {"resources: {cpu: 0}", "resources[cpu]: must be greater than zero"},
      {"timeLimit: soon", "timeLimit: Invalid --time specification"},
      {"array: 1-x", "array: Invalid job array specification"},
      {"workDir: here", "workDir: must be an absolute path"},
      {"openMode: both", "openMode: Invalid --open-mode specification"},
      {"environment: {\"A=B\": x}", "environment[A=B]: a variable's name"},
      {"environment: {A: 1}", "environment[A]: must be a string"},
      {"arguments: [1]", "arguments[0]: must be a string"},
      {"name: \"a\\nb\"", "name: must not contain control characters"},
      {"queue: Bad_Queue", "queue: invalid partition specified"},
      {"queue: other/gpu", "queue: \"other/gpu\" is a queue of another namespace"},
      {"qos: \"a b\"", "priorityClass: Invalid qos specification"},
      {"cluster: \"east,west\"", "cluster: a choice of several clusters"},
      {"cluster: a b", "cluster: must be the name of a member cluster"},
      {"cluster: 1", "cluster: must be a string"},
      {"jobName: x", "jobName: unknown field"},
      {"cpus: 4", "cpus: unknown field"},
      {"hold: \"yes\"", "hold: must be true or false"},
  };
  for (const auto& [fields, problem] : cases)
    EXPECT_THAT(ProblemsOf(Submit(fields)), HasSubstr(problem)) << fields;
  EXPECT_THAT(ProblemsOf(BatchScriptManifest({}, "team")), HasSubstr("script: is required"));
  EXPECT_THAT(ProblemsOf(BatchScriptManifest({{"script", 1}}, "team")),
              HasSubstr("script: must be a string"));
}

TEST(BatchScript, RefusesDirectivesInSbatchsWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--frobnicate", "unrecognized option '--frobnicate'"},
      {"--me=1", "option '--me=1' is ambiguous"},
      {"-y", "invalid option -- 'y'"},
      {"train.py", "Invalid directive found in batch script: train.py"},
      {"--time", "option '--time' requires an argument"},
      {"-t", "option requires an argument -- 't'"},
      {"--hold=yes", "option '--hold' doesn't allow an argument"},
      {"-n two", "Invalid numeric value \"two\" for --ntasks."},
      {"--bb=x", "--bb: burst buffers"},
      {"--container=x", "--container: containers are chosen"},
      {"--tmp=x", "Invalid --tmp specification"},
      {"-N 0", "Node count specification invalid"},
      {"-S 1", "--core-spec: CPUs cannot be taken"},
      {"-t 1 --time-min=2", "Invalid time-min specification"},
      {"--exclusive=all", "Invalid --exclusive specification"},
      {"--mail-type=LATER", "Invalid --mail-type specification"},
      {"--distribution=random", "Invalid --distribution specification"},
      {"hetjob\n#SBATCH -t 5", "components of a heterogeneous job share all but"},
  };
  for (const auto& [words, problem] : cases) {
    EXPECT_THAT(ProblemsOf(Submit("", "#SBATCH " + words + "\n")), HasSubstr(problem)) << words;
  }
}

TEST(BatchScript, ReadsEverythingASubmissionSays) {
  const auto job = Submit(
      "command: /home/ada/train.sh, queue: team/gpu, priorityClass: urgent, account: team-a, "
      "workDir: /home/ada, hold: true",
      "#SBATCH --job-name='my run' --time=1-0 --err=%x.err --array=0-4:2 --no-requeue --comment=hi "
      "--mail-user=a --hint=nomultithread\n");
  ASSERT_TRUE(job.ok()) << job.error().detail;
  EXPECT_EQ(job->name, "");
  EXPECT_EQ(job->display_name, "my run");
  EXPECT_EQ(job->ns, "team");
  EXPECT_EQ(job->queue, "gpu");
  EXPECT_EQ(job->priority_class, "urgent");
  EXPECT_EQ(job->expected_cluster_queue, "team-a");
  EXPECT_EQ(job->time_limit_s, 86400);
  EXPECT_TRUE(job->hold);
  EXPECT_EQ(job->batch->array_spec, "0-4:2");
  EXPECT_FALSE(job->batch->requeue);
  EXPECT_TRUE(Submit("")->batch->requeue);
  EXPECT_EQ(job->batch->std_out, "/home/ada/slurm-%A_%a.out");
  EXPECT_EQ(job->batch->std_err, "/home/ada/%x.err");
  EXPECT_EQ(job->batch->command, "/home/ada/train.sh");
  EXPECT_EQ(Submit("command: /x/run.sh")->display_name, "run.sh");
  EXPECT_EQ(Submit("")->display_name, "sbatch");
  EXPECT_EQ(Submit("name: explicit", "#SBATCH -J directive\n")->display_name, "explicit");
}

TEST(BatchScript, MayNameTheOneMemberClusterThatItRunsOn) {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"cluster: east", ""},
      {"", "#SBATCH -M east\n"},
      {"", "#SBATCH --clusters=east\n"},
      {"", "#SBATCH --cluster east\n"},
      {"cluster: east", "#SBATCH -M west\n"},
      {"cluster: east, queue: " + std::string(60, 'q') + ".gpu", ""}};
  for (const auto& [fields, directives] : ways) {
    const auto job = Submit(fields, directives);
    ASSERT_TRUE(job.ok()) << job.error().detail;
    ASSERT_NE(job->placement, nullptr) << fields << directives;
    EXPECT_EQ(job->placement->cluster, "east") << fields << directives;
  }
  EXPECT_EQ(Submit(ways.back().first)->queue, std::string(60, 'q') + ".gpu")
      << "an annotation beside the queue's";
  EXPECT_EQ(Submit("")->placement, nullptr);
}

TEST(BatchScript, ReadsTimesAsSlurmWritesThem) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"30", 1800},        {"30:00", 1800},     {"1:00:00", 3600}, {"0:30", 60},    {"1-0", 86400},
      {"1-12:30", 131400}, {"2-0:0:1", 172860}, {"UNLIMITED", 0},  {"infinite", 0}, {"0", 0},
  };
  for (const auto& [text, seconds] : cases)
    EXPECT_EQ(Submit("timeLimit: \"" + text + "\"")->time_limit_s, seconds) << text;
  EXPECT_EQ(Submit("timeLimit: 5")->time_limit_s, 300);
  for (const std::string bad : {"-", "1:2:3:4", "1-2-3", "a", "1:", "99999999999999"}) {
    EXPECT_FALSE(Submit("timeLimit: \"" + bad + "\"").ok()) << bad;
  }
}

JobRecord Record(const ParsedJob& parsed) {
  JobRecord job;
  job.id = {41};
  job.name = "job-41";
  job.display_name = parsed.display_name;
  job.ns = "team";
  job.user = "ada";
  job.shape = ShapeKind::kBatchScript;
  job.local_queue = "gpu";
  job.cluster_queue = "team-a";
  job.cluster = "east";
  job.attempt = 1;
  job.time_limit_s = parsed.time_limit_s;
  job.batch = parsed.batch;
  return job;
}

std::string Env(const json::value& manifest, const std::string& name) {
  for (const auto& item :
       At(manifest, {"spec", "template", "spec", "containers", "0", "env"})->as_array()) {
    if (item.at("name").as_string() == name)
      return std::string(std::string_view(item.at("value").as_string()));
  }
  return "unset";
}

TEST(BatchScript, BecomesAJobThatRunsTheScriptFromAConfigMap) {
  const auto parsed = Submit(
      "workDir: /w, arguments: [a, $(X)], environment: {HOME: /h, SLURM_JOB_ID: \"1\", P: $y}, "
      "timeLimit: 2, output: \"out/%x-%4j.log\", openMode: append",
      "#SBATCH -n 2 -c 3 --mem=1G -J train\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  const auto rendered = Render(Record(*parsed), parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok()) << rendered.error().detail;
  const json::value& job = rendered->object.manifest;
  EXPECT_EQ(rendered->object.kind, "Job");
  EXPECT_EQ(TextAt(job, {"spec", "activeDeadlineSeconds"}), "120");
  EXPECT_EQ(TextAt(job, {"spec", "backoffLimit"}), "0");
  const auto* pod = At(job, {"spec", "template"});
  EXPECT_EQ(TextAt(*pod, {"metadata", "annotations", "muster.io/stdout-path"}),
            "\"/w/out/train-0041.log\"");
  EXPECT_EQ(TextAt(*pod, {"metadata", "annotations", "muster.io/open-mode"}), "\"append\"");
  EXPECT_EQ(TextAt(*pod, {"metadata", "annotations", "muster.io/stderr-path"}), "absent");
  EXPECT_EQ(TextAt(*pod, {"spec", "containers", "0", "command", "4"}), "\"a\"");
  EXPECT_EQ(TextAt(*pod, {"spec", "containers", "0", "command", "5"}), "\"$$(X)\"");
  EXPECT_EQ(TextAt(*pod, {"spec", "containers", "0", "workingDir"}), "\"/w\"");
  EXPECT_EQ(TextAt(*pod, {"spec", "containers", "0", "resources", "limits"}),
            R"({"cpu":"6","memory":"1Gi"})");
  EXPECT_EQ(Env(job, "SLURM_JOB_ID"), "41");
  EXPECT_EQ(Env(job, "HOME"), "/h");
  EXPECT_EQ(Env(job, "P"), "$$y");
  EXPECT_EQ(Env(job, "SLURM_JOB_NAME"), "train");
  EXPECT_EQ(Env(job, "SLURM_JOB_PARTITION"), "gpu");
  EXPECT_EQ(Env(job, "SLURM_JOB_ACCOUNT"), "team-a");
  EXPECT_EQ(Env(job, "SLURM_NTASKS"), "2");
  EXPECT_EQ(Env(job, "SLURM_CPUS_PER_TASK"), "3");
  EXPECT_EQ(Env(job, "SLURM_CPUS_ON_NODE"), "6");
  EXPECT_EQ(Env(job, "SLURM_MEM_PER_NODE"), "1024");
  EXPECT_EQ(Env(job, "SLURM_SUBMIT_DIR"), "/w");
  EXPECT_EQ(Env(job, "SLURM_JOB_NODELIST"), "east");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_ID"), "unset");
  EXPECT_EQ(Env(job, "SLURM_GPUS_ON_NODE"), "unset");
  ASSERT_EQ(rendered->dependents.size(), 1U);
  EXPECT_EQ(rendered->object.name, "job-41-00000000");
  EXPECT_EQ(rendered->dependents[0].name, "job-41-00000000-script");
  EXPECT_THAT(TextAt(rendered->dependents[0].manifest, {"data", "slurm_script"}),
              HasSubstr("echo hello"));
  EXPECT_TRUE(ParseObject(rendered->dependents[0].manifest).ok());
}

// The text that the shell of a container runs.
std::string RunOf(const json::value& job) {
  return std::string(std::string_view(
      At(job, {"spec", "template", "spec", "containers", "0", "command", "2"})->as_string()));
}

TEST(BatchScript, KeepsWhatSaysHowAndWhen) {
  const auto job = Submit("", "#SBATCH --hint=nomultithread -m block:cyclic --propagate=NOFILE\n"
                              "#SBATCH -d afterok:7:8_3?after:9+5 --nice=5 --priority=7 -k\n"
                              "#SBATCH --begin=now+1hour --signal=B:USR2@90 --mail-type=END,FAIL\n"
                              "#SBATCH -C 'a&b' -w n1 -x n[2-3] --wckey=k --exclusive\n");
  ASSERT_TRUE(job.ok()) << job.error().detail;
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(job->batch->how, ElementsAre(Pair{"hint", "nomultithread"},
                                           Pair{"distribution", "block:cyclic"},
                                           Pair{"propagate", "NOFILE"}, Pair{"no-kill", "yes"},
                                           Pair{"exclusive", "yes"}));
  ASSERT_NE(job->batch_state, nullptr);
  EXPECT_TRUE(job->batch_state->any_dependency);
  EXPECT_EQ(DependencyText(*job->batch_state, [](JobId id) { return id.value == 7; }),
            "afterok:7_*(unfulfilled)?afterok:8_3(unfulfilled)?after:9+5(unfulfilled)");
  EXPECT_EQ(job->batch_state->nice, 5);
  EXPECT_EQ(job->batch_state->own_priority, 7);
  EXPECT_EQ(FormatRfc3339(*job->batch_state->begin_at), "1970-01-01T01:00:00Z") << "of time zero";
  EXPECT_EQ(job->batch->warning, (WarningSignal{12, 90, true, false}));
  EXPECT_EQ(job->batch->mail_events, 6U);
  EXPECT_EQ(job->batch->features, "a&b");
  EXPECT_TRUE(job->batch->exclusive);
  EXPECT_TRUE(Submit("", "#SBATCH --priority=0\n")->hold);
  EXPECT_EQ(Submit("queue: \"gpu,team/long\"")->queue, "gpu,long");
  EXPECT_EQ(Submit("")->batch_state, nullptr);
}

TEST(BatchScript, OfSeveralNodesIsAnIndexedJobWithAServiceForItsHosts) {
  const auto parsed = Submit("umask: \"0027\", environment: {\"BASH_FUNC_m%%\": \"() { echo 'x'; }\"}",
                             "#SBATCH -N2 -n3 -c2 --signal=USR1@30\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  const auto rendered = Render(Record(*parsed), parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok()) << rendered.error().detail;
  const json::value& job = rendered->object.manifest;
  EXPECT_EQ(rendered->object.name, "job-41");
  EXPECT_EQ(TextAt(job, {"spec", "completionMode"}), "\"Indexed\"");
  EXPECT_EQ(TextAt(job, {"spec", "completions"}), "2");
  EXPECT_EQ(TextAt(job, {"spec", "successPolicy"}), R"({"rules":[{"succeededIndexes":"0"}]})");
  EXPECT_EQ(TextAt(job, {"spec", "template", "spec", "subdomain"}), "\"job-41\"");
  EXPECT_EQ(Env(job, "SLURM_JOB_NODELIST"), "job-41-[0-1]");
  EXPECT_EQ(Env(job, "SLURMD_NODENAME"), "job-41-0");
  EXPECT_EQ(Env(job, "SLURM_TASKS_PER_NODE"), "2,1");
  EXPECT_EQ(Env(job, "SLURM_JOB_CPUS_PER_NODE"), "4(x2)");
  EXPECT_EQ(Env(job, "SLURM_NNODES"), "2");
  const auto* annotations = At(job, {"spec", "template", "metadata", "annotations"});
  EXPECT_EQ(TextAt(*annotations, {"muster.io/hosts"}), "\"job-41-0,job-41-1\"");
  EXPECT_EQ(TextAt(*annotations, {"muster.io/signal"}), "\"10@30\"");
  EXPECT_THAT(RunOf(job), HasSubstr("!= 0 ]; then\n[ -z \"$$MUSTER_STEPS_DIR\" ] || exec"));
  EXPECT_THAT(RunOf(job), testing::Not(HasSubstr("/opt/muster")));
  EXPECT_THAT(RunOf(job), HasSubstr("umask 0027\n"));
  EXPECT_THAT(RunOf(job), HasSubstr(R"(exec env 'BASH_FUNC_m%%=() { echo '\''x'\''; }' )"));
  ASSERT_EQ(rendered->dependents.size(), 2U);
  EXPECT_EQ(rendered->dependents[1].kind, "Service");
  EXPECT_EQ(TextAt(rendered->dependents[1].manifest, {"spec", "clusterIP"}), "\"None\"");
}

TEST(BatchScript, HasToolsAndDirectoriesOfItsQueueElseOfItsClusterQueue) {
  const auto parsed = Submit("");
  ConfigView config;
  const auto render = [&] {
    return Render(Record(*parsed), parsed->manifest, config, {"i", false});
  };
  const auto annotation = [&](const char* key) {
    const auto rendered = render();
    return TextAt(*At(rendered->object.manifest, {"spec", "template", "metadata", "annotations"}),
                  {key});
  };
  const JobRecord record = Record(*parsed);
  config.cluster_queues[record.cluster_queue].tools_image = "far:1";
  config.cluster_queues[record.cluster_queue].shared_directories = "home:/home";
  EXPECT_EQ(annotation("muster.io/tools-image"), "\"far:1\"");
  EXPECT_EQ(annotation("muster.io/shared-directories"), "\"home:/home\"");
  config.local_queues[{record.ns, record.local_queue}].tools_image = "near:1";
  EXPECT_EQ(annotation("muster.io/tools-image"), "\"near:1\"");
  EXPECT_THAT(RunOf(render()->object.manifest),
              HasSubstr("PATH=\"/opt/muster/slurm:/opt/muster:$$PATH\""));
}

TEST(BatchScript, OfComponentsIsAJobSet) {
  const auto parsed = Submit("", "#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -N2 -c2\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  JobRecord record = Record(*parsed);
  record.pod_sets = std::make_shared<const PodSets>(parsed->pod_sets);
  const auto rendered = Render(record, parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok()) << rendered.error().detail;
  EXPECT_EQ(rendered->object.kind, "JobSet");
  EXPECT_TRUE(ParseJob(json::value(rendered->object.manifest)).ok());
  EXPECT_EQ(parsed->batch->components,
            (std::vector<HetComponent>{{"component-1", 2, 2, 2}}));
}

// TorchX names each of the components, and repeats what they share.
TEST(BatchScript, ComponentsMayHaveNames) {
  const auto parsed = Submit(
      "", "#SBATCH -J sh-0 -t 2 -n1\n#SBATCH hetjob\n#SBATCH -J sh-1 -t 2\n#SBATCH hetjob\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  EXPECT_EQ(parsed->display_name, "sh-0");
  JobRecord record = Record(*parsed);
  record.pod_sets = std::make_shared<const PodSets>(parsed->pod_sets);
  const auto rendered = Render(record, parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok()) << rendered.error().detail;
  const std::string text = json::serialize(rendered->object.manifest);
  const std::vector<std::string> names = {"sh-0", "sh-1", "sh-0"};
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_THAT(text, HasSubstr(R"({"name":"SLURM_JOB_NAME_HET_GROUP_)" + std::to_string(i) +
                                R"(","value":")" + names[i] + "\"}"));
}

TEST(BatchScript, IsRenderedWithWhatWasChangedSince) {
  const auto parsed = Submit("", "#SBATCH -J a\n");
  JobRecord record = Record(*parsed);
  BatchState state;
  state.changed_spec = R"({"output":"/tmp/new","comment":null})";
  record.batch_state = std::make_shared<const BatchState>(state);
  const auto rendered = Render(record, parsed->manifest, ConfigView{}, {"inst", false});
  EXPECT_EQ(TextAt(rendered->object.manifest,
                   {"spec", "template", "metadata", "annotations", "muster.io/stdout-path"}),
            "\"/tmp/new\"");
}

TEST(SbatchTable, IsSortedAndNamesEachLetterOnce) {
  std::string letters;
  std::string_view before;
  for (const SbatchOption& option : SbatchOptions()) {
    EXPECT_LT(before, option.name);
    before = option.name;
    if (option.letter == 0) continue;
    EXPECT_EQ(letters.find(option.letter), std::string::npos) << option.letter;
    letters.push_back(option.letter);
  }
}

TEST(ParseDependencies, TakesSlurmsFormsAndRefusesOthers) {
  for (const std::string good : {"", "7", "afterok:7", "afterany:7:8", "after:7+10:8", "singleton",
                                 "afterok:8_3,afternotok:9", "aftercorr:8?afterok:9", "AFTEROK:8_*"})
    EXPECT_TRUE(ParseDependencies(good).ok()) << good;
  for (const std::string bad : {"foo", "afterok", "afterok:", "afterok:x", "afterok:0", "after:7+",
                                "afterok:7+5", "a:1", "afterok:7,", "7,8?9", "singleton:7", "7_x"})
    EXPECT_THAT(ProblemsOf(ParseDependencies(bad)), HasSubstr("Job dependency problem")) << bad;
}

TEST(ParseSlurmPoint, ReadsTimesRelativeToNow) {
  WallTime now;
  ASSERT_TRUE(ParseRfc3339("2026-11-24T14:00:00Z", &now));
  const std::pair<std::string, std::string> cases[] = {
      {"now", "2026-11-24T14:00:00Z"},       {"now+60", "2026-11-24T14:01:00Z"},
      {"now+2days", "2026-11-26T14:00:00Z"}, {"16:00", "2026-11-24T16:00:00Z"},
      {"13:00", "2026-11-25T13:00:00Z"},     {"1:30PM", "2026-11-25T13:30:00Z"},
      {"tomorrow", "2026-11-25T00:00:00Z"},  {"noon", "2026-11-25T12:00:00Z"},
      {"2027-01-02", "2027-01-02T00:00:00Z"}, {"2027-01-02T03:04", "2027-01-02T03:04:00Z"},
      {"12/24/27-18:00", "2027-12-24T18:00:00Z"}, {"1224", "2026-12-24T00:00:00Z"}};
  for (const auto& [text, wanted] : cases) {
    const auto point = ParseSlurmPoint(text, now);
    ASSERT_TRUE(point) << text;
    EXPECT_EQ(FormatRfc3339(*point), wanted) << text;
  }
  for (const std::string bad : {"", "soon", "now-1", "25:00", "2026-13-01", "1:2:3:4"})
    EXPECT_FALSE(ParseSlurmPoint(bad, now)) << bad;
}

TEST(BatchScript, CountsItsDevicesFromZero) {
  const auto parsed =
      Submit("environment: {CUDA_VISIBLE_DEVICES: \"7\"}", "#SBATCH --gres=gpu:3\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  const auto rendered = Render(Record(*parsed), parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok());
  EXPECT_EQ(Env(rendered->object.manifest, "CUDA_VISIBLE_DEVICES"), "0,1,2");
  EXPECT_EQ(Env(rendered->object.manifest, "SLURM_JOB_GPUS"), "0,1,2");
  const auto none = Submit("");
  const auto plain = Render(Record(*none), none->manifest, ConfigView{}, {"inst", false});
  EXPECT_EQ(Env(plain->object.manifest, "CUDA_VISIBLE_DEVICES"), "unset");
  // The whole of a member that declares no machines: taken, but not numbered.
  json::value pool = Submit("exclusive: exclusive", "")->manifest;
  pool.at("spec").as_object()["wholeNode"] = {{"cpus", 1}, {"gpus", 20'000}};
  const ParsedJob taken = Job(pool);
  EXPECT_EQ(PodSetsText(taken.pod_sets), "main x1 cpu=1 nvidia.com/gpu=20000");
  const auto whole = Render(Record(taken), taken.manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(Env(whole->object.manifest, "CUDA_VISIBLE_DEVICES"), "unset");
}

TEST(BatchScript, AnArrayTaskKnowsItsArray) {
  const auto parsed = Submit("array: \"2-8:2\", workDir: /w");
  ASSERT_TRUE(parsed.ok());
  JobRecord record = Record(*parsed);
  auto details = std::make_shared<BatchDetails>(*parsed->batch);
  details->array_job_id = {40};
  details->array_task_id = 4;
  record.batch = details;
  const auto rendered = Render(record, parsed->manifest, ConfigView{}, {"inst", false});
  ASSERT_TRUE(rendered.ok());
  const json::value& job = rendered->object.manifest;
  EXPECT_EQ(TextAt(job, {"spec", "template", "metadata", "annotations", "muster.io/stdout-path"}),
            "\"/w/slurm-40_4.out\"");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_JOB_ID"), "40");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_ID"), "4");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_COUNT"), "4");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_MIN"), "2");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_MAX"), "8");
  EXPECT_EQ(Env(job, "SLURM_ARRAY_TASK_STEP"), "2");
}

TEST(BatchScript, ScriptsOfRandomBytesNeverBreakTheParser) {
  const std::string pieces[] = {"#SBATCH ", "\n", "-J", " ",  "'",  "\"", "\\",   "#",  "--mem=",
                                "4G",       "x",  "-c", "\t", "--", "=",  "\xff", "-N1"};
  std::uint64_t state = 20261121;
  for (int i = 0; i < 20000; ++i) {
    std::string script = "#!/bin/sh\n";
    for (int k = 0; k < 12; ++k) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      script += pieces[(state >> 33) % std::size(pieces)];
    }
    const auto manifest = BatchScriptManifest({{"script", script}}, "team");
    if (manifest.ok()) {
      EXPECT_TRUE(ParseJob(*manifest).ok()) << script;
    }
  }
}

}  // namespace
}  // namespace muster::shapes
