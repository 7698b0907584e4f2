#include "clients/lib/event_stream.h"

#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "tests/unit/clients/fake_server.h"

namespace muster::client {
namespace {

std::vector<ServerEvent> Parse(std::string_view text, std::size_t cut) {
  std::vector<ServerEvent> out;
  EventParser parser;
  for (std::size_t at = 0; at < text.size(); at += cut) {
    parser.Feed(text.substr(at, cut),
                [&](const ServerEvent& event) { return out.push_back(event), true; });
  }
  return out;
}

TEST(EventParser, GivesTheSameEventsHoweverTheBytesAreCut) {
  const std::string text =
      ": hello\nid: 4\nevent: JobStarted\ndata: {\"a\":\ndata: 1}\n\n\r\nid: "
      "5\r\ndata:x\r\n\r\n:ping\n\ndata: y\n\n";
  for (const std::size_t cut : {1, 2, 3, 7, 1000}) {
    const auto events = Parse(text, cut);
    ASSERT_EQ(events.size(), 3u) << cut;
    EXPECT_EQ(events[0].id, "4");
    EXPECT_EQ(events[0].type, "JobStarted");
    EXPECT_EQ(events[0].data, "{\"a\":\n1}");
    EXPECT_EQ(events[1].data, "x");
    EXPECT_EQ(events[2].data, "y");
    EXPECT_EQ(events[2].id, "5") << "the last id stays";
  }
}

TEST(EventParser, StopsWhenTheReceiverHasEnough) {
  EventParser parser;
  int seen = 0;
  EXPECT_FALSE(
      parser.Feed("data: 1\n\ndata: 2\n\n", [&](const ServerEvent&) { return ++seen, false; }));
  EXPECT_EQ(seen, 1);
}

TEST(EventParser, KeepsNoEventThatIsLongerThanItsBound) {
  const auto none = [](const ServerEvent&) { return true; };
  EventParser line;
  EXPECT_TRUE(line.Feed("data: " + std::string(limits::kEventBytes / 2, 'x'), none));
  EXPECT_FALSE(line.too_long());
  EXPECT_FALSE(line.Feed(std::string(limits::kEventBytes / 2, 'x'), none));
  EXPECT_TRUE(line.too_long());
  EventParser many;
  bool fed = true;
  for (int i = 0; fed && i < 2000; ++i)
    fed = many.Feed("data: " + std::string(1000, 'x') + "\n", none);
  EXPECT_TRUE(many.too_long()) << "lines of one event count together";
}

TEST(FollowEvents, EndsWhenAnEventIsTooLong) {
  testing::FakeServer server([](const testing::FakeRequest&) {
    testing::FakeAnswer out;
    out.stream = true;
    out.body = "data: " + std::string(2 * limits::kEventBytes, 'x');
    return out;
  });
  Settings settings;
  settings.server.port = server.port();
  ApiClient api(settings);
  EventHandlers handlers;
  handlers.on_connect = [] { return true; };
  handlers.on_event = [](const JobEventNote&) { return true; };
  const auto done = FollowEvents(api, NowMs() + 60'000, handlers);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.failure().kind, Failure::Kind::kBadAnswer);
  EXPECT_EQ(server.requests().size(), 1u) << "it is not asked again and again";
}

TEST(FollowEvents, ResumesAfterABreakFromTheLastEventSeen) {
  std::atomic<int> connections = 0;
  testing::FakeServer server([&](const testing::FakeRequest&) {
    testing::FakeAnswer out;
    out.stream = true;
    out.close = ++connections == 1;
    out.body = connections == 1 ? "data: {\"seq\":41,\"job\":1,\"type\":\"A\"}\n\n"
                                : "data: {\"seq\":42,\"job\":1,\"type\":\"B\"}\n\n";
    return out;
  });
  Settings settings;
  settings.server.port = server.port();
  ApiClient api(settings);
  std::vector<std::string> types;
  int told = 0;
  EventHandlers handlers;
  handlers.on_connect = [&] { return ++told, true; };
  handlers.on_event = [&](const JobEventNote& note) {
    return types.push_back(note.type), note.seq < 42;
  };
  const auto done = FollowEvents(api, NowMs() + 60'000, handlers);
  ASSERT_TRUE(done.ok()) << done.failure().detail;
  EXPECT_EQ(types, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(told, 2) << "the current state is looked at again after a break";
  EXPECT_EQ(server.requests().at(0).target, "/v1/events");
  EXPECT_EQ(server.requests().at(1).target, "/v1/events?since=41");
}

TEST(FollowEvents, GoesOnWhenADaemonThatStartedAgainIsNotReadyYet) {
  std::atomic<int> connections = 0;
  testing::FakeServer server([&](const testing::FakeRequest&) {
    const int connection = ++connections;
    if (connection == 2) return testing::Problem(503, "recovery has not run yet");
    testing::FakeAnswer out;
    out.stream = true;
    out.close = connection == 1;
    out.body = connection == 1 ? "data: {\"seq\":41,\"job\":1,\"type\":\"A\"}\n\n"
                               : "data: {\"seq\":42,\"job\":1,\"type\":\"B\"}\n\n";
    return out;
  });
  Settings settings;
  settings.server.port = server.port();
  ApiClient api(settings);
  std::int64_t last = 0;
  EventHandlers handlers;
  handlers.on_connect = [] { return true; };
  handlers.on_event = [&](const JobEventNote& note) { return (last = note.seq) < 42; };
  const auto done = FollowEvents(api, NowMs() + 60'000, handlers);
  ASSERT_TRUE(done.ok()) << done.failure().detail;
  EXPECT_EQ(last, 42);
  EXPECT_EQ(connections, 3);
}

}  // namespace
}  // namespace muster::client
