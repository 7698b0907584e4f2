// Names that fit several jobs, logs of several pods, folded events, watched rows, the audit trail,
// and text that would control a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/event_folding.h"
#include "clients/cli/jobs.h"
#include "schedd/model/audit_chain.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using testing::Capture;
using testing::CommandResult;
using testing::FakeAnswer;
using testing::FakeRequest;
using testing::FakeServer;
using ::testing::HasSubstr;
using testing::ListOf;
using ::testing::Not;
using testing::SampleJob;
using testing::ViewOf;

class CliJobs : public ::testing::Test {
 protected:
  CliJobs() : server_([this](const FakeRequest& request) { return answer_(request); }) {}
  Session Connect() {
    client::Settings settings;
    settings.server.port = server_.port();
    settings.as_user = "alice";
    return Session(settings);
  }
  // The jobs of one name; each is found by its number too.
  void Have(const std::vector<SampleJob>& jobs) {
    answer_ = [jobs](const FakeRequest& request) {
      if (request.target.starts_with("/v1/jobs?")) {
        std::string items;
        for (const SampleJob& job : jobs) items += (items.empty() ? "" : ",") + ViewOf(job);
        return FakeAnswer{200, "{\"items\":[" + items + "],\"next_page_token\":\"\"}"};
      }
      for (const SampleJob& job : jobs) {
        const std::string path = "/v1/jobs/" + std::to_string(job.id);
        if (request.target == path || request.target.starts_with(path + ":"))
          return FakeAnswer{200, ViewOf(job)};
      }
      return FakeAnswer{200, R"({"items":[]})"};
    };
  }
  std::function<FakeAnswer(const FakeRequest&)> answer_;
  FakeServer server_;
};

struct NameCase {
  const char* name;
  std::vector<SampleJob> jobs;
  long long read, change;  // the job that is taken; 0: refused
};

const NameCase kNames[] = {
    {"NoJobOfTheName", {}, 0, 0},
    {"OneThatRuns", {{.id = 4}}, 4, 4},
    {"OneThatHasEnded", {{.id = 4, .state = "Failed"}}, 4, 4},
    {"OneThatRunsAmongEndedOnes",
     {{.id = 4, .state = "Succeeded"}, {.id = 5}, {.id = 6, .state = "Failed"}},
     5,
     5},
    {"TwoThatHaveNotEnded", {{.id = 4}, {.id = 5, .state = "Pending"}}, 0, 0},
    {"TwoThatHaveNotEndedAndOneThatHas",
     {{.id = 4}, {.id = 5, .state = "Held"}, {.id = 6, .state = "Failed"}},
     0,
     0},
    {"SeveralThatHaveEnded", {{.id = 4, .state = "Succeeded"}, {.id = 5, .state = "Failed"}}, 5, 0},
};

TEST_F(CliJobs, ANameMeansTheOneJobThatHasNotEnded_AndIsNeverGuessed) {
  for (const NameCase& one : kNames) {
    Have(one.jobs);
    for (const bool change : {false, true}) {
      Session session = Connect();
      long long found = 0;
      client::Failure failure;
      const CommandResult ran = Capture([&] {
        const auto job = FindJob(session, "train", change ? JobUse::kChange : JobUse::kRead);
        if (job.ok())
          found = job->id;
        else
          failure = job.failure();
        return 0;
      });
      EXPECT_EQ(found, change ? one.change : one.read) << one.name;
      if (found == 0 && one.jobs.size() > 1) {
        EXPECT_EQ(failure.status, 409) << one.name;
        EXPECT_GE(failure.fields.size(), 2U) << one.name;
      }
      const bool chosen = found == 5 && one.jobs.size() == 2;
      EXPECT_EQ(ran.err, chosen ? "muster: 2 ended jobs are named \"train\": this is the newest, "
                                  "job 5\n"
                                : "")
          << one.name;
    }
  }
  EXPECT_EQ(server_.requests().front().target, "/v1/jobs?namespace=default&name=train&limit=1000");
}

TEST_F(CliJobs, ACommandThatWouldChangeOneOfSeveralJobsListsThemAndSendsNothing) {
  Have({{.id = 4}, {.id = 5, .state = "Pending", .batch = false}});
  Session session = Connect();
  const std::pair<const char*, std::function<int()>> commands[] =
      {
          {"delete",
           [&] {
    return Delete(session, {"jobs", {"train"}});
           }},
          {"hold", [&] { return ChangeJobs(session, "hold", {"train"}); }},
          {"logs",
           [&] {
    return Logs(session, {"train", "", ""});
           }},
                                                     {"explain",
                                                      [&] {
    return Explain(session, "train", "");
                                                      }},
      {"describe",
       [&] {
    return Describe(session, {"jobs", {"train"}});
       }},
      {"wait",
       [&] {
    return Wait(session, {{"train"}, "finished", ""});
       }},
      };
  for (const auto& [name, command] : commands) {
    const std::size_t before = server_.requests().size();
    const CommandResult ran = Capture(command);
    EXPECT_EQ(ran.exit, 1) << name;
    EXPECT_EQ(ran.out, "") << name;
    EXPECT_EQ(ran.err,
              "muster: \"train\" names 2 jobs in namespace \"default\": use a number\n"
              "  job 5: Job, Pending, submitted 2026-11-21T09:59:00.000000Z\n"
              "  job 4: BatchScript, Running, submitted 2026-11-21T09:59:00.000000Z\n")
        << name;
    EXPECT_EQ(server_.requests().size(), before + 1) << name << ": only the question";
  }
}

// --- logs

FakeAnswer LogsAnswer(const std::string& pods, const FakeRequest& request) {
  if (request.target == "/v1/jobs/7") return {200, ViewOf({.id = 7, .state = "Succeeded"})};
  if (request.target == "/v1/jobs/7/pods") return {200, "{\"items\":[" + pods + "]}"};
  const auto of = [&](const char* key) {
    const std::size_t at = request.target.find(std::string(key) + "=");
    if (at == std::string::npos) return std::string("-");
    const std::size_t begin = at + std::string(key).size() + 1;
    return request.target.substr(begin, request.target.find('&', begin) - begin);
  };
  if (of("container") == "late") return testing::Problem(409, "it has not begun");
  return {200, "hello from " + of("pod") + "\nand " + of("container"), "text/plain"};
}

TEST_F(CliJobs, LogsAreThoseOfAllPodsAndContainers_PrefixedWhereThereAreSeveral) {
  const struct {
    const char* name;
    const char* pods;
    LogOptions options;
    const char* out;
  } cases[] = {
      {"one log is as it is",
       R"({"name":"a","containers":["main"]})",
       {"7", "", ""},
       "hello from a\nand main"},
      {"two pods",
       R"({"name":"a","containers":["main"]},{"name":"b","containers":["main"]})",
       {"7", "", ""},
       "[a/main] hello from a\n[a/main] and main\n[b/main] hello from b\n[b/main] and main\n"},
      {"two containers of one pod",
       R"({"name":"a","containers":["setup","main"]})",
       {"7", "", ""},
       "[a/setup] hello from a\n[a/setup] and setup\n[a/main] hello from a\n[a/main] and main\n"},
      {"one pod is chosen",
       R"({"name":"a","containers":["main"]},{"name":"b","containers":["main"]})",
       {"7", "", "b"},
       "hello from b\nand main"},
      {"one container is chosen",
       R"({"name":"a","containers":["setup","main"]},{"name":"b","containers":["setup","main"]})",
       {"7", "main", ""},
       "[a/main] hello from a\n[a/main] and main\n[b/main] hello from b\n[b/main] and main\n"},
      {"containers are not told", R"({"name":"a"})", {"7", "", ""}, "hello from a\nand -"},
      {"no pods: the server says why", "", {"7", "", ""}, "hello from -\nand -"},
      {"escape sequences stay, as kubectl leaves them",
       R"({"name":"a\u001b","containers":["m"]},
       {"name":"b","containers":["m"]})",
       {"7", "", ""},
       "[a\\033/m] hello from a%1B\n[a\\033/m] and m\n[b/m] hello from b\n[b/m] and m\n"},
  };
  for (const auto& one : cases) {
    answer_ = [&](const FakeRequest& request) { return LogsAnswer(one.pods, request); };
    Session session = Connect();
    const CommandResult ran = Capture([&] { return Logs(session, one.options); });
    EXPECT_EQ(ran.exit, 0) << one.name << ran.err;
    EXPECT_EQ(ran.out, one.out) << one.name;
  }
}

TEST_F(CliJobs, ALogThatCannotBeReadIsSaidAndTheOthersArePrinted) {
  answer_ = [](const FakeRequest& request) {
    return LogsAnswer(R"({"name":"a","containers":["late","main"]})", request);
  };
  Session session = Connect();
  const CommandResult ran = Capture([&] { return Logs(session, {"7", "", ""}); });
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.out, "[a/main] hello from a\n[a/main] and main\n");
  EXPECT_EQ(ran.err, "muster: [a/late] it has not begun\n");
}

TEST_F(CliJobs, FollowedLogsAreReadTogetherUntilTheJobHasEnded) {
  std::atomic<int> looks = 0;
  answer_ = [&looks](const FakeRequest& request) {
    if (request.target == "/v1/jobs/7") {
      ++looks;
      return FakeAnswer{200, ViewOf({.id = 7, .state = looks < 3 ? "Running" : "Succeeded"})};
    }
    // The second pod comes later, the third never begins.
    std::string pods = R"({"name":"a","phase":"Running","containers":["main"]},
                          {"name":"c","phase":"Pending","containers":["main"]})";
    if (looks > 2) pods += R"(,{"name":"b","phase":"Succeeded","containers":["main"]})";
    return LogsAnswer(pods, request);
  };
  Session session = Connect();
  LogOptions options{"7", "", ""};
  options.follow = true;
  const CommandResult ran = Capture([&] { return Logs(session, options); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("[a/main] hello from a\n[a/main] and main\n"),
                             HasSubstr("[b/main] hello from b\n[b/main] and main\n"),
                             Not(HasSubstr("[c/"))));
}

// --- events

json::array EventsOf(const std::string& text) { return json::parse(text).as_array(); }

std::string Lines(const std::vector<FoldedEvent>& events) {
  std::string out;
  for (const FoldedEvent& event : events)
    out += WhenText(event) + " " + event.type + " " + event.reason + " " + event.object + " " +
           event.message + "\n";
  return out;
}

TEST(EventFolding, WhatOnlyTellsHowFarAJobIsIsOneLineUntilSomethingHappens) {
  std::string text;
  const auto add =
      [&](int second, const char* type, const char* reason, const std::string& message) {
    char time[40];
    std::snprintf(time, sizeof(time), "2026-11-21T10:00:%02dZ", second);
    text += (text.empty() ? "" : ",") + std::string("{\"time\":\"") + time + "\",\"type\":\"" +
            type + "\",\"reason\":\"" + reason + "\",\"object\":\"o\",\"message\":\"" + message +
            "\"}";
  };
  add(0, "JobAccepted", "", "");
  add(1, "JobPending", "WaitingForQuota", "4 short");
  add(2, "JobPending", "WaitingForCapacity", "no room");
  add(3, "JobPending", "WaitingForQuota", "3 short");
  add(4, "JobAdmitted", "Admitted", "");
  add(5, "JobStarted", "Running", "");
  for (int pod = 1; pod <= 16; ++pod) {
    add(10 + pod, "JobUpdated", "Running", std::to_string(pod) + " of 16 done");
    add(10 + pod, "JobQuotaReturned", "Running", std::to_string(pod) + " of 16 done");
  }
  add(40, "JobSucceeded", "Succeeded", "done");
  add(41, "JobPending", "WaitingForQuota", "another time");
  EXPECT_EQ(Lines(FoldJobEvents(EventsOf("[" + text + "]"))),
            "2026-11-21T10:00:00Z JobAccepted  o \n"
            "2026-11-21T10:00:02Z JobPending WaitingForCapacity o no room\n"
            "2026-11-21T10:00:03Z (x2 over 2s) JobPending WaitingForQuota o 3 short\n"
            "2026-11-21T10:00:04Z JobAdmitted Admitted o \n"
            "2026-11-21T10:00:05Z JobStarted Running o \n"
            "2026-11-21T10:00:26Z (x16 over 15s) JobUpdated Running o 16 of 16 done\n"
            "2026-11-21T10:00:26Z (x16 over 15s) JobQuotaReturned Running o 16 of 16 done\n"
            "2026-11-21T10:00:40Z JobSucceeded Succeeded o done\n"
            "2026-11-21T10:00:41Z JobPending WaitingForQuota o another time\n");
}

TEST(EventFolding, WhatAMemberSaysOfManyPodsIsOneLine_ButNoWarningIsHidden) {
  EXPECT_EQ(Lines(FoldMemberEvents(EventsOf(R"([
      {"time":"2026-11-21T10:00:00Z","type":"Normal","reason":"Started","object":"Pod/a","message":"m"},
      {"time":"2026-11-21T10:00:01Z","type":"Warning","reason":"BackOff","object":"Pod/a","message":"x","count":3},
      {"time":"2026-11-21T10:00:02Z","type":"Normal","reason":"Started","object":"Pod/b","message":"m"},
      {"time":"2026-11-21T10:00:03Z","type":"Warning","reason":"BackOff","object":"Pod/b","message":"y"},
      {"time":"2026-11-21T10:00:04Z","type":"Normal","reason":"Started","object":"Pod/c","message":"m"}])"))),
            "2026-11-21T10:00:01Z (x3 over 0s) Warning BackOff Pod/a x\n"
            "2026-11-21T10:00:03Z Warning BackOff Pod/b y\n"
            "2026-11-21T10:00:04Z (x3 over 4s) Normal Started Pod/c and 2 more m\n");
}

TEST_F(CliJobs, AWatchPrintsARowOnlyWhenSomethingItShowsIsAnother) {
  std::string events;
  for (int seq = 1; seq <= 4; ++seq)
    events += "id: " + std::to_string(seq) + "\ndata: {\"seq\":" + std::to_string(seq) +
              ",\"job\":7,\"type\":\"JobUpdated\"}\n\n";
  std::atomic<int> asked = 0;
  answer_ = [&](const FakeRequest& request) {
    if (request.target.starts_with("/v1/events"))
      return asked == 0 ? FakeAnswer{200, events, "text/event-stream"}
                        : testing::Problem(500, "enough");
    const bool list = request.target.starts_with("/v1/jobs?");
    // After the list the job is unchanged twice; then it has other states.
    const int look = list ? 0 : ++asked;
    SampleJob job{.id = 7, .message = "told " + std::to_string(look)};
    if (look == 3) job.state = "Failed";
    if (look == 4) job.state = "Failed", job.cluster = "beta";
    return FakeAnswer{200, list ? ListOf(job) : ViewOf(job)};
  };
  Session session = Connect();
  GetOptions options;
  options.kind = "jobs";
  options.watch = true;
  const CommandResult ran = Capture([&] { return Get(session, options); });
  std::vector<std::string> states;
  for (std::size_t at = 0, end = 0; (end = ran.out.find('\n', at)) != std::string::npos;
       at = end + 1)
    states.push_back(ran.out.substr(at, end - at));
  ASSERT_EQ(states.size(), 4U) << ran.out;
  EXPECT_THAT(states[1], HasSubstr("Running"));
  EXPECT_THAT(states[2], AllOf(HasSubstr("Failed"), HasSubstr("alpha")));
  EXPECT_THAT(states[3], AllOf(HasSubstr("Failed"), HasSubstr("beta")));
}

TEST_F(CliJobs, AWatchWithOptionsPrintsOnlyTheJobsThatTheServerListsForThem) {
  const std::string events =
      "id: 1\ndata: {\"seq\":1,\"job\":8,\"type\":\"JobUpdated\"}\n\n"
      "id: 2\ndata: {\"seq\":2,\"job\":7,\"type\":\"JobUpdated\"}\n\n";
  std::atomic<int> asked = 0;
  answer_ = [&](const FakeRequest& request) {
    if (request.target.starts_with("/v1/events"))
      return asked == 0 ? FakeAnswer{200, events, "text/event-stream"}
                        : testing::Problem(500, "enough");
    EXPECT_THAT(request.target, HasSubstr("user=ana"));
    if (request.target.find("&id=") != std::string::npos) ++asked;
    const bool own = request.target.find("&id=7") != std::string::npos;
    return FakeAnswer{200, own ? ListOf(SampleJob{.id = 7}) : R"({"items":[]})"};
  };
  Session session = Connect();
  GetOptions options;
  options.kind = "jobs";
  options.user = "ana";
  options.watch = true;
  const CommandResult ran = Capture([&] { return Get(session, options); });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << ran.out;
}

// --- terminals

TEST_F(CliJobs, WhatAJobSaysDoesNothingToTheTerminal_AndJsonIsForPrograms) {
  const std::string hostile = R"(\u001b[2J\u009b1m\u202egone\u0007)";
  const std::string shown = "\\033[2J\\u009b1m\\u202egone\\007";
  SampleJob job{.id = 7, .name = hostile, .reason = hostile, .message = hostile};
  job.state = "Failed";
  answer_ = [&](const FakeRequest& request) {
    const std::string& target = request.target;
    if (target.starts_with("/v1/jobs?")) return FakeAnswer{200, ListOf(job)};
    if (target == "/v1/jobs/7") return FakeAnswer{200, ViewOf(job)};
    if (target == "/v1/jobs/7/explain")
      return FakeAnswer{200, R"({"job":{"id":7,"namespace":"n","name":")" + hostile +
                                 R"("},"state":"Failed","summary":")" + hostile +
                                 R"(","facts":[")" + hostile + R"("],"clusters":[{"cluster":"e",
                                 "message":")" +
                                 hostile + R"("}]})"};
    return FakeAnswer{200, R"({"items":[{"name":"p","time":"t","type":"Normal","verb":"v",
        "reason":")" + hostile +
                               R"(","message":")" + hostile + R"("}]})"};
  };
  Session session = Connect();
  GetOptions get;
  get.kind = "jobs";
  get.output = "wide";
  const std::pair<const char*, std::function<int()>> commands[] =
      {
          {"get", [&] { return Get(session, get); }},
          {"describe",
           [&] {
    return Describe(session, {"jobs", {"7"}});
           }},
          {"explain", [&] { return Explain(session, "7", ""); }},
          {"audit", [&] { return Audit(session, {}); }},
          {"wait",
           [&] {
    return Wait(session, {{"7"}, "finished", ""});
           }},
                                                     };
  for (const auto& [name, command] : commands) {
    const CommandResult ran = Capture(command);
    EXPECT_EQ(ran.out.find_first_of("\x1b\x07\x9b"), std::string::npos) << name << ran.out;
    EXPECT_EQ(ran.out.find("\xe2\x80\xae"), std::string::npos) << name << ran.out;
    if (std::string(name) != "audit") {
      EXPECT_THAT(ran.out, HasSubstr(shown)) << name;
    }
  }
  answer_ = [&](const FakeRequest&) { return testing::Problem(400, "\x1b[2Jno", "field"); };
  EXPECT_THAT(Capture([&] { return Explain(session, "7", ""); }).err, HasSubstr("\\033[2Jno"));
}

TEST_F(CliJobs, TheAuditTrailIsATableWithTheLastEntryLast) {
  answer_ = [](const FakeRequest&) {
    return FakeAnswer{200, R"({"items":[
        {"time":"2026-11-21T10:00:00Z","user":"root","method":"loopback","verb":"create",
         "object":"clusterqueue/a","result":"allowed","detail":""},
        {"time":"2026-11-21T10:00:05Z","user":"alice","method":"loopback","verb":"update",
         "object":"clusterqueue/a","result":"refused","count":3,
         "detail":"f/cpu nominal 8 -> 12"}]})"};
  };
  Session session = Connect();
  AuditOptions options;
  options.limit = 2;
  options.since = "2026-11-21T09:00:00Z";
  const CommandResult ran = Capture([&] { return Audit(session, options); });
  EXPECT_EQ(ran.out,
            "TIME                   USER    VERB     OBJECT           RESULT    DETAIL\n"
            "2026-11-21T10:00:00Z   root    create   clusterqueue/a   allowed   -\n"
            "2026-11-21T10:00:05Z   alice   update   clusterqueue/a   refused   "
            "f/cpu nominal 8 -> 12 (3 times)\n");
  EXPECT_EQ(server_.requests().back().target, "/v1/audit?since=2026-11-21T09%3A00%3A00Z&limit=2");
  options.since = "yesterday";
  EXPECT_EQ(Capture([&] { return Audit(session, options); }).exit, 2);
}

// A trail of three rows, as the server writes it, in pages of two.
class AuditServer {
 public:
  AuditServer() {
    AuditHead head{7, std::string(64, 'a')};
    for (int i = 0; i < 3; ++i) {
      AuditRow row;
      row.time = {1'700'000'000'000'001 + i};
      row.user = "ada";
      row.groups = {"users", "team-a"};
      row.verb = "create";
      row.object = "job/team-a/" + std::to_string(i);
      row.new_version = 10 + i;
      head.Link(&row);
      rows.push_back(row);
    }
  }
  FakeAnswer Answer(const std::string& target) const {
    const bool second = target.find("page_token=9") != std::string::npos;
    json::array items;
    for (std::size_t i = second ? 2 : 0; i < (second ? 3 : 2); ++i) {
      const AuditRow& row = rows[i];
      items.push_back(json::object{{"id", row.id},
                                   {"time", FormatRfc3339Micros(row.time)},
                                   {"requestId", ""},
                                   {"user", row.user},
                                   {"groups", json::array(row.groups.begin(), row.groups.end())},
                                   {"method", ""},
                                   {"impersonator", ""},
                                   {"source", ""},
                                   {"verb", row.verb},
                                   {"object", row.object},
                                   {"result", row.result},
                                   {"code", row.code},
                                   {"oldResourceVersion", 0},
                                   {"newResourceVersion", row.new_version},
                                   {"count", 1},
                                   {"detail", ""},
                                   {"prev", row.prev},
                                   {"hash", row.hash}});
    }
    json::object body{{"items", std::move(items)},
                      {"chain", json::object{{"after", 7}, {"hash", std::string(64, 'a')}}}};
    if (!second) body["next_page_token"] = "9";
    return {200, WriteJson(body)};
  }
  std::vector<AuditRow> rows;
};

TEST_F(CliJobs, TheChainOfTheAuditTrailIsCheckedFromItsRows) {
  AuditServer trail;
  answer_ = [&](const FakeRequest& request) { return trail.Answer(request.target); };
  Session session = Connect();
  AuditOptions options;
  options.verify = true;
  const CommandResult whole = Capture([&] { return Audit(session, options); });
  EXPECT_EQ(whole.exit, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("3 rows, up to row 10"));
  trail.rows[1].user = "eve";
  const CommandResult broken = Capture([&] { return Audit(session, options); });
  EXPECT_EQ(broken.exit, 1);
  EXPECT_THAT(broken.err, HasSubstr("row 9 was changed"));
  EXPECT_THAT(broken.out, HasSubstr("eve"));
  options.user = "ada";
  EXPECT_EQ(Capture([&] { return Audit(session, options); }).exit, 2)
      << "a filter would leave rows out";
}

TEST_F(CliJobs, TheAuditTrailIsExportedAsJsonLines) {
  const AuditServer trail;
  answer_ = [&](const FakeRequest& request) { return trail.Answer(request.target); };
  Session session = Connect();
  AuditOptions options;
  options.export_file = "-";
  options.verb = "create";
  const CommandResult ran = Capture([&] { return Audit(session, options); });
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 3);
  EXPECT_THAT(ran.out, HasSubstr("\"object\":\"job/team-a/2\""));
  EXPECT_EQ(server_.requests().back().target, "/v1/audit?verb=create&limit=5000&page_token=9");
  options.limit = 2;
  EXPECT_EQ(Capture([&] { return Audit(session, options); }).exit, 2) << "it would not count";
}

}  // namespace
}  // namespace muster::cli
