// The parts of the PostgreSQL store that need no server.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schedd/store/health.h"
#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/pq_params.h"
#include "schedd/store/pg/row_json.h"
#include "schedd/store/pg/watchdog.h"
#include "schedd/store/pg/write_unit.h"

namespace muster::pg {
namespace {

std::string Hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

TEST(BinaryParameters, AnArrayIsItsHeaderAndItsElements) {
  Column column(ElementType::kInt4);
  column.Int4(-2);
  column.OptionalInt4(std::nullopt);
  EXPECT_EQ(column.array_oid(), 1007U);
  EXPECT_EQ(Hex(column.Bytes()),
            "00000001"  // dimensions
            "00000001"  // has nulls
            "00000017"  // int4
            "00000002"
            "00000001"
            "00000004"
            "fffffffe"
            "ffffffff");
}

TEST(BinaryParameters, BytesAreSentAsTheyAre) {
  Column column(ElementType::kBytea);
  column.Text(std::string("\0\xff", 2));
  EXPECT_EQ(column.array_oid(), 1001U);
  EXPECT_EQ(Hex(column.Bytes()).substr(16),
            "00000011"
            "00000001"
            "00000001"
            "00000002"
            "00ff");
}

TEST(BinaryParameters, AnEmptyArrayHasNoDimension) {
  Column column(ElementType::kText);
  EXPECT_EQ(Hex(column.Bytes()),
            "00000000"
            "00000000"
            "00000019");
}

TEST(BinaryParameters, UnsetTimesAndEmptyOptionalTextsAreNull) {
  Column times(ElementType::kInt8), texts(ElementType::kText);
  times.Time({});
  texts.OptionalText("");
  EXPECT_EQ(Hex(times.Bytes()).substr(40), "ffffffff");
  EXPECT_EQ(Hex(texts.Bytes()).substr(40), "ffffffff");
}

TEST(BinaryParameters, AUuidIsSixteenBytesHighPartFirst) {
  Column column(ElementType::kUuid);
  column.Uuid(Uid{0x0011223344556677ULL, 0x8899aabbccddeeffULL});
  EXPECT_EQ(Hex(column.Bytes()).substr(40), "0000001000112233445566778899aabbccddeeff");
}

struct NoticeCase {
  const char* severity;
  const char* sqlstate;
  bool warning;
};

TEST(IsWarning, ASeverityOrAnSqlstateTells_AndNoWords) {
  const NoticeCase cases[] = {
      {"WARNING", "01000", true},                            // a wait for a standby was cancelled
      {"WARNING", "57P01", true},                            // the same, by the session's end
      {"WARNING", nullptr, true}, {nullptr, "01000", true},  // a server that names no severity
      {"NOTICE", "00000", false}, {"INFO", "00000", false},
      {"LOG", "00000", false},    {nullptr, nullptr, false},
  };
  for (const NoticeCase& one : cases) {
    EXPECT_EQ(IsWarning(one.severity, one.sqlstate), one.warning)
        << (one.severity ? one.severity : "") << " " << (one.sqlstate ? one.sqlstate : "");
  }
}

TEST(Watchdog, EndsAWaitWhenItsTimeIsUp_AndAllWaitsAfterAStop) {
  using std::chrono::milliseconds;
  Watchdog dog;
  int ends[3][2];
  for (auto& pair : ends) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const auto waits = [](int fd) {  // true: the socket was ended
    char byte = 0;
    return read(fd, &byte, 1) == 0;
  };
  const auto begun = std::chrono::steady_clock::now();
  {
    Watchdog::Watch late(dog, ends[0][0], milliseconds(3'600'000));
    const Watchdog::Watch soon(dog, ends[1][0], milliseconds(50));
    EXPECT_TRUE(waits(ends[1][0]));
    EXPECT_TRUE(soon.cut());
    EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(50));
    EXPECT_FALSE(late.cut());
    late.Extend(milliseconds(20));
    EXPECT_TRUE(waits(ends[0][0]));
    EXPECT_TRUE(late.cut());
  }
  dog.Stop(milliseconds(30));
  const Watchdog::Watch after(dog, ends[2][0], milliseconds(3'600'000));
  EXPECT_TRUE(waits(ends[2][0]));
  for (const auto& pair : ends)
    for (const int fd : pair) close(fd);
}

TEST(StoreHealth, TellsOfALostSessionAtOnce_AndOfAWaitWhenItHasLasted) {
  using std::chrono::seconds;
  StoreHealth health;
  const StoreHealth::Clock::time_point start{};
  EXPECT_EQ(health.Problem(start, seconds(5)), "");
  health.Waits(start);
  EXPECT_EQ(health.Problem(start + seconds(4), seconds(5)), "");
  EXPECT_EQ(health.Problem(start + seconds(7), seconds(5)),
            "the database has not made the oldest change durable for 7 s");
  health.Rests();
  EXPECT_EQ(health.Problem(start + seconds(7), seconds(5)), "");
  health.Lost("it is gone");
  EXPECT_EQ(health.Problem(start, seconds(5)), "it is gone");
  health.Leads();
  EXPECT_EQ(health.Problem(start, seconds(5)), "");
}

struct StateCase {
  const char* sqlstate;
  const char* constraint;
  FailureKind kind;
  Code code;
};

TEST(FailureOf, EverySqlstateMeansOneThingToTheCaller) {
  const StateCase cases[] = {
      {"MU001", "", FailureKind::kFenced, Code::kAborted},
      {"MU002", "", FailureKind::kItem, Code::kFailedPrecondition},
      {"MU003", "", FailureKind::kChain, Code::kDataLoss},
      {"23505", "audit_pkey", FailureKind::kChain, Code::kDataLoss},
      {"53100", "", FailureKind::kEnvironment, Code::kUnavailable},  // disk full
      {"53300", "", FailureKind::kEnvironment, Code::kUnavailable},  // too many connections
      {"25006", "", FailureKind::kEnvironment, Code::kUnavailable},  // read-only
      {"57P01", "", FailureKind::kEnvironment, Code::kUnavailable},  // shutting down
      {"58030", "", FailureKind::kEnvironment, Code::kUnavailable},  // I/O error
      {"40P01", "", FailureKind::kEnvironment, Code::kUnavailable},  // deadlock
      {"23505", "dispatches_one_live", FailureKind::kItem, Code::kFailedPrecondition},
      {"23514", "quota_usage_amount_check", FailureKind::kItem, Code::kFailedPrecondition},
      {"22021", "", FailureKind::kItem, Code::kInvalidArgument},     // bytes that are no UTF-8
      {"22P02", "", FailureKind::kItem, Code::kInvalidArgument},     // no JSON
      {"42P01", "", FailureKind::kEnvironment, Code::kUnavailable},  // no such table
      {"42501", "", FailureKind::kEnvironment, Code::kUnavailable},  // no right to it
      {"3F000", "", FailureKind::kEnvironment, Code::kUnavailable},  // no such schema
      {"MU004", "", FailureKind::kEnvironment, Code::kUnavailable},  // a session that is shared
      {"26000", "", FailureKind::kEnvironment, Code::kUnavailable},  // prepared in another session
      {"54000", "", FailureKind::kItem, Code::kInternal},
  };
  for (const StateCase& state : cases) {
    const Failure failure = FailureOf(state.sqlstate, "text of the server", state.constraint);
    EXPECT_EQ(failure.kind, state.kind) << state.sqlstate;
    EXPECT_EQ(failure.error.code, state.code) << state.sqlstate;
  }
  EXPECT_EQ(FailureOf("53100", "", "").error.detail,
            "the database's disk is full; nothing was written");
  EXPECT_EQ(FailureOf("23505", "", "dispatches_one_live").error.detail,
            "the job already has a live attempt");
}

TEST(RowJson, TextThatIsNotOursIsDataLossAndNeverThrows) {
  for (const char* text :
       {"", "{", "[1]", "{\"a\":1}", "null", "[{\"name\":7}]", "[{\"count\":99999999999}]"}) {
    EXPECT_FALSE(ParsePodSets(text).ok()) << text;
  }
  EXPECT_EQ(ParsePodSets("{").error().code, Code::kDataLoss);
  EXPECT_EQ(ParseAdmission("[]").error().code, Code::kDataLoss);
  EXPECT_EQ(ParseConditions("[{\"type\":\"A\"}]").error().code, Code::kDataLoss);
  EXPECT_EQ(ParseBatch("7").error().code, Code::kDataLoss);
}

TEST(RowJson, RequiredAffinityWithoutTermsIsNotTheSameAsNone) {
  SchedulingConstraints constraints;
  constraints.has_required_affinity = true;
  PodSets pod_sets{{"a", 1, {}, std::make_shared<const SchedulingConstraints>(constraints)}};
  const auto back = ParsePodSets(PodSetsText(pod_sets));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE((**back)[0].constraints->has_required_affinity);
  EXPECT_TRUE((**back)[0].constraints->required_terms.empty());
}

TEST(RowJson, UnlimitedAmountsSurvive) {
  const auto back = ParsePodSets(
      PodSetsText({{"a", 1, {{"cpu", std::numeric_limits<std::int64_t>::max()}}, nullptr}}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((**back)[0].requests[0].amount, std::numeric_limits<std::int64_t>::max());
}

TEST(RowJson, WhatAdmissionKnowsOfPodSetsSurvives) {
  PodSet full{"a", 4, {{"credits", 2}}, nullptr};
  full.min_count = 2;
  TopologyRequest topology;
  topology.preferred = "block";
  topology.pod_set_group = "g";
  topology.slice_layers = {{"rack", 4}, {"host", 2}};
  full.topology = std::make_shared<const TopologyRequest>(topology);
  full.node_requests = std::make_shared<const ResourceList>(ResourceList{{"cpu", 1000}});
  SchedulingConstraints constraints;
  constraints.preferred_terms = {{10, {{{"zone", "In", {"z"}}}}}};
  full.constraints = std::make_shared<const SchedulingConstraints>(constraints);
  topology = {};
  topology.required = "rack";
  topology.slice_required = "host";
  topology.slice_size = 2;
  PodSet sliced{"b", 4, {}, nullptr};
  sliced.topology = std::make_shared<const TopologyRequest>(topology);
  const PodSets pod_sets = {full, sliced};
  const auto back = ParsePodSets(PodSetsText(pod_sets));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(**back, pod_sets);

  Admission admission{"q", {{"a", 4, {{"cpu", "f"}}, {{"cpu", 4000}}}}};
  admission.pod_sets[0].topology = std::make_shared<const TopologyAssignment>(
      TopologyAssignment{{"block", "rack"}, {{{"b1", "r1"}, 3}, {{"b1", "r2"}, 1}}});
  admission.pod_sets.push_back({"b", 1, {}, {}});
  admission.pod_sets[1].topology_delayed = true;
  const auto admitted = ParseAdmission(AdmissionText(admission));
  ASSERT_TRUE(admitted.ok());
  EXPECT_EQ(**admitted, admission);
}

TEST(Interner, EqualPodSetsAreOneObject) {
  Interner interner;
  const auto first = interner.PodSetsOf(R"([{"name":"a","count":1,"requests":{}}])");
  const auto second = interner.PodSetsOf(R"([{"name":"a","count":1,"requests":{}}])");
  const auto other = interner.PodSetsOf(R"([{"name":"b","count":1,"requests":{}}])");
  EXPECT_EQ(first->get(), second->get());
  EXPECT_NE(first->get(), other->get());
}

TEST(WriteUnits, JobsWhoseRowsWereNotWrittenFailWithThem) {
  const NewJob job;
  const PlanCommit plan;
  const std::vector<AuditRow> rows(1);
  // Rows, three jobs; rows, a job; a plan, a job.
  std::vector<WriteUnit> units(8);
  units[0].audit = units[4].audit = &rows;
  for (const std::size_t i : {1, 2, 3, 5, 7}) units[i].job = &job;
  units[6].commit = &plan;
  units[0].Fail(Unavailable("no rows"));
  FailUnnoted(units, 1);
  for (const std::size_t i : {1, 2, 3}) {
    ASSERT_TRUE(units[i].answered()) << i;
    EXPECT_EQ(units[i].accepted->error().detail, "no rows") << i;
  }
  for (const std::size_t i : {4, 5, 6, 7}) EXPECT_FALSE(units[i].answered()) << i;
  units[4].noted = Done{};
  FailUnnoted(units, 5);
  EXPECT_FALSE(units[5].answered()) << "its rows are there";
  units[6].Fail(Unavailable("no plan"));
  FailUnnoted(units, 7);
  EXPECT_FALSE(units[7].answered()) << "a plan says nothing of the jobs after it";
}

}  // namespace
}  // namespace muster::pg
