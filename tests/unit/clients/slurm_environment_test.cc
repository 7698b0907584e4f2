// Environment variables of the Slurm-named commands: each variable of the manual pages has its
// effect, is refused by its name, or is known to have no effect; and exit statuses of wrong calls.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/slurm_time.h"
#include "schedd/text/json.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::slurm {
namespace {

using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;
using testing::ListOf;
using testing::SampleJob;
using testing::ScopedEnv;

// The ENVIRONMENT VARIABLES of each manual page of Slurm 22.05, and other variables that its
// programs read.
const std::map<std::string, std::vector<std::string>> kPages = {
    {"sbatch",
     {"SBATCH_ACCOUNT",
      "SBATCH_ACCTG_FREQ",
      "SBATCH_ARRAY_INX",
      "SBATCH_BATCH",
      "SBATCH_BURST_BUFFER",
      "SBATCH_CLUSTERS",
      "SBATCH_CLUSTER_CONSTRAINT",
      "SBATCH_CONSTRAINT",
      "SBATCH_CONTAINER",
      "SBATCH_CORE_SPEC",
      "SBATCH_CPUS_PER_GPU",
      "SBATCH_CPU_FREQ_REQ",
      "SBATCH_DEBUG",
      "SBATCH_DELAY_BOOT",
      "SBATCH_DISTRIBUTION",
      "SBATCH_ERROR",
      "SBATCH_EXCLUSIVE",
      "SBATCH_EXPORT",
      "SBATCH_GET_USER_ENV",
      "SBATCH_GPUS",
      "SBATCH_GPUS_PER_NODE",
      "SBATCH_GPUS_PER_SOCKET",
      "SBATCH_GPUS_PER_TASK",
      "SBATCH_GPU_BIND",
      "SBATCH_GPU_FREQ",
      "SBATCH_GRES",
      "SBATCH_GRES_FLAGS",
      "SBATCH_HINT",
      "SBATCH_IGNORE_PBS",
      "SBATCH_INPUT",
      "SBATCH_JOB_NAME",
      "SBATCH_MEM_BIND",
      "SBATCH_MEM_PER_CPU",
      "SBATCH_MEM_PER_GPU",
      "SBATCH_MEM_PER_NODE",
      "SBATCH_NETWORK",
      "SBATCH_NO_KILL",
      "SBATCH_NO_REQUEUE",
      "SBATCH_OPEN_MODE",
      "SBATCH_OUTPUT",
      "SBATCH_OVERCOMMIT",
      "SBATCH_PARTITION",
      "SBATCH_POWER",
      "SBATCH_PROFILE",
      "SBATCH_QOS",
      "SBATCH_REQUEUE",
      "SBATCH_REQ_SWITCH",
      "SBATCH_RESERVATION",
      "SBATCH_SIGNAL",
      "SBATCH_SPREAD_JOB",
      "SBATCH_THREADS_PER_CORE",
      "SBATCH_THREAD_SPEC",
      "SBATCH_TIMELIMIT",
      "SBATCH_USE_MIN_NODES",
      "SBATCH_WAIT",
      "SBATCH_WAIT4SWITCH",
      "SBATCH_WAIT_ALL_NODES",
      "SBATCH_WCKEY",
      "SLURM_CLUSTERS",
      "SLURM_CONF",
      "SLURM_DEBUG_FLAGS",
      "SLURM_EXIT_ERROR",
      "SLURM_HINT",
      "SLURM_STEP_KILLED_MSG_NODE_ID",
      "SLURM_UMASK"}},
    {"scancel",
     {"SCANCEL_ACCOUNT", "SCANCEL_BATCH", "SCANCEL_CTLD", "SCANCEL_FULL", "SCANCEL_HURRY",
      "SCANCEL_INTERACTIVE", "SCANCEL_NAME", "SCANCEL_PARTITION", "SCANCEL_QOS", "SCANCEL_STATE",
      "SCANCEL_USER", "SCANCEL_VERBOSE", "SCANCEL_WCKEY", "SLURM_CONF", "SLURM_CLUSTERS",
      "SLURM_DEBUG_FLAGS"}},
    {"squeue", {"SLURM_BITSTR_LEN",    "SLURM_CLUSTERS",  "SLURM_CONF",        "SLURM_DEBUG_FLAGS",
                "SLURM_TIME_FORMAT",   "SQUEUE_ACCOUNT",  "SQUEUE_ALL",        "SQUEUE_ARRAY",
                "SQUEUE_ARRAY_UNIQUE", "SQUEUE_NAMES",    "SQUEUE_FEDERATION", "SQUEUE_FORMAT",
                "SQUEUE_FORMAT2",      "SQUEUE_LICENSES", "SQUEUE_LOCAL",      "SQUEUE_PARTITION",
                "SQUEUE_PRIORITY",     "SQUEUE_QOS",      "SQUEUE_SIB",        "SQUEUE_SIBLING",
                "SQUEUE_SORT",         "SQUEUE_STATES",   "SQUEUE_USERS"}},
    {"sacct",
     {"SACCT_FEDERATION", "SACCT_FORMAT", "SACCT_LOCAL", "SLURM_BITSTR_LEN", "SLURM_CONF",
      "SLURM_DEBUG_FLAGS", "SLURM_TIME_FORMAT"}},
    {"sinfo",
     {"SINFO_ALL", "SINFO_FEDERATION", "SINFO_FORMAT", "SINFO_LOCAL", "SINFO_PARTITION",
      "SINFO_SORT", "SLURM_CLUSTERS", "SLURM_CONF", "SLURM_DEBUG_FLAGS", "SLURM_TIME_FORMAT"}},
    {"scontrol",
     {"SCONTROL_ALL", "SCONTROL_FEDERATION", "SCONTROL_FUTURE", "SCONTROL_LOCAL", "SCONTROL_SIB",
      "SCONTROL_SIBLING", "SLURM_BITSTR_LEN", "SLURM_CLUSTERS", "SLURM_CONF", "SLURM_CONF_OUT",
      "SLURM_DEBUG_FLAGS", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_TIME_FORMAT",
      "SLURM_TOPO_LEN"}},
};

class SlurmEnvironment : public ::testing::Test {
 protected:
  SlurmEnvironment()
      : script_(::testing::TempDir() + "slurm-environment-" + std::to_string(::getpid()) + ".sh"),
        server_([this](const FakeRequest& request) { return answer_(request); }),
        url_("MUSTER_URL", server_.url()),
        config_("XDG_CONFIG_HOME", "/nonexistent"),
        zone_("TZ", "UTC") {
    std::ofstream(script_) << "#!/bin/sh\necho hi\n";
  }
  ~SlurmEnvironment() override { ::unlink(script_.c_str()); }

  CommandResult Run(std::vector<std::string> words) {
    using Command = int (*)(int, char**);
    static const std::map<std::string, Command> kCommands = {
        {"sbatch", RunSbatch},     {"squeue", RunSqueue}, {"scancel", RunScancel},
        {"sacct", RunSacct},       {"sinfo", RunSinfo},   {"scontrol", RunScontrol},
        {"sacctmgr", RunSacctmgr}, {"sstat", RunSstat},   {"seff", RunSeff}};
    const Command command = kCommands.at(words.at(0));
    return testing::Capture([&] {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      return command(static_cast<int>(words.size()), argv.data());
    });
  }
  // A call of the command that contacts the server.
  std::vector<std::string> Usual(const std::string& command) {
    if (command == "sbatch") return {"sbatch", script_};
    if (command == "scancel") return {"scancel", "--me"};
    if (command == "scontrol") return {"scontrol", "show", "job", "1"};
    return {command};
  }
  // The ids that DELETE was sent for.
  std::string Cancelled(std::size_t from = 0) {
    std::string ids;
    const std::vector<FakeRequest> all = server_.requests();
    for (std::size_t i = from; i < all.size(); ++i) {
      if (all[i].method == "DELETE")
        ids += all[i].target.substr(all[i].target.rfind('/') + 1) + " ";
    }
    return ids;
  }

  std::string script_;
  std::function<FakeAnswer(const FakeRequest&)> answer_ = [](const FakeRequest& request) {
    if (request.method == "POST") return FakeAnswer{201, testing::ViewOf({.id = 300001})};
    return FakeAnswer{200, ListOf()};
  };
  FakeServer server_;
  ScopedEnv url_, config_, zone_;
};

TEST_F(SlurmEnvironment, EveryVariableOfTheManualPagesIsKnown) {
  for (const auto& [command, page] : kPages) {
    std::set<std::string> known;
    for (const Variable& one : VariablesOf(command)) {
      EXPECT_TRUE(known.insert(one.name).second) << command << " has twice " << one.name;
      EXPECT_FALSE(one.what.empty()) << one.name;
    }
    for (const std::string& name : page)
      EXPECT_TRUE(known.contains(name)) << command << " does not know " << name;
  }
}

TEST_F(SlurmEnvironment, WhatIsNotSupportedIsRefusedByItsNameAndNothingIsSent) {
  std::size_t refused = 0;
  for (const auto& [command, page] : kPages) {
    for (const Variable& one : VariablesOf(command)) {
      if (one.use != VariableUse::kRefused) continue;
      const ScopedEnv set(one.name.c_str(), "1");
      const CommandResult ran = Run(Usual(command));
      EXPECT_EQ(ran.exit, 1) << command << " " << one.name;
      const std::string begins = command + ": error: " + one.name + ": ";
      EXPECT_EQ(ran.err.substr(0, begins.size()), begins) << ran.err;
      EXPECT_EQ(ran.out, "") << one.name;
      ++refused;
    }
  }
  EXPECT_GT(refused, 5U);
  EXPECT_TRUE(server_.requests().empty()) << "nothing is sent";
}

TEST_F(SlurmEnvironment, WhatChangesNothingChangesNothing) {
  for (const auto& [command, page] : kPages) {
    const std::string plain = Run(Usual(command)).out;
    for (const Variable& one : VariablesOf(command)) {
      if (one.use != VariableUse::kWithoutEffect) continue;
      const ScopedEnv set(one.name.c_str(), "1");
      const CommandResult ran = Run(Usual(command));
      EXPECT_EQ(ran.out, plain) << command << " " << one.name;
    }
  }
}

TEST_F(SlurmEnvironment, SbatchTakesEachVariableAsItsOption) {
  struct Case {
    const char* name;
    const char* value;
    const char* field;
    const char* wanted;  // as JSON
  };
  // clang-format off
  const Case kCases[] = {
      {"SBATCH_ACCOUNT", "acc", "account", R"("acc")"},
      {"SBATCH_ARRAY_INX", "0-3", "array", R"("0-3")"},
      {"SBATCH_BATCH", "fast", "how", R"({"batch":"fast"})"},
      {"SBATCH_CLUSTERS", "east", "cluster", R"("east")"},
      {"SBATCH_ACCTG_FREQ", "30", "how", R"({"acctg-freq":"30"})"},
      {"SBATCH_CONSOLIDATE_SEGMENTS", "", "how", R"({"consolidate-segments":"yes"})"},
      {"SBATCH_CONSTRAINT", "a&b", "features", R"("a&b")"},
      {"SBATCH_CPUS_PER_GPU", "2", "cpusPerGpu", "2"},
      {"SBATCH_CPUS_PER_TASK", "3", "cpusPerTask", "3"},
      {"SBATCH_CPU_FREQ_REQ", "high", "how", R"({"cpu-freq":"high"})"},
      {"SBATCH_DELAY_BOOT", "5", "how", R"({"delay-boot":"5"})"},
      {"SBATCH_DISTRIBUTION", "cyclic", "how", R"({"distribution":"cyclic"})"},
      {"SBATCH_EXCLUSIVE", "user", "exclusive", R"("user")"},
      {"SBATCH_GPU_BIND", "closest", "how", R"({"gpu-bind":"closest"})"},
      {"SBATCH_GPU_FREQ", "low", "how", R"({"gpu-freq":"low"})"},
      {"SBATCH_GRES_FLAGS", "enforce-binding", "how", R"({"gres-flags":"enforce-binding"})"},
      {"SBATCH_MEM_BIND", "local", "how", R"({"mem-bind":"local"})"},
      {"SBATCH_MEM_PER_GPU", "1G", "memoryPerGpu", R"("1G")"},
      {"SBATCH_NO_KILL", "off", "how", R"({"no-kill":"off"})"},
      {"SBATCH_OVERCOMMIT", "1", "how", R"({"overcommit":"yes"})"},
      {"SBATCH_POWER", "level", "how", R"({"power":"level"})"},
      {"SBATCH_PROFILE", "task", "how", R"({"profile":"task"})"},
      {"SBATCH_REQ_SWITCH", "1", "how", R"({"switches":"1"})"},
      {"SBATCH_RESERVATION", "rv", "reservation", R"("rv")"},
      {"SBATCH_SEGMENT_SIZE", "2", "how", R"({"segment":"2"})"},
      {"SBATCH_SIGNAL", "B:USR2@90", "signal", R"("B:USR2@90")"},
      {"SBATCH_SPREAD_JOB", "1", "how", R"({"spread-job":"yes"})"},
      {"SBATCH_SPREAD_SEGMENTS", "1", "how", R"({"spread-segments":"yes"})"},
      {"SBATCH_THREADS_PER_CORE", "1", "how", R"({"threads-per-core":"1"})"},
      {"SBATCH_TRES_BIND", "gres/gpu:closest", "how", R"({"tres-bind":"gres/gpu:closest"})"},
      {"SBATCH_TRES_PER_TASK", "cpu:2", "tresPerTask", R"("cpu:2")"},
      {"SBATCH_USE_MIN_NODES", "1", "how", R"({"use-min-nodes":"yes"})"},
      {"SBATCH_WAIT_ALL_NODES", "1", "how", R"({"wait-all-nodes":"1"})"},
      {"SBATCH_WCKEY", "key", "wckey", R"("key")"},
      {"SLURM_UMASK", "0027", "umask", R"("0027")"},
      {"SBATCH_DEBUG", "1", "script", R"("#!/bin/sh\necho hi\n")"},  // -v: nothing more is told
      {"SBATCH_ERROR", "e.%j", "error", R"("e.%j")"},
      {"SBATCH_GPUS", "2", "gpus", R"("2")"},
      {"SBATCH_GPUS_PER_NODE", "a100:2", "gpusPerNode", R"("a100:2")"},
      {"SBATCH_GPUS_PER_SOCKET", "1", "gpusPerSocket", R"("1")"},
      {"SBATCH_GPUS_PER_TASK", "3", "gpusPerTask", R"("3")"},
      {"SBATCH_GRES", "gpu:1", "gres", R"("gpu:1")"},
      {"SBATCH_IGNORE_PBS", "", "script", R"("#!/bin/sh\necho hi\n")"},  // they are comments anyway
      {"SBATCH_INPUT", "in", "input", R"("in")"},
      {"SBATCH_JOB_NAME", "n", "name", R"("n")"},
      {"SBATCH_MEM_PER_CPU", "1G", "memoryPerCpu", R"("1G")"},
      {"SBATCH_MEM_PER_NODE", "2G", "memoryPerNode", R"("2G")"},
      {"SBATCH_NO_REQUEUE", "yes", "requeue", "false"},
      {"SBATCH_OPEN_MODE", "a", "openMode", R"("append")"},
      {"SBATCH_OUTPUT", "o.%j", "output", R"("o.%j")"},
      {"SBATCH_PARTITION", "long", "queue", R"("long")"},
      {"SBATCH_QOS", "high", "priorityClass", R"("high")"},
      {"SBATCH_REQUEUE", "1", "requeue", "true"},
      {"SBATCH_TIMELIMIT", "5", "timeLimit", R"("5")"},
      {"SLURM_CLUSTERS", "west", "cluster", R"("west")"},
  };
  // clang-format on
  std::set<std::string> tested = {"SBATCH_EXPORT",     "SBATCH_HINT",      "SBATCH_WAIT",
                                  "SLURM_HINT",        "SLURM_EXIT_ERROR", "SBATCH_GET_USER_ENV",
                                  "SBATCH_WAIT4SWITCH"};  // below
  for (const Case& one : kCases) {
    tested.insert(one.name);
    // An empty value asks for flags, and a ScopedEnv of "" would unset.
    ::setenv(one.name, one.value, 1);
    const CommandResult ran = Run({"sbatch", "-n", "2", script_});
    ::unsetenv(one.name);
    ASSERT_EQ(ran.exit, 0) << one.name << ": " << ran.err;
    const json::value body = *ParseJson(server_.requests().back().body);
    const json::value* field = body.get_object().if_contains(one.field);
    ASSERT_NE(field, nullptr) << one.name;
    EXPECT_EQ(json::serialize(*field), one.wanted) << one.name;
  }
  for (const Variable& one : VariablesOf("sbatch")) {
    if (one.use != VariableUse::kRead) continue;
    EXPECT_TRUE(tested.contains(one.name)) << one.name;
  }
}

TEST_F(SlurmEnvironment, SbatchFlagsAreOnWhenEmptyYesOrANumber) {
  const std::pair<const char*, bool> kValues[] = {{"", true},   {"yes", true}, {"1", true},
                                                  {"0", false}, {"no", false}, {"x", false}};
  for (const auto& [value, on] : kValues) {
    ::setenv("SBATCH_NO_REQUEUE", value, 1);
    ::setenv("SBATCH_OVERCOMMIT", value, 1);
    const CommandResult ran = Run({"sbatch", script_});
    ::unsetenv("SBATCH_OVERCOMMIT");
    ::unsetenv("SBATCH_NO_REQUEUE");
    EXPECT_EQ(ran.exit, 0) << "'" << value << "': " << ran.err;
    const json::value body = *ParseJson(server_.requests().back().body);
    EXPECT_EQ(body.get_object().contains("requeue"), on) << "'" << value << "'";
    EXPECT_EQ(body.get_object().contains("how"), on) << "'" << value << "'";
  }
}

TEST_F(SlurmEnvironment, SbatchExportHintWaitAndExitStatus) {
  {
    const ScopedEnv exported("SBATCH_EXPORT", "NONE"), own("MUSTER_TEST_OWN", "x");
    Run({"sbatch", script_});
    const json::value body = *ParseJson(server_.requests().back().body);
    EXPECT_FALSE(body.at("environment").get_object().contains("MUSTER_TEST_OWN"));
  }
  for (const char* name : {"SBATCH_HINT", "SLURM_HINT"}) {
    const ScopedEnv hint(name, "wrong");
    const CommandResult ran = Run({"sbatch", script_});
    EXPECT_EQ(ran.exit, 1) << name;
    EXPECT_EQ(ran.err, "sbatch: error: unrecognized --hint argument \"wrong\", see --hint=help\n")
        << name;
    const ScopedEnv replaced("SLURM_EXIT_ERROR", "77");
    EXPECT_EQ(Run({"sbatch", script_}).exit, 77);
  }
  {
    const ScopedEnv count("SBATCH_REQ_SWITCH", "2"), wait_for("SBATCH_WAIT4SWITCH", "10");
    Run({"sbatch", script_});
    EXPECT_EQ(ParseJson(server_.requests().back().body)->at("how").at("switches"), "2@10");
  }
  {
    const ScopedEnv login("SBATCH_GET_USER_ENV", "x");
    EXPECT_EQ(Run({"sbatch", script_}).exit, 255) << "no time";
  }
  answer_ = [](const FakeRequest& request) {
    SampleJob job{.id = 5, .state = "Failed", .reason = "Failed", .exit_code = "7"};
    return FakeAnswer{request.method == "POST" ? 201 : 200, testing::ViewOf(job)};
  };
  const ScopedEnv wait("SBATCH_WAIT", "yes");
  EXPECT_EQ(Run({"sbatch", script_}).exit, 7) << "the job's";
}

TEST_F(SlurmEnvironment, SbatchMemoryOfTheEnvironmentReplacesTheScriptsOther) {
  std::ofstream(script_) << "#!/bin/sh\n#SBATCH --mem=4G\n";
  const ScopedEnv per_cpu("SBATCH_MEM_PER_CPU", "1G");
  EXPECT_EQ(Run({"sbatch", script_}).exit, 0);
  const json::value body = *ParseJson(server_.requests().back().body);
  EXPECT_FALSE(body.get_object().contains("memoryPerNode"));
  const ScopedEnv per_node("SBATCH_MEM_PER_NODE", "2G");
  const CommandResult both = Run({"sbatch", script_});
  EXPECT_EQ(both.exit, 1);
  EXPECT_NE(both.err.find("mutually exclusive"), std::string::npos) << both.err;
  EXPECT_EQ(Run({"sbatch", "--mem=3G", script_}).exit, 1)
      << "as Slurm judges each source by itself";
}

TEST_F(SlurmEnvironment, SbatchNamesTheClusterThatWasChosen) {
  EXPECT_EQ(Run({"sbatch", "-M", "east", script_}).out,
            "Submitted batch job 300001 on cluster east\n");
  EXPECT_EQ(Run({"sbatch", "--parsable", "-M", "east", script_}).out, "300001;east\n");
}

// Three jobs that differ in everything that a filter can ask for.
FakeAnswer ThreeJobs(const FakeRequest& request) {
  if (request.method != "GET") return {200, testing::ViewOf({.id = 1})};
  const SampleJob one{.id = 1, .name = "x", .user = "root", .queue = "short"};
  const SampleJob two{.id = 2, .name = "y", .user = "root", .queue = "long"};
  const SampleJob three{.id = 3,
                        .name = "x",
                        .user = "daemon",
                        .queue = "long",
                        .state = "Pending",
                        .reason = "WaitingForQuota",
                        .cluster = "",
                        .start = "",
                        .priority = 9};
  return {200, ListOf(one, two, three)};
}

TEST_F(SlurmEnvironment, SqueueTakesEachVariableAsItsOption) {
  answer_ = ThreeJobs;
  struct Case {
    const char* name;
    const char* value;
    std::vector<std::string> words;  // of the command line, after squeue -h
    const char* wanted;
    const char* without;  // what the same call prints when the variable is not set
  };
  const std::vector<Case> kCases = {
      {"SQUEUE_USERS", "daemon", {"-o", "%A"}, "3\n", "3\n2\n1\n"},
      {"SQUEUE_NAMES", "y", {"-o", "%A"}, "2\n", "3\n2\n1\n"},
      {"SQUEUE_PARTITION", "short", {"-o", "%A"}, "1\n", "3\n2\n1\n"},
      {"SQUEUE_ACCOUNT", "other", {"-o", "%A"}, "", "3\n2\n1\n"},
      {"SQUEUE_QOS", "high", {"-o", "%A"}, "", "3\n2\n1\n"},
      {"SQUEUE_LICENSES", "matlab", {"-o", "%A"}, "", "3\n2\n1\n"},
      {"SQUEUE_STATES", "R", {"-o", "%A"}, "2\n1\n", "3\n2\n1\n"},
      {"SQUEUE_SORT", "i", {"-o", "%A"}, "1\n2\n3\n", "3\n2\n1\n"},
      {"SQUEUE_FORMAT", "%j", {"-n", "y"}, "y\n", nullptr},
      {"SQUEUE_FORMAT2", "Name:3", {"-n", "y"}, "y  \n", nullptr},
      {"SLURM_TIME_FORMAT", "%H", {"-n", "y", "-o", "%S"}, "10\n", "2026-11-21T10:00:00\n"},
      // The command line wins.
      {"SQUEUE_USERS", "daemon", {"-u", "root", "-o", "%A"}, "2\n1\n", nullptr},
      {"SQUEUE_STATES", "R", {"-t", "PD", "-o", "%A"}, "3\n", nullptr},
      {"SQUEUE_NAMES", "y", {"-n", "x", "-o", "%A"}, "3\n1\n", nullptr},
      {"SQUEUE_SORT", "i", {"-S", "-i", "-o", "%A"}, "3\n2\n1\n", nullptr},
      {"SQUEUE_FORMAT", "%j", {"-n", "y", "-O", "JobID:2"}, "2 \n", nullptr},
  };
  // slurm_arrays_test.cc has these of arrays, slurm_clusters_test.cc those of clusters.
  std::set<std::string> tested = {"SQUEUE_ARRAY", "SQUEUE_ARRAY_UNIQUE", "SLURM_BITSTR_LEN",
                                  "SLURM_CLUSTERS"};
  for (const Case& one : kCases) {
    tested.insert(one.name);
    std::vector<std::string> words = {"squeue", "-h"};
    // The default order is by partition first: long before short.
    if (one.without != nullptr && one.words.front() == "-o")
      words.insert(words.end(), {"-S", "-i"});
    if (std::string(one.name) == "SQUEUE_SORT") words = {"squeue", "-h"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    if (one.without != nullptr && std::string(one.name) != "SQUEUE_SORT") {
      EXPECT_EQ(Run(words).out, one.without) << one.name;
    }
    const ScopedEnv set(one.name, one.value);
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.out, one.wanted) << one.name << " " << ran.err;
  }
  {
    const ScopedEnv format("SQUEUE_FORMAT", "%j");
    EXPECT_NE(Run({"squeue", "-l"}).out.find("TIME_LIMI"), std::string::npos) << "-l wins";
  }
  for (const Variable& one : VariablesOf("squeue")) {
    if (one.use != VariableUse::kRead) continue;
    EXPECT_TRUE(tested.contains(one.name)) << one.name;
  }
  ::setenv("SQUEUE_USERS", "", 1);
  const CommandResult empty = Run({"squeue"});
  ::unsetenv("SQUEUE_USERS");
  EXPECT_EQ(empty.exit, 1);
  EXPECT_EQ(empty.err, "squeue: error: SQUEUE_USERS is set and names nothing\n");
}

TEST_F(SlurmEnvironment, ScancelTakesEachVariableAsItsFilter) {
  answer_ = ThreeJobs;
  struct Case {
    const char* name;
    const char* value;
    std::vector<std::string> words;
    const char* cancelled;
  };
  const std::vector<Case> kCases = {
      {"SCANCEL_NAME", "x", {"-u", "root"}, "1 "},
      {"SCANCEL_NAME", "x", {}, "1 3 "},
      {"SCANCEL_NAME", "x", {"-u", "root", "-n", "y"}, "2 "},  // the command line wins
      {"SCANCEL_PARTITION", "long", {"-u", "root"}, "2 "},
      {"SCANCEL_ACCOUNT", "other", {"-u", "root"}, ""},
      {"SCANCEL_ACCOUNT", "team-a", {"-u", "root"}, "1 2 "},
      {"SCANCEL_QOS", "high", {"-u", "root"}, ""},
      {"SCANCEL_STATE", "PENDING", {"-n", "x"}, "3 "},
      {"SCANCEL_STATE", "SUSPENDED", {"-n", "x"}, ""},  // no job of Muster ever is
      {"SCANCEL_USER", "daemon", {}, "3 "},
      {"SCANCEL_USER", "daemon", {"-u", "root"}, "1 2 "},
      {"SCANCEL_BATCH", "false", {"-u", "root"}, "1 2 "},
      {"SCANCEL_BATCH", "true", {"-u", "root"}, ""},  // the batch shells get KILL
      {"SCANCEL_FULL", "F", {"-u", "root"}, "1 2 "},
      {"SCANCEL_WCKEY", "key", {"-u", "root"}, ""},
  };
  std::set<std::string> tested = {"SCANCEL_INTERACTIVE", "SCANCEL_VERBOSE",  // below
                                  "SLURM_CLUSTERS"};  // slurm_clusters_test.cc
  for (const Case& one : kCases) {
    tested.insert(one.name);
    const ScopedEnv set(one.name, one.value);
    std::vector<std::string> words = {"scancel"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const std::size_t before = server_.requests().size();
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.exit, 0) << one.name << " " << ran.err;
    EXPECT_EQ(Cancelled(before), one.cancelled) << one.name << "=" << one.value;
  }
  {
    const ScopedEnv verbose("SCANCEL_VERBOSE", "true");
    EXPECT_EQ(Run({"scancel", "-n", "y"}).err, "scancel: Terminating job 2\n");
  }
  {
    const ScopedEnv ask("SCANCEL_INTERACTIVE", "T");
    const std::size_t before = server_.requests().size();
    EXPECT_NE(Run({"scancel", "-n", "y"}).err.find("[y/n]?"), std::string::npos);
    EXPECT_EQ(Cancelled(before), "") << "nobody said yes";
  }
  for (const Variable& one : VariablesOf("scancel")) {
    if (one.use != VariableUse::kRead) continue;
    EXPECT_TRUE(tested.contains(one.name)) << one.name;
  }
}

TEST_F(SlurmEnvironment, ScancelCancelsNothingByAFilterThatItCannotRead) {
  answer_ = ThreeJobs;
  const std::tuple<const char*, const char*, const char*> kCases[] = {
      {"SCANCEL_NAME", "", "scancel: error: SCANCEL_NAME is set and names nothing\n"},
      {"SCANCEL_STATE", "foo",
       "scancel: error: Unrecognized SCANCEL_STATE value: foo\n"
       "scancel: error: Valid job states are PENDING, RUNNING, and SUSPENDED\n"},
      {"SCANCEL_INTERACTIVE", "1", "scancel: error: Unrecognized SCANCEL_INTERACTIVE value: 1\n"},
      {"SCANCEL_USER", "nosuch-user", "scancel: error: Invalid user name: nosuch-user\n"},
  };
  for (const auto& [name, value, message] : kCases) {
    answer_ = [user = std::string(value)](const FakeRequest& request) {
      const bool asked = request.target.find("user=nosuch") != std::string::npos;
      return asked ? FakeAnswer{200, ListOf()} : ThreeJobs(request);
    };
    ::setenv(name, value, 1);
    const CommandResult ran = Run({"scancel", "-n", "x"});
    const CommandResult unnamed = Run({"scancel", "-u", "root"});
    ::unsetenv(name);
    EXPECT_EQ(ran.exit, std::string(name) == "SCANCEL_NAME" ? 0 : 1) << name;
    if (std::string(name) == "SCANCEL_NAME") {
      EXPECT_EQ(unnamed.exit, 1);
      EXPECT_EQ(unnamed.err, message);
    } else {
      EXPECT_EQ(ran.err, message);
    }
  }
}

TEST_F(SlurmEnvironment, ScancelOfAUserThatNobodyKnowsSaysSo) {
  const CommandResult ran = Run({"scancel", "-u", "nosuch-user"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "scancel: error: Invalid user name: nosuch-user\n");
  EXPECT_EQ(Cancelled(), "");
  // A user whom only the server knows.
  answer_ = [](const FakeRequest& request) {
    if (request.method != "GET") return FakeAnswer{200, testing::ViewOf({.id = 4})};
    return FakeAnswer{200, ListOf(SampleJob{.id = 4, .user = "nosuch-user"})};
  };
  EXPECT_EQ(Run({"scancel", "-u", "nosuch-user"}).exit, 0);
  EXPECT_EQ(Cancelled(), "4 ");
}

TEST_F(SlurmEnvironment, SacctSinfoAndScontrolTakeTheirs) {
  answer_ = [](const FakeRequest& request) {
    if (request.target.starts_with("/v1/jobs/1"))
      return FakeAnswer{200, testing::ViewOf({.id = 1})};
    if (request.target.starts_with("/v1/jobs")) return FakeAnswer{200, ListOf(SampleJob{.id = 1})};
    return FakeAnswer{200, R"({"items":[]})"};
  };
  {
    const ScopedEnv format("SACCT_FORMAT", "JobName");
    EXPECT_EQ(Run({"sacct", "-nXPj", "1"}).out, "train\n");
    EXPECT_EQ(Run({"sacct", "-nXPj", "1", "-o", "JobID"}).out, "1\n") << "the command line wins";
  }
  {
    const ScopedEnv format("SLURM_TIME_FORMAT", "%H.%M");
    EXPECT_EQ(Run({"sacct", "-nXPj", "1", "-o", "Start"}).out, "10.00\n");
    EXPECT_NE(Run({"scontrol", "show", "job", "1"}).out.find("StartTime=10.00"), std::string::npos);
  }
  {
    const ScopedEnv format("SINFO_FORMAT", "own %D");
    EXPECT_EQ(Run({"sinfo"}).out, "own NODES\n");
  }
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const ScopedEnv nodes(name, "n[1-2]");
    EXPECT_EQ(Run({"scontrol", "show", "hostnames"}).out, "n1\nn2\n") << name;
  }
  ::setenv("SINFO_PARTITION", "", 1);
  EXPECT_EQ(Run({"sinfo"}).err, "sinfo: error: SINFO_PARTITION is set and names nothing\n");
  ::unsetenv("SINFO_PARTITION");
  const std::set<std::string> tested = {"SLURM_BITSTR_LEN", "SLURM_CLUSTERS",     "SINFO_SORT",
                                        "SACCT_FORMAT",     "SLURM_TIME_FORMAT",  "SINFO_FORMAT",
                                        "SINFO_PARTITION",  "SLURM_JOB_NODELIST", "SLURM_NODELIST"};
  for (const char* command : {"sacct", "sinfo", "scontrol"}) {
    for (const Variable& one : VariablesOf(command)) {
      if (one.use != VariableUse::kRead) continue;
      EXPECT_TRUE(tested.contains(one.name)) << one.name;
    }
  }
}

TEST_F(SlurmEnvironment, SacctShowsMemoryInTheUnitThatIsAskedFor) {
  answer_ = [](const FakeRequest&) { return FakeAnswer{200, testing::ViewOf({.id = 1})}; };
  const std::pair<std::vector<std::string>, const char*> kCases[] = {{{}, "4G"},
                                                                     {{"--noconvert"}, "4096M"},
                                                                     {{"--units=M"}, "4096M"},
                                                                     {{"--units=K"}, "4194304K"},
                                                                     {{"--units=G"}, "4G"},
                                                                     {{"--units=P"}, "0.00P"}};
  for (const auto& [words, wanted] : kCases) {
    std::vector<std::string> all = {"sacct", "-nXPj", "1", "-o", "ReqMem"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(Run(all).out, std::string(wanted) + "\n");
  }
  EXPECT_EQ(Run({"sacct", "--units=X"}).exit, 1);
}

TEST_F(SlurmEnvironment, ErrorsOfUsageEndAsSlurmsDo) {
  for (const char* command : {"squeue", "scancel", "sacct", "sinfo", "scontrol", "sbatch"}) {
    const CommandResult ran = Run({command, "--frobnicate"});
    EXPECT_EQ(ran.exit, std::string(command) == "sbatch" ? 255 : 1) << command;
    EXPECT_NE(ran.err.find("unrecognized option '--frobnicate'"), std::string::npos) << ran.err;
    EXPECT_EQ(Run({command, "--help"}).exit, 0) << command;
  }
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"squeue", "-o", "%A", "-O", "JobID"},
       "squeue: error: -O (--Format) is incompatible with -o (--format)\n"},
      {{"squeue", "-l", "-o", "%A"}, nullptr},
      {{"squeue", "-i", "x"}, "squeue: error: --iterate=x\n"},
      {{"squeue", "-j", "abc"}, "squeue: error: Invalid job id: abc\n"},
      {{"squeue", "-S", "!"}, "squeue: error: Invalid sort specification: !\n"},
      {{"squeue", "-t", "foo"}, nullptr},
      {{"scancel", "-t", "foo"},
       "Invalid job state specified: foo\n"
       "Valid job states are PENDING, RUNNING, and SUSPENDED\n"},
      {{"scancel", "-s", "FOO", "1"}, "Unknown job signal: FOO\n"},
      {{"scancel", "1.x"}, "scancel: error: Invalid job id 1.x\n"},
      {{"scancel", "--sibling=x", "1"},
       "scancel: error: --sibling: not supported by this version\n"},
      {{"sinfo", "-t", "foo"}, nullptr},
      {{"sinfo", "-i", "x"}, "sinfo: error: Error: invalid entry for --iterate=x\n"},
      {{"sacct", "-s", "foo"}, "sacct: fatal: unrecognized job state value 'foo'\n"},
      {{"sacct", "-j", "abc"}, "sacct: fatal: Bad job/step specified: abc\n"},
      {{"sacct", "-S", "foo"}, "Invalid time specification (pos=0): foo\n"},
      {{"sacct", "-B"},
       "sacct: error: When requesting --batch-script you must also request specific jobs with the "
       "'-j' option.\n"},
      {{"sstat"}, "sstat: error: You didn't give me any jobs to stat.\n"},
      {{"scancel", "-w", "n[1", "1"}, "scancel: error: 'n[1' invalid entry for --nodelist\n"},
      {{"squeue", "-w", "n[1"}, "squeue: error: 'n[1' invalid entry for --nodelist\n"},
      {{"sinfo", "-n", "n[1"}, "sinfo: error: 'n[1' invalid entry for --nodes\n"},
      {{"scontrol", "show", "job", "1", "2"}, "too many arguments for keyword:show\n"},
      {{"scontrol", "requeue", "1.0"}, "Invalid job id specified for job 1.0\n"},
      {{"scontrol", "foo"}, "invalid keyword: foo\n"},
      {{"scontrol", "show", "foo"}, "invalid entity:foo for keyword:show \n"},
      {{"scontrol", "hold"}, "too few arguments for keyword:hold\n"},
      {{"scontrol", "update"}, "too few arguments for update keyword\n"},
      {{"scontrol", "update", "foo"}, nullptr},
      {{"scontrol", "token", "foo"}, "Invalid option: `foo`\n"},
      {{"scontrol", "reconfigure"}, nullptr},
      {{"sacctmgr", "foo"}, "invalid keyword: foo\n"},
      {{"sacctmgr", "show", "foo"}, nullptr},
      {{"sacctmgr", "add", "account", "x"}, nullptr},
  };
  for (const auto& [words, message] : kCases) {
    const CommandResult ran = Run(words);
    EXPECT_EQ(ran.exit, 1) << words[0] << " " << words.back();
    EXPECT_NE(ran.err, "") << words[0] << " " << words.back();
    if (message == nullptr) continue;
    EXPECT_EQ(ran.err, message);
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(SlurmEnvironment, NodelistsAreHostlists) {
  answer_ = ThreeJobs;
  EXPECT_EQ(Run({"squeue", "-h", "-o", "%A", "-w", "alph[a-b],alpha", "-S", "i"}).exit, 1);
  EXPECT_EQ(Run({"squeue", "-h", "-o", "%A", "-w", "alpha", "-S", "i"}).out, "1\n2\n");
  const CommandResult unknown = Run({"squeue", "-w", "n[1-2],alpha"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_EQ(unknown.err, "squeue: error: Invalid node name n1\n");
  Run({"scancel", "-w", "n[1-2],alpha"});
  EXPECT_EQ(Cancelled(), "1 2 ");
}

TEST_F(SlurmEnvironment, AStateThatNoJobIsEverInShowsNothingWhateverElseIsAskedFor) {
  answer_ = ThreeJobs;
  EXPECT_EQ(Run({"squeue", "-h", "-t", "SUSPENDED", "-u", "root"}).out, "");
  EXPECT_EQ(Run({"squeue", "-h", "-t", "SUSPENDED"}).out, "");
}

TEST_F(SlurmEnvironment, AJobThatWaitsForItsTimeShowsItsStart) {
  answer_ = [](const FakeRequest&) {
    SampleJob job{.id = 1, .state = "Pending", .reason = "Backoff", .cluster = "", .start = ""};
    job.requeue_at = "2026-11-21T10:02:00.000000Z";
    return FakeAnswer{200, ListOf(job)};
  };
  EXPECT_EQ(Run({"squeue", "-h", "-o", "%T %r %S"}).out, "PENDING BeginTime 2026-11-21T10:02:00\n");
  EXPECT_EQ(Run({"squeue", "-h", "-O", "EligibleTime:19"}).out, "2026-11-21T10:02:00\n");
}

TEST(RelativeTimes, AreToldFromToday) {
  const ScopedEnv zone("TZ", "UTC");
  ::tzset();
  const std::int64_t noon = WallSeconds() / 86'400 * 86'400 + 43'200;
  EXPECT_EQ(FormatTime(noon, "relative"), "12:00:00");
  EXPECT_EQ(FormatTime(noon - 86'400, "relative"), "Ystday 12:00");
  EXPECT_EQ(FormatTime(noon + 86'400, "relative"), "Tomorr 12:00");
  EXPECT_EQ(FormatTime(0, "relative"), "1 Jan 1970");
}

}  // namespace
}  // namespace muster::slurm
