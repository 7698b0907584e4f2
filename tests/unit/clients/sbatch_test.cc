#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "clients/slurm/command.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/text/json.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::slurm {
namespace {

using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;
using testing::Problem;
using testing::ScopedEnv;

class Sbatch : public ::testing::Test {
 protected:
  Sbatch()
      : script_(::testing::TempDir() + "sbatch-test-" + std::to_string(::getpid()) + ".sh"),
        server_([this](const FakeRequest& request) { return answer_(request); }),
        url_("MUSTER_URL", server_.url()),
        config_("XDG_CONFIG_HOME", "/nonexistent") {
    WriteScript("#!/bin/sh\necho hi\n");
  }
  ~Sbatch() override { ::unlink(script_.c_str()); }

  void WriteScript(const std::string& text) { std::ofstream(script_, std::ios::binary) << text; }

  CommandResult Run(std::vector<std::string> words) {
    words.insert(words.begin(), "sbatch");
    return testing::Capture([&] {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      return RunSbatch(static_cast<int>(words.size()), argv.data());
    });
  }

  json::object Body(std::size_t request = 0) {
    return ParseJson(server_.requests().at(request).body)->get_object();
  }

  std::string script_;
  std::function<FakeAnswer(const FakeRequest&)> answer_ = [](const FakeRequest&) {
    return FakeAnswer{201, testing::ViewOf({.id = 300001})};
  };
  FakeServer server_;
  ScopedEnv url_, config_;
};

TEST_F(Sbatch, SubmitsAScriptAndPrintsItsId) {
  const CommandResult ran = Run({script_, "one", "two words"});
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, "Submitted batch job 300001\n");
  EXPECT_EQ(ran.err, "") << "nothing on stderr on success";
  const FakeRequest request = server_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/v1/namespaces/default/jobs");
  EXPECT_EQ(request.Header("idempotency-key").size(), 36u);
  const json::object body = Body();
  EXPECT_EQ(body.at("script").as_string(), "#!/bin/sh\necho hi\n");
  EXPECT_EQ(body.at("arguments"), (json::value{"one", "two words"}));
  EXPECT_FALSE(body.contains("queue")) << "the server resolves the default";
}

TEST_F(Sbatch, SendsNothingThatTheServersParserRefuses) {
  WriteScript("#!/bin/sh\n#SBATCH -J dir -t 10\n");
  Run({"-p",
       "team",
       "-A",
       "acc",
       "-q",
       "high",
       "-N",
       "1",
       "-n",
       "2",
       "-c",
       "3",
       "--mem=4G",
       "--gres=gpu:1",
       "-a",
       "0-3",
       "-o",
       "o-%j",
       "-e",
       "e",
       "-i",
       "/dev/null",
       "-D",
       "/tmp",
       "--export=ALL,A=1",
       "-H",
       "--comment=c d",
       "--no-requeue",
       "--open-mode=append",
       "--hint=nomultithread",
       "--mail-type=NONE",
       script_,
       "x"});
  ASSERT_EQ(server_.requests().size(), 1u);
  const auto manifest = shapes::BatchScriptManifest(Body(), "default");
  EXPECT_TRUE(manifest.ok()) << manifest.error().detail;
}

TEST_F(Sbatch, TakesEachOptionIntoItsField) {
  Run({"-J",    "my job", "-p",          "team/long", "-A",        "acc", "-q",
       "high",  "-t",     "1:30:00",     "-n",        "4",         "-c2", "--mem-per-cpu=512MB",
       "-G",    "2",      "--array=1-3", "--hold",    "--comment", "x y", "-D",
       "/data", "-M",     "east",        script_});
  EXPECT_EQ(server_.requests().at(0).target, "/v1/namespaces/team/jobs");
  const json::object body = Body();
  const std::pair<const char*, const char*> texts[] = {
      {"name", "my job"},        {"queue", "long"},   {"account", "acc"},
      {"priorityClass", "high"}, {"cluster", "east"}, {"timeLimit", "1:30:00"},
      {"memoryPerCpu", "512MB"}, {"gpus", "2"},       {"array", "1-3"},
      {"comment", "x y"},        {"workDir", "/data"}};
  for (const auto& [key, text] : texts) EXPECT_EQ(body.at(key).as_string(), text) << key;
  EXPECT_EQ(body.at("tasks").as_int64(), 4);
  EXPECT_EQ(body.at("cpusPerTask").as_int64(), 2);
  EXPECT_TRUE(body.at("hold").as_bool());
}

TEST_F(Sbatch, CommandLineBeatsEnvironmentBeatsScript) {
  WriteScript(
      "#!/bin/sh\n#SBATCH -J script --time=10\n#SBATCH -c 2 -p script\necho\n#SBATCH -n 9\n");
  const ScopedEnv name("SBATCH_JOB_NAME", "environment"), queue("SBATCH_PARTITION", "env");
  Run({"-J", "line", script_});
  const json::object body = Body();
  EXPECT_EQ(body.at("name").as_string(), "line");
  EXPECT_EQ(body.at("queue").as_string(), "env");
  EXPECT_EQ(body.at("timeLimit").as_string(), "10");
  EXPECT_EQ(body.at("cpusPerTask").as_int64(), 2);
  EXPECT_FALSE(body.contains("tasks")) << "directives end at the first command";
}

TEST_F(Sbatch, MemoryOfTheCommandLineReplacesTheScriptsOther) {
  WriteScript("#!/bin/sh\n#SBATCH --mem=4G\n");
  EXPECT_EQ(Run({"--mem-per-cpu=1G", script_}).exit, 0);
  EXPECT_FALSE(Body().contains("memoryPerNode"));
}

TEST_F(Sbatch, ReadsNoStdinWhenAFileIsGiven_AndWrapsCommands) {
  EXPECT_EQ(Run({"--wrap", "echo $HOME", "--parsable"}).out, "300001\n");
  const json::object body = Body();
  EXPECT_TRUE(body.at("script").as_string().starts_with("#!/bin/sh\n"));
  EXPECT_NE(std::string(body.at("script").as_string()).find("\necho $HOME\n"), std::string::npos);
  EXPECT_EQ(body.at("name").as_string(), "wrap");
  EXPECT_EQ(Run({"-Q", "--wrap", "true"}).out, "");
}

TEST_F(Sbatch, TheIdOfAnArrayIsPrinted) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{201, R"({"id":36,"batch":{"arraySpec":"0-2","arrayTaskId":-1}})"};
  };
  EXPECT_EQ(Run({"--array=0-2", script_}).out, "Submitted batch job 36\n");
}

TEST_F(Sbatch, ExportsWhatIsAskedFor) {
  const ScopedEnv mine("MY_VARIABLE", "v"), secret("MUSTER_TOKEN", "hidden"),
      slurm("SLURM_JOB_ID", "5");
  Run({script_});
  Run({"--export=NONE", script_});
  Run({"--export=MY_VARIABLE,B=2,MUSTER_TOKEN", script_});
  EXPECT_EQ(Body(0).at("environment").at("MY_VARIABLE").as_string(), "v");
  EXPECT_FALSE(Body(0).at("environment").as_object().contains("MUSTER_TOKEN"))
      << "stored manifests hold no token";
  EXPECT_FALSE(Body(1).at("environment").as_object().contains("MY_VARIABLE"));
  EXPECT_TRUE(Body(1).at("environment").as_object().contains("SLURM_JOB_ID"));
  EXPECT_EQ(Body(2).at("environment").at("B").as_string(), "2");
  EXPECT_EQ(Body(2).at("environment").at("MY_VARIABLE").as_string(), "v");
  EXPECT_FALSE(Body(2).at("environment").as_object().contains("PATH"));
  EXPECT_FALSE(Body(2).at("environment").as_object().contains("MUSTER_TOKEN"))
      << "not even if it is named";
  std::size_t next = 3;
  for (const char* list : {"ALL,MUSTER_TOKEN=given", "MUSTER_TOKEN=given", "ALL,MUSTER_TOKEN"}) {
    Run({std::string("--export=") + list, script_});
    const json::value body = Body(next++);
    EXPECT_FALSE(body.at("environment").as_object().contains("MUSTER_TOKEN")) << list;
    // Neither in the command line, which is kept too.
    EXPECT_EQ(json::serialize(body).find("given"), std::string::npos) << list;
  }
}

// SLURM_* goes along whatever --export says, but for the token of Slurm's own daemons.
TEST_F(Sbatch, SlurmsOwnTokenGoesIntoNoJob) {
  const ScopedEnv secret("SLURM_JWT", "hidden"), slurm("SLURM_JOB_ID", "5");
  std::size_t next = 0;
  for (const char* list : {"ALL", "NONE", "NIL", "SLURM_JWT", "SLURM_JWT=given", "ALL,SLURM_JWT"}) {
    Run({std::string("--export=") + list, script_});
    const json::object environment = Body(next++).at("environment").as_object();
    EXPECT_FALSE(environment.contains("SLURM_JWT")) << list;
    EXPECT_TRUE(environment.contains("SLURM_JOB_ID")) << list;
  }
  const std::string file = ::testing::TempDir() + "sbatch-env-" + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary) << "A=1" << '\0' << "SLURM_JWT=x" << '\0';
  EXPECT_EQ(Run({"--export-file", file, script_}).exit, 0);
  EXPECT_EQ(Body(next).at("environment"), (json::value{{"A", "1"}})) << "there is no way in";
  ::unlink(file.c_str());
}

struct BadCase {
  const char* what;
  std::vector<std::string> words;  // @ is the script
  int exit;
  const char* message;
};

TEST_F(Sbatch, RefusesAsSlurmDoesAndSubmitsNothing) {
  const std::vector<BadCase> cases = {
      {"unknown option",
       {"--frobnicate", "@"},
       255,
       "sbatch: unrecognized option '--frobnicate'\nTry \"sbatch --help\" for more information\n"},
      {"bad time", {"--time=soon", "@"}, 255, "sbatch: error: Invalid --time specification\n"},
      {"bad memory", {"--mem=1.5G", "@"}, 255, "sbatch: error: Invalid --mem specification\n"},
      {"bad count", {"-n", "0", "@"}, 1, "sbatch: error: Invalid numeric value \"0\" for --ntasks.\n"},
      {"bad array",
       {"--array=3-1", "@"},
       1,
       "sbatch: error: Batch job submission failed: Invalid job array specification\n"},
      {"two memory options",
       {"--mem=1G", "--mem-per-cpu=1G", "@"},
       1,
       "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n"},
      {"missing file", {"nofile.sh"}, 1, "sbatch: error: Unable to open file nofile.sh\n"},
      {"wrap with a script",
       {"--wrap=x", "@"},
       1,
       "sbatch: error: Script arguments not permitted with --wrap option\n"},
      {"bad nodes", {"-N", "abc", "@"}, 255,
       "sbatch: error: \"abc\" is not a valid node count\n"},
      {"nodes backwards", {"-N", "2-1", "@"}, 255,
       "sbatch: error: Maximum node count 1 is less than minimum node count 2\n"},
      {"bad gres", {"--gres=foo:x", "@"}, 1,
       "sbatch: error: Invalid generic resource (gres) specification\n"},
      {"bad signal", {"--signal=FOO", "@"}, 255, "sbatch: error: Invalid --signal specification\n"},
      {"bad begin", {"--begin=foo", "@"}, 255,
       "Invalid time specification (pos=0): foo\nsbatch: error: Invalid --begin specification\n"},
      {"bad limit", {"--propagate=FOO", "@"}, 1,
       "sbatch: error: Bad rlimit name: FOO\nsbatch: error: --propagate=FOO is not valid.\n"},
      {"no such file", {"--export-file=/nosuch", "@"}, 1,
       "sbatch: error: Could not open user environment file /nosuch\n"},
      {"unknown user", {"--uid=nosuch", "@"}, 255, "sbatch: error: Invalid --uid specification\n"},
      {"ambiguous", {"--me=1", "@"}, 255,
       "sbatch: option '--me=1' is ambiguous; possibilities: '--mem' '--mem-bind' "
       "'--mem-per-cpu' '--mem-per-gpu'\nTry \"sbatch --help\" for more information\n"},
      {"refused by name", {"--bb=x", "@"}, 1,
       "sbatch: error: --bb: burst buffers do not exist here; use a shared directory\n"},
  };
  for (BadCase bad : cases) {
    for (std::string& word : bad.words) word = word == "@" ? script_ : word;
    const CommandResult ran = Run(bad.words);
    EXPECT_EQ(ran.exit, bad.exit) << bad.what;
    EXPECT_EQ(ran.err, bad.message) << bad.what;
    EXPECT_EQ(ran.out, "") << bad.what;
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Sbatch, RefusesScriptsThatAreNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "Batch script is empty!"},
      {"echo\n", "This does not look like a batch script.  The first"},
      {"#!/bin/sh\r\necho\r\n", "DOS line breaks"},
      {"#!/bin/sh\n#SBATCH --comment='x\n", "line 2: Unmatched `'` in [ --comment='x]"},
      {"#!/bin/sh\n#SBATCH word\n", "Invalid directive found in batch script: word"}};
  for (const auto& [text, message] : cases) {
    WriteScript(text);
    const CommandResult ran = Run({script_});
    EXPECT_EQ(ran.exit, std::string(message).starts_with("Invalid dir") ? 255 : 1) << text;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
  WriteScript("#!/bin/sh\n#SBATCH --bogus\n");
  EXPECT_EQ(Run({script_}).exit, 255);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Sbatch, WordsTheServersRefusalAsSlurmWould) {
  answer_ = [](const FakeRequest&) { return Problem(404, "no LocalQueue nope", "queue"); };
  const CommandResult ran = Run({"-p", "nope", script_});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err,
            "sbatch: error: invalid partition specified: nope\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
  answer_ = [](const FakeRequest&) { return Problem(400, "no such class", "priorityClass"); };
  EXPECT_EQ(Run({"-q", "vip", script_}).err,
            "sbatch: error: Batch job submission failed: Invalid qos specification\n");
  const ScopedEnv replaced("SLURM_EXIT_ERROR", "77");
  EXPECT_EQ(Run({"-q", "vip", script_}).exit, 77);
}

TEST_F(Sbatch, WordsEachFieldsRefusal) {
  const std::pair<const char*, const char*> kFields[] = {
      {"features", "Invalid feature specification"},
      {"requiredNodes", "Invalid node name specified"},
      {"licenses", "Invalid license specification"},
      {"reservation", "Requested reservation is invalid"},
      {"dependency", "Job dependency problem"}};
  answer_ = [](const FakeRequest&) { return Problem(400, "no", "gres"); };
  EXPECT_EQ(Run({script_}).err,
            "sbatch: error: Invalid generic resource (gres) specification\n");
  for (const auto& [field, sentence] : kFields) {
    answer_ = [field = field](const FakeRequest&) { return Problem(400, "no", field); };
    EXPECT_EQ(Run({script_}).err, std::string("sbatch: error: Batch job submission failed: ") +
                                      sentence + "\n");
  }
  answer_ = [](const FakeRequest&) {
    return Problem(400, "Requested node configuration is not available: 5 of memory", "resources");
  };
  EXPECT_EQ(Run({script_}).err,
            "sbatch: error: Memory specification can not be satisfied\n"
            "sbatch: error: Batch job submission failed: Requested node configuration is not "
            "available\n");
}

TEST_F(Sbatch, SendsTheCallersWorld) {
  const ScopedEnv function("BASH_FUNC_module%%", "() { :; }");
  const mode_t before = ::umask(027);
  Run({"-N", "2-4", "--propagate=NOFILE", "--begin=2030-01-02T03:04:05", script_, "a"});
  Run({"--export=NIL", "--propagate=NONE", script_});
  ::umask(before);
  const json::object body = Body(0);
  EXPECT_EQ(body.at("environment").at("BASH_FUNC_module%%"), "() { :; }");
  EXPECT_EQ(body.at("umask"), "0027");
  EXPECT_EQ(body.at("nodes"), "2-4");
  EXPECT_EQ(body.at("limits").as_object().size(), 1u);
  EXPECT_TRUE(body.at("limits").at("NOFILE").is_int64());
  EXPECT_TRUE(body.at("begin").as_string().ends_with("Z"));
  EXPECT_EQ(body.at("submitLine").as_string(), "sbatch -N 2-4 --propagate=NOFILE "
                                   "--begin=2030-01-02T03:04:05 " + script_ + " a");
  EXPECT_FALSE(Body(1).contains("limits"));
  EXPECT_FALSE(Body(1).at("environment").as_object().contains("BASH_FUNC_module%%"));
}

TEST_F(Sbatch, ShowsWhereTheScriptIsAndItsArguments) {
  const std::string dir = script_.substr(0, script_.rfind('/')),
                    name = script_.substr(script_.rfind('/') + 1);
  const auto shown = [this](std::vector<std::string> words) {
    Run(std::move(words));
    const json::object body = Body(server_.requests().size() - 1);
    return std::string(std::string_view(body.at("command").as_string()));
  };
  EXPECT_EQ(shown({script_, "x", "y"}), script_ + " x y");
  EXPECT_EQ(shown({script_, "x", "two\nlines", "y"}), script_ + " x");
  EXPECT_EQ(shown({script_, std::string(limits::kBatchPathBytes, 'x')}), script_);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir);
  EXPECT_EQ(shown({name}), dir + "/" + name);
  EXPECT_EQ(shown({"./" + name}), "./" + name);
  EXPECT_EQ(shown({"-D", "/", name}), name);
  std::filesystem::current_path(before);
}

TEST_F(Sbatch, SaysThatThereIsNoDefaultPartition) {
  answer_ = [](const FakeRequest&) { return Problem(400, "no", "queue"); };
  EXPECT_EQ(Run({script_}).err,
            "sbatch: error: Batch job submission failed: No partition specified or system default "
            "partition\n");
  // The default one may be closed.
  answer_ = [](const FakeRequest&) {
    return Problem(400,
                   "LocalQueue main takes no jobs now: Required partition not available "
                   "(inactive or drain)",
                   "queue");
  };
  EXPECT_EQ(Run({script_}).err,
            "sbatch: error: Batch job submission failed: Required partition not available "
            "(inactive or drain)\n");
}

TEST_F(Sbatch, SendsComponentsOfEitherForm) {
  Run({"-n", "1", ":", "-n", "2", "--mem=1G", script_});
  EXPECT_EQ(Body(0).at("components"), (json::value{{{"tasks", 2}, {"memoryPerNode", "1G"}}}));
  WriteScript("#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 3\n");
  Run({script_});
  EXPECT_EQ(Body(1).at("components"), (json::value{{{"tasks", 3}}}));
  EXPECT_EQ(Body(1).at("tasks"), 1);
}

TEST_F(Sbatch, SaysThatTheControllerIsAway) {
  const testing::ClosedPort closed;
  const ScopedEnv url("MUSTER_URL", "http://127.0.0.1:" + std::to_string(closed.port()));
  const CommandResult ran = Run({script_});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(
      ran.err.find(
          "Batch job submission failed: Unable to contact slurm controller (connect failure)"),
      std::string::npos);
}

TEST_F(Sbatch, WaitEndsWithTheHighestCodeOfAnArray) {
  answer_ = [](const FakeRequest& request) {
    FakeAnswer out{200, R"({"id":36,"batch":{"arraySpec":"0-2","arrayTaskId":-1}})"};
    const bool list = request.target.starts_with("/v1/jobs?array=36&");
    if (list && request.target.find("Pending") != std::string::npos) {
      out.body = R"({"items":[],"next_page_token":""})";
    } else if (list) {
      out.body =
          "{\"items\":[" + testing::ViewOf({.id = 36, .state = "Succeeded", .exit_code = "0"}) + "," +
          testing::ViewOf({.id = 37, .state = "Failed", .exit_code = "3"}) + "," +
          testing::ViewOf({.id = 38, .state = "Failed", .exit_code = "137", .exit_signal = 9}) +
          "],\"next_page_token\":\"\"}";
    }
    return out;
  };
  const CommandResult ran = Run({"-W", "-a", "0-2", script_});
  EXPECT_EQ(ran.exit, 3) << ran.err;
  EXPECT_EQ(ran.out, "Submitted batch job 36\n");
}

TEST_F(Sbatch, WaitEndsWithOneIfMemoryWasWanting_WhateverTheScriptReturned) {
  answer_ = [](const FakeRequest& request) {
    FakeAnswer out{200, R"({"id":36,"items":[{"id":36}]})"};
    out.stream = request.target == "/v1/events";
    if (out.stream)
      out.body.clear();
    else if (request.target == "/v1/jobs/36")
      out.body =
          testing::ViewOf({.id = 36, .state = "Failed", .reason = "OutOfMemory", .exit_code = "0"});
    return out;
  };
  EXPECT_EQ(Run({"-W", script_}).exit, 1);
}

TEST_F(Sbatch, TestOnlyAsksForADryRun) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"id":63,"startTime":"2026-11-24T10:00:00Z","cpus":2,)"
                           R"("nodeList":"east","queue":"main"})"};
  };
  const ScopedEnv format("SLURM_TIME_FORMAT", "%s");
  const CommandResult ran = Run({"--test-only", script_});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "sbatch: Job 63 to start at 1795514400 using 2 processors on nodes east in partition "
            "main\n");
  ASSERT_EQ(server_.requests().size(), 1u);
  EXPECT_EQ(server_.requests()[0].target, "/v1/namespaces/default/jobs?dryRun=true");
}

}  // namespace
}  // namespace muster::slurm
