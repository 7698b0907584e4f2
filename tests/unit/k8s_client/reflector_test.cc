#include "backends/k8s/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes down what it is told, one short line each.
class EventRecorder final : public ReflectorSink {
 public:
  void OnListStart() override { Add("list"); }
  void OnPage(const json::array& items) override {
    std::string line = "page";
    for (const auto& item : items) line += " " + Name(item);
    Add(line);
  }
  void OnListed(const std::string& version) override { Add("listed " + version); }
  void OnEvent(EventType type, const json::value& object) override {
    Add(std::string(1, "AMD"[static_cast<int>(type)]) + " " + Name(object));
  }
  void OnTrouble(const Error& error) override { Add("trouble " + error.detail); }
  void OnAlive() override { Add("alive"); }

  std::vector<std::string> lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  std::size_t count(const std::string& line) const {
    const auto all = lines();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), line));
  }
  bool has(const std::string& line) const { return count(line) > 0; }

 private:
  static std::string Name(const json::value& object) {
    return std::string(object.at("kind").as_string()) + "/" +
           std::string(object.at("metadata").at("name").as_string());
  }
  void Add(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

std::string Page(const std::string& version, const std::vector<std::string>& names,
                 const std::string& next = "") {
  std::string items;
  for (const auto& name : names)
    items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + name + "\"}}";
  return R"({"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":")" + version +
         R"(","continue":")" + next + R"("},"items":[)" + items + "]}";
}

std::string Event(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"kind":"Job","metadata":{"name":")" + name +
         R"(","resourceVersion":")" + version + "\"}}}\n";
}

constexpr char kExpired[] =
    R"({"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"})";

std::string ErrorEvent(const std::string& status) {
  return R"({"type":"ERROR","object":)" + status + "}\n";
}

// A member whose next answers are given in advance, one line-up for lists and one for watches. A
// watch without an answer stays open and silent.
class Script {
 public:
  Script() : server([this](const SeenRequest& seen) { return Next(seen); }) {}
  ~Script() { end_.Open(); }
  Script& List(Reply reply) { return Add(&lists_, std::move(reply)); }
  Script& List(const std::string& body) { return List(Reply{200, body}); }
  Script& Watch(Reply reply) { return Add(&watches_, std::move(reply)); }
  // Sends these, then ends in order, or is cut off, or stays open.
  enum StreamEnd { kEnds, kBreaks, kStays };
  Script& Watch(std::vector<std::string> lines, StreamEnd then) {
    Reply reply;
    reply.stream = [this, lines = std::move(lines), then](const WriteBody& write) {
      for (const auto& line : lines) write(line);
      if (then == kStays) end_.Wait();
      return then == kEnds;
    };
    return Watch(std::move(reply));
  }
  std::vector<std::string> Asked(const std::string& part) const {
    std::vector<std::string> out;
    for (const auto& seen : server.seen()) {
      if (seen.target.find(part) != std::string::npos) out.push_back(seen.target);
    }
    return out;
  }
  std::size_t lists() const { return Asked("limit=").size(); }
  std::size_t watches() const { return Asked("watch=true").size(); }

 private:
  Script& Add(std::deque<Reply>* to, Reply reply) {
    std::lock_guard lock(mutex_);
    to->push_back(std::move(reply));
    return *this;
  }
  Reply Next(const SeenRequest& seen) {
    std::lock_guard lock(mutex_);
    auto& line = seen.target.find("watch=true") == std::string::npos ? lists_ : watches_;
    if (!line.empty()) {
      Reply out = std::move(line.front());
      line.pop_front();
      return out;
    }
    if (&line == &lists_) return Reply{200, Page("99", {})};
    Reply silent;
    silent.stream = [this](const WriteBody&) {
      end_.Wait();
      return true;
    };
    return silent;
  }
  std::mutex mutex_;
  std::deque<Reply> lists_, watches_;
  Latch end_;

 public:
  TestServer server;
};

class ReflectorTest : public ::testing::Test {
 protected:
  void Start(ReflectorOptions options = {}) {
    client_ = world_.Client(AccessTo(script_.server));
    options.collection.path = "/apis/batch/v1/jobs";
    options.collection.label_selector = "muster.io/instance=a b";
    reflector_ = std::make_unique<Reflector>(*client_, world_.environment, options, diary_);
    reflector_->Start();
  }
  bool Comes(const std::string& line, std::size_t times = 1) {
    return Eventually([&] { return diary_->count(line) >= times; });
  }
  bool ComesInTime(const std::string& line, std::size_t times = 1) {
    return world_.AdvanceUntil([&] { return diary_->count(line) >= times; }, 50);
  }
  void TearDown() override {
    if (reflector_ != nullptr) reflector_->Stop();
    if (client_ != nullptr) client_->Stop();
  }

  Script script_;
  ClientWorld world_;
  std::shared_ptr<EventRecorder> diary_ = std::make_shared<EventRecorder>();
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ItListsInPagesAndWatchesFromThere) {
  script_.List(Page("10", {"a", "b"}, "next/1")).List(Page("10", {"c"}));
  script_.Watch(
      {Event("ADDED", "d", "11"), Event("MODIFIED", "a", "12"), Event("DELETED", "b", "13")},
      Script::kStays);
  Start();
  ASSERT_TRUE(Comes("D Job/b"));
  EXPECT_THAT(diary_->lines(), ElementsAre("list", "page Job/a Job/b", "page Job/c", "listed 10",
                                           "alive", "alive", "A Job/d", "M Job/a", "D Job/b"));
  const std::string selector = "labelSelector=muster.io%2Finstance%3Da%20b";
  const auto lists = script_.Asked("limit=500");
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_THAT(lists[0], HasSubstr(selector));
  // Nothing but a list without a version is a consistent read.
  EXPECT_EQ(lists[0].find("resourceVersion"), std::string::npos);
  EXPECT_THAT(lists[1], HasSubstr("continue=next%2F1"));
  const auto watches = script_.Asked("watch=true");
  ASSERT_EQ(watches.size(), 1u);
  EXPECT_THAT(watches[0], HasSubstr("resourceVersion=10"));
  EXPECT_THAT(watches[0], HasSubstr("allowWatchBookmarks=true"));
  EXPECT_THAT(watches[0], HasSubstr(selector));
}

TEST_F(ReflectorTest, AListWhosePagesExpireBeginsAgain) {
  script_.List(Page("10", {"a"}, "next")).List(Reply{410, kExpired}).List(Page("20", {"b"}));
  Start();
  ASSERT_TRUE(Comes("listed 20"));
  EXPECT_THAT(diary_->lines(), ::testing::IsSupersetOf({"page Job/a", "page Job/b"}));
  EXPECT_EQ(diary_->count("list"), 2u);
}

TEST_F(ReflectorTest, AWatchThatEndsGoesOnFromTheLastVersionSeen) {
  script_.List(Page("10", {}));
  script_.Watch({Event("ADDED", "a", "11"), Event("BOOKMARK", "-", "15")}, Script::kEnds);
  script_.Watch({Event("ADDED", "b", "16")}, Script::kStays);
  Start();
  ASSERT_TRUE(Comes("A Job/b"));
  EXPECT_EQ(script_.lists(), 1u);
  EXPECT_THAT(script_.Asked("watch=true").at(1), HasSubstr("resourceVersion=15"));
}

TEST_F(ReflectorTest, AWatchThatBreaksGoesOnFromTheLastVersionSeen) {
  script_.List(Page("10", {}));
  script_.Watch({Event("ADDED", "a", "11"), "{\"type\":\"ADDED\",\"obj"}, Script::kBreaks);
  script_.Watch({Event("ADDED", "b", "12")}, Script::kStays);
  Start();
  ASSERT_TRUE(ComesInTime("A Job/b"));
  EXPECT_EQ(script_.lists(), 1u);
  EXPECT_THAT(script_.Asked("watch=true").at(1), HasSubstr("resourceVersion=11"));
}

TEST_F(ReflectorTest, AVersionThatIsTooOldMeansANewList) {
  script_.List(Page("10", {"a"})).List(Page("50", {"b"})).List(Page("70", {"c"}));
  script_.Watch({ErrorEvent(kExpired)}, Script::kEnds);
  script_.Watch(Reply{410, kExpired});
  Start();
  ASSERT_TRUE(ComesInTime("listed 70"));
  EXPECT_THAT(script_.Asked("watch=true").at(1), HasSubstr("resourceVersion=50"));
  for (const auto& line : diary_->lines()) EXPECT_EQ(line.find("trouble"), std::string::npos);
}

TEST_F(ReflectorTest, ASilentWatchIsTakenForStalledAndListedAnew) {
  script_.List(Page("10", {"a"})).List(Page("5", {"b"}));  // the member has gone back in time
  Start();
  ASSERT_TRUE(Comes("listed 10"));
  // The watch is open: one that has no answer yet would not be taken for stalled.
  ASSERT_TRUE(Comes("alive", 2));
  // Time stands still while the list is answered, or a slow machine would let it time out.
  ASSERT_TRUE(world_.AdvanceUntil([&] { return script_.lists() == 2; }, 5000));
  ASSERT_TRUE(Comes("listed 5"));
  EXPECT_TRUE(diary_->has("trouble member east: its stream has stalled"));
}

TEST_F(ReflectorTest, AWatchThatTellsNothingIsNotAskedInACircle) {
  script_.List(Page("10", {}));
  for (int i = 0; i < 3; ++i) script_.Watch(std::vector<std::string>{}, Script::kEnds);
  Start();
  ASSERT_TRUE(Eventually([&] { return script_.watches() == 1 && diary_->count("alive") == 2; }));
  ASSERT_TRUE(world_.AdvanceUntil([&] { return script_.watches() == 4; }, 50));
  // Three pauses that double from 200 ms, each at least half of its bound.
  EXPECT_GE(world_.clock.Now() - Monotonic{kNanosPerSecond}, 700 * kNanosPerMilli);
  EXPECT_EQ(script_.lists(), 1u);
}

TEST_F(ReflectorTest, AKindThatIsNotInstalledIsToldAndAskedForSeldom) {
  script_.List(Reply{404, "404 page not found\n"}).List(Page("10", {"a"}));
  Start();
  ASSERT_TRUE(Comes("trouble 404 page not found"));
  world_.Advance(14'000);
  EXPECT_EQ(script_.lists(), 1u);
  ASSERT_TRUE(ComesInTime("listed 10"));
}

TEST_F(ReflectorTest, WhatIsNoListIsTroubleAndTriedAgain) {
  script_.List("{\"kind\":\"JobList\"}").List("not json").List(Page("10", {"a"}));
  Start();
  ASSERT_TRUE(ComesInTime("listed 10"));
  EXPECT_TRUE(diary_->has("trouble the member's answer is no list"));
  EXPECT_EQ(diary_->count("page Job/a"), 1u);
}

TEST_F(ReflectorTest, ALineThatIsNoEventMeansANewList) {
  script_.List(Page("10", {"a"})).List(Page("20", {"b"}));
  script_.Watch({Event("ADDED", "x", "11"), "garbage\n", Event("ADDED", "y", "12")},
                Script::kStays);
  Start();
  ASSERT_TRUE(ComesInTime("listed 20"));
  EXPECT_TRUE(diary_->has("A Job/x"));
  EXPECT_FALSE(diary_->has("A Job/y"));
}

TEST_F(ReflectorTest, AServerErrorInTheWatchIsTroubleAndListedAnew) {
  script_.List(Page("10", {})).List(Page("20", {}));
  script_.Watch({ErrorEvent(R"({"kind":"Status","code":500,"message":"etcd away"})")},
                Script::kEnds);
  Start();
  ASSERT_TRUE(ComesInTime("listed 20"));
  EXPECT_TRUE(diary_->has("trouble etcd away"));
}

TEST_F(ReflectorTest, RelistListsWhateverItIsDoing) {
  script_.List(Page("10", {})).List(Page("20", {}));
  Start();
  ASSERT_TRUE(Eventually([&] { return script_.watches() == 1; }));
  reflector_->Relist();
  ASSERT_TRUE(Comes("listed 20"));
}

TEST_F(ReflectorTest, NothingComesAfterStop) {
  script_.List(Page("10", {}));
  script_.Watch(std::vector<std::string>(10'000, Event("ADDED", "a", "11")), Script::kEnds);
  Start();
  ASSERT_TRUE(Comes("A Job/a"));
  reflector_->Stop();
  const auto told = diary_->lines().size();
  EXPECT_EQ(Answer(*client_, Get("/healthz")).Status(), 200);
  EXPECT_EQ(diary_->lines().size(), told);
}

TEST_F(ReflectorTest, ItMayBeStoppedFromItsOwnStrand) {
  Start();
  ASSERT_TRUE(Comes("listed 99"));
  Latch stopped;
  client_->Post([&] {
    reflector_->Stop();
    stopped.Open();
  });
  stopped.Wait();
}

}  // namespace
}  // namespace muster::k8s::test
