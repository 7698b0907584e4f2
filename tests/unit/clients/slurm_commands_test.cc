#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "clients/slurm/command.h"
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

class SlurmCommands : public ::testing::Test {
 protected:
  SlurmCommands()
      : server_([this](const FakeRequest& request) { return answer_(request); }),
        url_("MUSTER_URL", server_.url()),
        config_("XDG_CONFIG_HOME", "/nonexistent"),
        zone_("TZ", "UTC") {}
  CommandResult Run(int (*command)(int, char**), std::vector<std::string> words) {
    return testing::Capture([&] {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      return command(static_cast<int>(words.size()), argv.data());
    });
  }
  std::function<FakeAnswer(const FakeRequest&)> answer_;
  FakeServer server_;
  ScopedEnv url_, config_, zone_;
};

TEST_F(SlurmCommands, SqueuePrintsSlurmsTable) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, ListOf(SampleJob{.id = 7,
                                            .name = "averylongname",
                                            .user = "root",
                                            .state = "Pending",
                                            .reason = "WaitingForQuota",
                                            .cluster = "",
                                            .start = ""})};
  };
  const CommandResult ran = Run(RunSqueue, {"squeue"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
            "                 7   default averylon     root PD       0:00      1 (Resources)\n");
}

// The members of a `batch` that "batch.NAME" asks for and that say something, as the server cuts
// it.
json::object OnlyBatch(const json::object& batch, const std::string& names) {
  // Not among those of `batch.brief`.
  static const std::set<std::string> kLong = {
      "arraySpec", "command", "comment",     "error",   "how",    "input",
      "mailUser",  "output",  "ownPriority", "requeue", "signal", "signalBatch",
      "mailEvents", "signalBefore", "submitLine", "workDir"};
  const bool brief = names.find(",batch.brief,") != std::string::npos;
  json::object kept;
  for (const auto& [key, value] : batch) {
    const bool empty = key == "arrayTaskId" ? value == -1
                                            : value == "" || value == 0 || value == false ||
                                                  value == json::array() || value == json::object();
    const bool named = names.find(",batch." + std::string(key) + ",") != std::string::npos;
    if (!empty && (named || (brief && !kLong.contains(std::string(key))))) kept[key] = value;
  }
  return kept;
}

// A list as the server cuts it to `?fields=`.
std::string OnlyFields(const FakeRequest& request, const std::string& list) {
  const std::size_t at = request.target.find("fields=");
  if (at == std::string::npos) return list;
  std::string names = "," + request.target.substr(at + 7);
  names.resize(std::min(names.find('&'), names.size()));
  for (std::size_t comma; (comma = names.find("%2C")) != std::string::npos;)
    names.replace(comma, 3, ",");
  names += ",";
  json::value document = json::parse(list);
  for (json::value& item : document.as_object().at("items").as_array()) {
    json::object kept;
    for (const auto& [key, value] : item.as_object()) {
      if (names.find("," + std::string(key) + ",") != std::string::npos) kept[key] = value;
    }
    if (!kept.contains("batch") && item.as_object().contains("batch") &&
        item.at("batch").is_object())
      kept["batch"] = OnlyBatch(item.at("batch").get_object(), names);
    item = kept;
  }
  return json::serialize(document);
}

TEST_F(SlurmCommands, SqueueAsksForWhatItShows_AndEveryColumnIsAsOfTheWholeView) {
  const SampleJob running{.id = 7, .user = "root", .limit = 600, .array_id = 7, .array_task = 3};
  const SampleJob killed{.id = 8,
                         .state = "Failed",
                         .reason = "OutOfMemory",
                         .end = "2026-11-21T10:00:05Z",
                         .exit_code = "137"};
  const SampleJob waiting{
      .id = 9, .state = "Held", .reason = "HeldByUser", .start = "", .priority = 5, .batch = false};
  const std::string list = ListOf(running, killed, waiting);
  bool cut = true, asked = false;
  answer_ = [&](const FakeRequest& request) {
    asked = request.target.find("fields=") != std::string::npos;
    return FakeAnswer{200, cut ? OnlyFields(request, list) : list};
  };
  for (const char letter : std::string("iAFKjuUaPqtTrRNBDCcmbMlLSeVQpEkZoyvfWYdgGhHIJnOswxXz")) {
    for (const char* filter : {"-a", "-uroot,alice", "-pdefault", "-nother,train"}) {
      const std::string format = std::string("%") + letter;
      cut = true;
      const CommandResult some = Run(RunSqueue, {"squeue", "-t", "all", filter, "-o", format});
      EXPECT_TRUE(asked) << format;
      cut = false;
      const CommandResult whole = Run(RunSqueue, {"squeue", "-t", "all", filter, "-o", format});
      EXPECT_EQ(some.out, whole.out) << format << " " << filter;
    }
  }
  cut = true;
  for (const char* sorted : {"P", "u", "-p,i", "M", "C", "D", "j"}) {
    const CommandResult some =
        Run(RunSqueue, {"squeue", "-h", "-t", "all", "-S", sorted, "-o", "%A"});
    cut = !cut;
    EXPECT_EQ(some.out, Run(RunSqueue, {"squeue", "-h", "-t", "all", "-S", sorted, "-o", "%A"}).out)
        << sorted;
    cut = !cut;
  }
  Run(RunSqueue, {"squeue", "--json"});
  EXPECT_FALSE(asked) << "JSON shows nearly all of a job";
}

TEST_F(SlurmCommands, SqueueSaysThatAnIdIsUnknown) {
  answer_ = [](const FakeRequest&) { return testing::Problem(404, "no such job"); };
  const CommandResult one = Run(RunSqueue, {"squeue", "-j", "99"});
  EXPECT_EQ(one.exit, 1);
  EXPECT_EQ(one.err, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_EQ(Run(RunSqueue, {"squeue", "-h", "-j", "98,99"}).exit, 0);
}

TEST_F(SlurmCommands, ScancelIsSilentAboutJobsThatAreGone_AndRefusesWords) {
  answer_ = [](const FakeRequest&) { return testing::Problem(404, "no such job"); };
  const CommandResult gone = Run(RunScancel, {"scancel", "5"});
  EXPECT_EQ(gone.exit, 0);
  EXPECT_EQ(gone.err, "");
  const CommandResult word = Run(RunScancel, {"scancel", "abc"});
  EXPECT_EQ(word.exit, 1);
  EXPECT_EQ(word.err, "scancel: error: Invalid job id abc\n");
}

TEST_F(SlurmCommands, SacctPrintsJobsAndTheirBatchSteps) {
  answer_ = [](const FakeRequest& request) {
    if (!request.target.starts_with("/v1/jobs")) return FakeAnswer{200, R"({"items":[]})"};
    return FakeAnswer{200, testing::ViewOf(SampleJob{.id = 5,
                                                     .state = "Failed",
                                                     .reason = "Failed",
                                                     .end = "2026-11-21T10:00:05Z",
                                                     .exit_code = "3"})};
  };
  const CommandResult ran =
      Run(RunSacct, {"sacct", "-j", "5", "-P", "-o", "jobid,State,ExitCode,Elapsed,MaxRSS"});
  EXPECT_EQ(
      ran.out,
      "JobID|State|ExitCode|Elapsed|MaxRSS\n5|FAILED|3:0|00:00:05|\n5.batch|FAILED|3:0|00:00:05|\n")
      << ran.err;
  EXPECT_EQ(Run(RunSacct, {"sacct", "-o", "Nope"}).exit, 1);
}

TEST_F(SlurmCommands, OutOfMemoryIsAnEndOfItsOwn_WhateverTheJobReturned_AndWhateverMessagesSay) {
  const struct {
    const char* sentence;
    SampleJob job;
    std::string squeue, sacct, scontrol;
  } kCases[] = {
      {"a container that was killed",
       {.id = 5, .state = "Failed", .reason = "OutOfMemory", .exit_code = "137", .exit_signal = 9},
       "OOM OutOfMemory",
       "OUT_OF_MEMORY|0:125",
       "JobState=OUT_OF_MEMORY Reason=OutOfMemory"},
      {"a script that returned 0",
       {.id = 5, .state = "Failed", .reason = "OutOfMemory", .exit_code = "0"},
       "OOM OutOfMemory",
       "OUT_OF_MEMORY|0:125",
       "JobState=OUT_OF_MEMORY Reason=OutOfMemory"},
      {"a Job that its member calls complete",
       {.id = 5, .state = "Succeeded", .reason = "OutOfMemory", .exit_code = "0", .batch = false},
       "OOM OutOfMemory",
       "OUT_OF_MEMORY|0:125",
       "JobState=OUT_OF_MEMORY Reason=OutOfMemory"},
      {"a program that only says the word",
       {.id = 5, .state = "Failed", .reason = "Failed", .message = "OOMKilled", .exit_code = "3"},
       "F NonZeroExitCode",
       "FAILED|3:0",
       "JobState=FAILED Reason=NonZeroExitCode"},
      {"a signal",
       {.id = 5, .state = "Failed", .reason = "Failed", .exit_code = "139", .exit_signal = 11},
       "F NonZeroExitCode",
       "FAILED|0:11",
       "JobState=FAILED Reason=NonZeroExitCode"},
  };
  for (const auto& one : kCases) {
    SampleJob job = one.job;
    job.end = "2026-11-21T10:00:05Z";
    answer_ = [&](const FakeRequest& request) {
      const bool list = request.target.find("/v1/jobs?") == 0;
      return FakeAnswer{200, list ? ListOf(job) : testing::ViewOf(job)};
    };
    EXPECT_EQ(Run(RunSqueue, {"squeue", "-h", "-t", "all", "-o", "%t %r"}).out, one.squeue + "\n")
        << one.sentence;
    const std::string sacct =
        Run(RunSacct, {"sacct", "-j", "5", "-X", "-n", "-P", "-o", "State,ExitCode"}).out;
    EXPECT_EQ(sacct, one.sacct + "\n") << one.sentence;
    const std::string shown = Run(RunScontrol, {"scontrol", "show", "job", "5"}).out;
    EXPECT_NE(shown.find(one.scontrol), std::string::npos) << one.sentence << ": " << shown;
    const std::string code = "ExitCode=" + one.sacct.substr(one.sacct.find('|') + 1);
    EXPECT_NE(shown.find(code), std::string::npos) << one.sentence << ": " << shown;
  }
}

TEST_F(SlurmCommands, OfAServerThatIsNotReady_EveryCommandSaysSoAndFails) {
  answer_ = [](const FakeRequest&) {
    return testing::Problem(503, "the scheduler is not ready: recovery has not run yet");
  };
  struct Case {
    int (*command)(int, char**);
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {RunSqueue, {"squeue"}},
      {RunSqueue, {"squeue", "-j", "5"}},
      {RunSinfo, {"sinfo"}},
      {RunSacct, {"sacct"}},
      {RunSacct, {"sacct", "-j", "5"}},
      {RunScancel, {"scancel", "5"}},
      {RunScancel, {"scancel", "--me"}},
      {RunScontrol, {"scontrol", "show", "job", "5"}},
      {RunScontrol, {"scontrol", "show", "partition"}},
      {RunScontrol, {"scontrol", "hold", "5"}},
      {RunSbatch, {"sbatch", "--wrap", "true"}},
  };
  for (const Case& one : cases) {
    const CommandResult ran = Run(one.command, one.words);
    EXPECT_EQ(ran.exit, 1) << one.words[0] << " " << one.words.back();
    EXPECT_NE(ran.err.find("Unable to contact slurm controller (connect failure): the scheduler is "
                           "not ready: recovery has not run yet"),
              std::string::npos)
        << one.words[0] << ": " << ran.err;
    EXPECT_EQ(ran.out, "") << one.words[0];
  }
  EXPECT_EQ(Run(RunScontrol, {"scontrol", "ping"}).exit, 1);
}

// The local account's name may be somebody else's on the server.
TEST_F(SlurmCommands, MeIsWhomTheServerTakesTheCallerFor) {
  const auto users_asked = [this] {
    std::string out;
    for (const FakeRequest& request : server_.requests()) {
      const std::size_t at = request.target.find("user=");
      if (at != std::string::npos) out += request.target.substr(at, 10) + " ";
    }
    return out;
  };
  answer_ = [](const FakeRequest& request) {
    if (request.target == "/v1/whoami") return FakeAnswer{200, R"({"user":"pipes"})"};
    return FakeAnswer{200, R"({"items":[]})"};
  };
  const ScopedEnv token("MUSTER_TOKEN", "t");
  EXPECT_EQ(Run(RunScancel, {"scancel", "--me"}).exit, 0);
  EXPECT_EQ(Run(RunSqueue, {"squeue", "--me"}).err, "");
  EXPECT_EQ(Run(RunSacct, {"sacct"}).exit, 0);
  EXPECT_EQ(users_asked(), "user=pipes user=pipes user=pipes ");
  const ScopedEnv acting("MUSTER_AS", "alice");
  EXPECT_EQ(Run(RunScancel, {"scancel", "--me"}).exit, 0);
  EXPECT_EQ(server_.requests().back().target.find("user=pipes"), std::string::npos);
  EXPECT_NE(server_.requests().back().target.find("user=alice"), std::string::npos);
  answer_ = [](const FakeRequest&) { return FakeAnswer{200, "{}"}; };
  const ScopedEnv nobody("MUSTER_AS", "");
  EXPECT_EQ(Run(RunScancel, {"scancel", "--me"}).exit, 1) << "nobody's jobs, not everybody's";
}

TEST_F(SlurmCommands, SqueueAsksAgainUntilTheServerIsReady) {
  std::atomic<int> asked = 0;
  answer_ = [&](const FakeRequest&) {
    if (++asked > 1) return FakeAnswer{200, ListOf(SampleJob{.id = 7})};
    FakeAnswer busy = testing::Problem(503, "the scheduler is not ready");
    busy.extra_headers = "Retry-After: 1\r\n";
    return busy;
  };
  const CommandResult ran = Run(RunSqueue, {"squeue", "-h", "-o", "%i"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "7\n");
  EXPECT_EQ(asked, 2);
}

TEST_F(SlurmCommands, ScontrolExpandsHostnamesWithoutAServer) {
  EXPECT_EQ(Run(RunScontrol, {"scontrol", "show", "hostnames", "n[1-2]"}).out, "n1\nn2\n");
  EXPECT_EQ(Run(RunScontrol, {"scontrol", "frob"}).exit, 1);
}

}  // namespace
}  // namespace muster::slurm
