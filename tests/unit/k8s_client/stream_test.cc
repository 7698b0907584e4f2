#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Remembers what a stream told it.
class Recorder final : public StreamSink {
 public:
  void OnResponse(const ApiResponse& response) override {
    std::lock_guard lock(mutex_);
    status_ = response.status;
    body_ = response.body;
  }
  bool OnData(std::string_view data) override {
    std::lock_guard lock(mutex_);
    pieces_.emplace_back(data);
    return pieces_.size() < hold_after_;
  }
  void OnEnd(const Status& how) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(ended_);
    ended_ = true;
    code_ = how ? Code::kOk : how.error().code;
    sentence_ = how ? "" : how.error().detail;
  }
  // OnData answers false from the n-th piece on.
  void HoldAfter(std::size_t n) {
    std::lock_guard lock(mutex_);
    hold_after_ = n;
  }
  std::vector<std::string> pieces() const { return Read(pieces_); }
  int status() const { return Read(status_); }
  std::string body() const { return Read(body_); }
  bool ended() const { return Read(ended_); }
  Code code() const { return Read(code_); }
  std::string sentence() const { return Read(sentence_); }
  std::string joined() const {
    std::string out;
    for (const auto& piece : pieces()) out += piece;
    return out;
  }

 private:
  template <class T>
  T Read(const T& value) const {
    std::lock_guard lock(mutex_);
    return value;
  }
  mutable std::mutex mutex_;
  std::vector<std::string> pieces_;
  std::size_t hold_after_ = 1'000'000;
  int status_ = 0;
  std::string body_, sentence_;
  bool ended_ = false;
  Code code_ = Code::kInternal;
};

Reply Streamed(std::vector<std::string> chunks, bool whole = true) {
  Reply out;
  out.stream = [chunks = std::move(chunks), whole](const WriteBody& write) {
    for (const auto& chunk : chunks) {
      if (!write(chunk)) return false;
    }
    return whole;
  };
  return out;
}

struct OpenedStream {
  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();
  std::shared_ptr<ApiStream> stream;
};

OpenedStream Open(ApiClient& client, StreamRequest request = {.target = "/watch"}) {
  OpenedStream out;
  out.stream = client.OpenStream(std::move(request), out.sink);
  return out;
}

StreamRequest Bytes() {
  StreamRequest out;
  out.target = "/log";
  out.lines = false;
  out.idle_timeout_ms = 0;
  return out;
}

TEST(Stream, LinesComeWholeHoweverTheyAreCutOnTheWay) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) {
    return Streamed({"{\"a\":1}\n{\"b\"", ":2}", "\n\n", "{\"c\":3}\n{\"d\":4}"});
  });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return opened.sink->ended(); }));
  EXPECT_EQ(opened.sink->status(), 200);
  EXPECT_THAT(opened.sink->pieces(),
              ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "{\"d\":4}"));
  EXPECT_EQ(opened.sink->code(), Code::kOk);
}

TEST(Stream, AnAnswerThatIsCutOffGivesNoHalfLine) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Streamed({"whole\nhal"}, false); });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return opened.sink->ended(); }));
  EXPECT_THAT(opened.sink->pieces(), ElementsAre("whole"));
  EXPECT_EQ(opened.sink->code(), Code::kUnavailable);
  EXPECT_THAT(opened.sink->sentence(), HasSubstr("member east: it closed the connection"));
}

TEST(Stream, BytesComeAsTheyAre) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Streamed({"one\ntwo", "\n", "three"}); });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client, Bytes());
  ASSERT_TRUE(Eventually([&] { return opened.sink->ended(); }));
  EXPECT_EQ(opened.sink->joined(), "one\ntwo\nthree");
  EXPECT_EQ(server.seen().front().target, "/log");
}

TEST(Stream, AnotherStatusIsToldWithItsBody) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) { return Reply{410, "gone"}; });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return opened.sink->ended(); }));
  EXPECT_EQ(opened.sink->status(), 410);
  EXPECT_EQ(opened.sink->body(), "gone");
  EXPECT_TRUE(opened.sink->pieces().empty());
  EXPECT_EQ(opened.sink->code(), Code::kOk);
}

TEST(Stream, WhoHoldsBackIsNotSentMoreUntilItGoesOn) {
  ClientWorld world;
  std::atomic<std::size_t> written{0};
  TestServer server([&](const SeenRequest& seen) {
    Reply out;
    if (seen.target == "/beside") return out;
    out.stream = [&](const WriteBody& write) {
      // More than every buffer between can take.
      const std::string chunk = std::string(99'999, 'x') + "\n";
      for (int i = 0; i < 300; ++i) {
        if (!write(chunk)) return false;
        ++written;
      }
      return true;
    };
    return out;
  });
  const auto client = world.Client(AccessTo(server));
  auto sink = std::make_shared<Recorder>();
  sink->HoldAfter(1);
  const auto stream = client->OpenStream({.target = "/watch"}, sink);
  ASSERT_TRUE(Eventually([&] { return sink->pieces().size() == 1; }));
  world.Advance(100'000);  // held back is not stalled
  EXPECT_EQ(Answer(*client, Get("/beside")).Status(), 200);
  EXPECT_FALSE(sink->ended());
  EXPECT_EQ(sink->pieces().size(), 1u);
  EXPECT_LT(written, 300u);
  sink->HoldAfter(1'000'000);
  stream->Resume();
  ASSERT_TRUE(Eventually([&] { return sink->ended(); }));
  EXPECT_EQ(sink->pieces().size(), 300u);
  EXPECT_EQ(sink->code(), Code::kOk);
}

TEST(Stream, ASilentOneStalls) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    Reply out;
    out.stream = [&](const WriteBody& write) {
      write("hello\n");
      latch.Wait();
      return true;
    };
    return out;
  });
  const auto client = world.Client(AccessTo(server));
  const auto watch = Open(*client);
  const auto log = Open(*client, Bytes());
  ASSERT_TRUE(Eventually(
      [&] { return watch.sink->pieces().size() == 1 && log.sink->pieces().size() == 1; }));
  ASSERT_TRUE(world.AdvanceUntil([&] { return watch.sink->ended(); }, 5000));
  EXPECT_EQ(watch.sink->code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(log.sink->ended());  // that one may be silent for ever
  latch.Open();
  ASSERT_TRUE(Eventually([&] { return log.sink->ended(); }));
  EXPECT_EQ(log.sink->code(), Code::kOk);
}

TEST(Stream, OneWhoseHeadDoesNotComeIsUnavailable) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    latch.Wait();
    return Reply{};
  });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return server.count() == 1; }));
  ASSERT_TRUE(world.AdvanceUntil([&] { return opened.sink->ended(); }, 5000));
  EXPECT_EQ(opened.sink->code(), Code::kUnavailable);
  EXPECT_EQ(opened.sink->status(), 0);
  latch.Open();
}

TEST(Stream, CloseOnTheStrandIsTheLastThingHeard) {
  ClientWorld world;
  TestServer server(
      [](const SeenRequest&) { return Streamed(std::vector<std::string>(1000, "x\n")); });
  const auto client = world.Client(AccessTo(server));

  class Closer final : public StreamSink {
   public:
    void OnResponse(const ApiResponse&) override {}
    bool OnData(std::string_view) override {
      ++pieces;
      stream->Close();
      return true;
    }
    void OnEnd(const Status&) override { ++ends; }
    std::atomic<int> pieces{0}, ends{0};
    std::shared_ptr<ApiStream> stream;
  };
  auto sink = std::make_shared<Closer>();
  Latch opened;
  client->Post([&] {
    sink->stream = client->OpenStream({.target = "/watch"}, sink);
    opened.Open();
  });
  opened.Wait();
  ASSERT_TRUE(Eventually([&] { return sink->pieces == 1; }));
  client->Stop();
  EXPECT_EQ(sink->pieces, 1);
  EXPECT_EQ(sink->ends, 0);
  sink->stream.reset();
}

TEST(Stream, DroppingTheHandleFreesTheConnection) {
  ClientWorld world;
  std::atomic<bool> noticed{false};
  TestServer server([&](const SeenRequest&) {
    Reply out;
    out.stream = [&](const WriteBody& write) {
      while (write("x\n")) std::this_thread::yield();
      noticed = true;
      return false;
    };
    return out;
  });
  const auto client = world.Client(AccessTo(server), {.streams = 1});
  auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return !opened.sink->pieces().empty(); }));
  const auto second = Open(*client);
  ASSERT_TRUE(Eventually([&] { return second.sink->ended(); }));
  EXPECT_EQ(second.sink->code(), Code::kResourceExhausted);
  opened.stream.reset();
  EXPECT_TRUE(Eventually([&] { return noticed.load(); }));
  const auto third = Open(*client);
  EXPECT_TRUE(Eventually([&] { return !third.sink->pieces().empty(); }));
}

TEST(Stream, AnEndlessLineEndsIt) {
  ClientWorld world;
  TestServer server([](const SeenRequest&) {
    return Streamed(std::vector<std::string>(100, std::string(1000, 'x')));
  });
  const auto client = world.Client(AccessTo(server), {.max_line_bytes = 50'000});
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return opened.sink->ended(); }));
  EXPECT_EQ(opened.sink->code(), Code::kResourceExhausted);
  EXPECT_TRUE(opened.sink->pieces().empty());
}

TEST(Stream, A401RenewsTheCredentialsOnce) {
  ClientWorld world;
  const Folder folder;
  folder.Write("token", "old");
  TestServer server([](const SeenRequest& seen) {
    return seen.authorization == "Bearer new" ? Streamed({"x\n"}) : Reply{401, "no"};
  });
  MemberAccess access = AccessTo(server);
  access.token.file = folder.path() + "/token";
  access.allowed_directories = {folder.path()};
  const auto client = world.Client(access);
  const auto refused = Open(*client);
  ASSERT_TRUE(Eventually([&] { return refused.sink->ended(); }));
  EXPECT_EQ(refused.sink->status(), 401);
  world.Advance(11'000);
  // Read by the look that precedes the request, it would not need the 401.
  const auto warm = Open(*client);
  ASSERT_TRUE(Eventually([&] { return warm.sink->ended(); }));
  folder.Write("token", "new");
  world.Advance(500);
  const auto taken = Open(*client);
  ASSERT_TRUE(Eventually([&] { return taken.sink->ended(); }));
  EXPECT_EQ(taken.sink->status(), 401);  // renewed a moment ago: not again so soon
  world.Advance(1000);
  const auto again = Open(*client);
  ASSERT_TRUE(Eventually([&] { return again.sink->ended(); }));
  EXPECT_THAT(again.sink->pieces(), ElementsAre("x"));
}

TEST(Stream, StopEndsIt) {
  ClientWorld world;
  Latch latch;
  TestServer server([&](const SeenRequest&) {
    Reply out;
    out.stream = [&](const WriteBody& write) {
      write("x\n");
      latch.Wait();
      return true;
    };
    return out;
  });
  const auto client = world.Client(AccessTo(server));
  const auto opened = Open(*client);
  ASSERT_TRUE(Eventually([&] { return !opened.sink->pieces().empty(); }));
  client->Stop();
  EXPECT_TRUE(opened.sink->ended());
  EXPECT_EQ(opened.sink->code(), Code::kUnavailable);
  const auto late = Open(*client);
  EXPECT_TRUE(late.sink->ended());
  latch.Open();
}

}  // namespace
}  // namespace muster::k8s::test
