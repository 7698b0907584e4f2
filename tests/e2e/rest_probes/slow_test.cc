// Probes: clients that send or read slowly, or vanish, hold up nobody else and are let go.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/rest_probes/probe_server.h"
#include "tests/e2e/rest_probes/raw_client.h"

namespace muster::rest_probes {
namespace {

const std::string kHost = "Host: [::1]:8686\r\n";
std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\n" + kHost + "\r\n";
}

// Every thread of the server answers: many requests over many connections.
void ExpectOthersServed(int port) {
  for (int i = 0; i < 20; ++i) {
    RawClient client(port);
    client.Send(Get("/hello") + Get("/pool/x") + "POST /late HTTP/1.1\r\n" + kHost +
                "Content-Length: 1\r\n\r\ny");
    EXPECT_EQ(client.Read().body, "hello world");
    EXPECT_EQ(client.Read().body, "x");
    EXPECT_EQ(client.Read().body, "y");
  }
}

class SlowProbes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start().ok()); }
  ProbeServer server_;
};

TEST_F(SlowProbes, ReadersThatStopInABigAnswerStallNobody) {
  std::vector<std::unique_ptr<RawClient>> stuck;
  for (int i = 0; i < 12; ++i) {
    stuck.push_back(std::make_unique<RawClient>(server_.port(), 4096));
    stuck.back()->Send(Get(i % 2 == 0 ? "/big" : "/long"));
    ASSERT_TRUE(stuck.back()->Fill()) << "the answer has begun";
  }
  ExpectOthersServed(server_.port());
  EXPECT_EQ(stuck[0]->Read().body.size(), 16u << 20)
      << "a slow reader that goes on gets everything";
  EXPECT_EQ(stuck[1]->Read().body.size(), 200u * 100'000u);
}

TEST_F(SlowProbes, ReadersThatResetInABigAnswerHarmNobody) {
  for (int i = 0; i < 20; ++i) {
    RawClient client(server_.port(), 4096);
    client.Send(Get(i % 2 == 0 ? "/big" : "/long"));
    ASSERT_TRUE(client.Fill());
    client.Reset();
  }
  ExpectOthersServed(server_.port());
}

TEST_F(SlowProbes, HalfSentRequestsStallNobody) {
  std::vector<std::unique_ptr<RawClient>> loris;
  for (int i = 0; i < 100; ++i) {
    loris.push_back(std::make_unique<RawClient>(server_.port()));
    loris.back()->Send(i % 2 == 0
                           ? "GET /hello HT"
                           : "POST /echo HTTP/1.1\r\n" + kHost + "Content-Length: 100\r\n\r\nabc");
  }
  ExpectOthersServed(server_.port());
}

TEST_F(SlowProbes, AHalfSentRequestIsAnswered408InItsTime) {
  RawClient client(server_.port());
  client.Send("GET /hello HT");
  ASSERT_TRUE(client.Fill(60'000)) << "the deadline of a request is 20 seconds";
  EXPECT_EQ(client.Read().status, 408);
  EXPECT_TRUE(client.ClosedCleanly());
}

TEST_F(SlowProbes, AStreamsSlowReaderIsDroppedAndTheOthersKeepTheirs) {
  RawClient slow(server_.port(), 4096), good(server_.port());
  slow.Send(Get("/stream"));
  ASSERT_TRUE(slow.ReadUntil(": open"));
  good.Send(Get("/stream"));
  ASSERT_TRUE(good.ReadUntil(": open"));
  const auto streams = server_.Streams();
  ASSERT_EQ(streams.size(), 2u);
  const std::string piece(50'000, 'e');
  bool dropped = false;
  for (int i = 0; i < 400 && !dropped; ++i) dropped = !streams[0]->Write(piece);
  EXPECT_TRUE(dropped) << "20 MB were kept for a reader that does not read";
  EXPECT_TRUE(streams[0]->over());
  EXPECT_TRUE(streams[1]->Write("data: still here\n\n"));
  EXPECT_TRUE(good.ReadUntil("still here"));
  streams[1]->End();
  EXPECT_TRUE(good.ReadUntil("0\r\n\r\n"));
  EXPECT_FALSE(streams[1]->Write("more"));
}

TEST_F(SlowProbes, AHundredStreamsSurviveFiftyResets) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_.port()));
    clients.back()->Send(Get("/stream"));
    ASSERT_TRUE(clients.back()->ReadUntil(": open"));
  }
  for (int i = 0; i < 50; ++i) clients[static_cast<std::size_t>(i)]->Reset();
  const auto streams = server_.Streams();
  for (int round = 0; round < 20; ++round) {
    for (const auto& stream : streams) stream->Write("data: " + std::to_string(round) + "\n\n");
  }
  for (int i = 50; i < 100; ++i) {
    EXPECT_TRUE(clients[static_cast<std::size_t>(i)]->ReadUntil("data: 19")) << i;
  }
  ExpectOthersServed(server_.port());
}

TEST_F(SlowProbes, AStreamOfAClientThatLeftIsOver) {
  auto client = std::make_unique<RawClient>(server_.port());
  client->Send(Get("/stream"));
  ASSERT_TRUE(client->ReadUntil(": open"));
  const auto stream = server_.Streams().at(0);
  client->Close();
  RawClient other(server_.port());  // whatever order the server sees them in, writes find out
  bool over = false;
  for (int i = 0; i < 10'000 && !over; ++i) {
    over = !stream->Write("data: x\n\n");
    other.Send(Get("/hello"));
    EXPECT_EQ(other.Read().status, 200);
  }
  EXPECT_TRUE(over);
}

}  // namespace
}  // namespace muster::rest_probes
