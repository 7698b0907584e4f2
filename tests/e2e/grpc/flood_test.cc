// Floods of HTTP/2 frames, watches that are never read, and crowds of connections, over raw
// sockets: the offender gets GOAWAY, memory does not grow, and all other clients are served.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "schedd/base/limits.h"
#include "tests/e2e/grpc/grpc_world.h"
#include "tests/e2e/rest_probes/raw_client.h"
#include "tests/support/sanitizers.h"

namespace muster::test {
namespace {

using rest_probes::RawClient;

constexpr auto kFlood = std::chrono::seconds(3);
constexpr std::int64_t kGrownMostMb = 100;
constexpr std::uint8_t kEndStream = 1, kEndHeaders = 4;

std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload = "") {
  std::string out;
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(size >> shift));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(stream >> shift));
  return out + payload;
}

std::string Hello() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0); }

// A call's headers, each a literal that no table keeps (RFC 7541, 6.2.2).
std::string CallOf(const std::string& path, std::uint32_t stream, std::uint8_t flags) {
  const auto text = [](const std::string& value) {
    return std::string(1, static_cast<char>(value.size())) + value;
  };
  const std::string block = "\x83\x86\x04" + text(path) + "\x01" + text("localhost") +
                            std::string("\x0f\x10") + text("application/grpc") +
                            std::string(1, '\0') + text("te") + text("trailers");
  return Frame(1, static_cast<std::uint8_t>(flags | kEndHeaders), stream, block);
}

std::int64_t ResidentMb() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / (1 << 20);
}

// The largest growth of the process over its size at the beginning.
class Growth {
 public:
  void Look() { most_ = std::max(most_, ResidentMb() - before_); }
  std::int64_t most_mb() const { return most_; }

 private:
  const std::int64_t before_ = ResidentMb();
  std::int64_t most_ = 0;
};

// True if a GOAWAY with ENHANCE_YOUR_CALM and this text has arrived.
bool ToldToGoAway(RawClient& client, const std::string& why) {
  client.Closed();
  const std::string& got = client.buffer();
  const std::size_t at = got.find(why);
  return at != std::string::npos && at >= 17 && got[at - 14] == 7 && got[at - 1] == 0xb;
}

class GrpcFloods : public GrpcServerTest {
 protected:
  explicit GrpcFloods(api::front::FrontOptions front = {}) : GrpcServerTest({}, front) {}

  // Sends pieces over one connection after another for some seconds; returns how many were sent.
  // Each connection that was closed, at least the first, must have been given `why`.
  template <class Piece>
  std::size_t Flood(const std::string& why, Piece piece) {
    Growth growth;
    std::size_t sent = 0, connections = 0, told = 0;
    const auto end = std::chrono::steady_clock::now() + kFlood;
    while (std::chrono::steady_clock::now() < end) {
      RawClient client(server_->port());
      bool open = client.Send(Hello());
      for (std::uint32_t i = 0; open && std::chrono::steady_clock::now() < end; ++i) {
        open = client.Send(piece(i));
        ++sent;
        growth.Look();
      }
      if (open) break;
      ++connections;
      if (connections <= 5 && ToldToGoAway(client, why)) ++told;
    }
    growth.Look();
    EXPECT_GE(connections, 1u) << "the flood went on over one connection";
    EXPECT_GE(told, 1u) << "of the first connections none was told: " << why;
    if (!kSanitized) {
      EXPECT_LT(growth.most_mb(), kGrownMostMb) << why;
    }
    std::printf("%s: %zu pieces, %zu connections, %lld MB more\n", why.c_str(), sent, connections,
                static_cast<long long>(growth.most_mb()));
    return sent;
  }

  void ExpectServed() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::ListJobsResponse response;
    const grpc::Status status = jobs_->ListJobs(&context, v1::ListJobsRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  // Watches on a connection of their own that is never read.
  std::unique_ptr<RawClient> Unread(std::size_t watches) {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Send(Hello());
    for (std::uint32_t i = 0; i < watches; ++i) {
      const std::uint32_t stream = 2 * i + 1;
      client->Send(CallOf("/muster.v1.JobService/WatchEvents", stream, 0) +
                   Frame(0, kEndStream, stream, std::string(5, '\0')));
    }
    return client;
  }
};

TEST_F(GrpcFloods, CancelledCalls) {
  ExpectServed();
  Flood("too many calls were cancelled", [](std::uint32_t i) {
    std::string piece;
    for (std::uint32_t k = 0; k < 100; ++k) {
      const std::uint32_t stream = 2 * (i * 100 + k) + 1;
      piece += CallOf("/muster.v1.JobService/ListJobs", stream, 0) +
               Frame(3, 0, stream, std::string("\0\0\0\x08", 4));
    }
    return piece;
  });
  ExpectServed();
}

TEST_F(GrpcFloods, Settings) {
  ExpectServed();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += Frame(4, 0, 0);
  Flood("too many SETTINGS", [&](std::uint32_t) { return many; });
  std::string long_ones;  // with as many entries as fit
  for (int i = 0; i < 10; ++i) long_ones += Frame(4, 0, 0, std::string(16'380, '\0'));
  Flood("too many SETTINGS", [&](std::uint32_t) { return long_ones; });
  ExpectServed();
}

TEST_F(GrpcFloods, Continuations) {
  ExpectServed();
  const std::string junk = std::string(1, '\0') + "\x01" + "x" + "\x7f";
  Flood("a block of headers is too long", [&](std::uint32_t i) {
    if (i == 0) return Frame(1, 0, 1, junk);
    return Frame(9, 0, 1, std::string(16'000, 'x'));
  });
  ExpectServed();
}

TEST_F(GrpcFloods, WatchesThatNobodyReadsLeaveRoomForOthers) {
  server_started_ = true;
  const auto unread = Unread(limits::kStreams);
  ExpectServed();
  // One connection has taken all places; another connection gets one of them.
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  auto reader = jobs_->WatchEvents(&context, v1::WatchEventsRequest());
  MustSubmit(JobText("seen"));
  v1::Event event;
  bool seen = false;
  while (!seen && reader->Read(&event)) seen = event.object().find("seen") != std::string::npos;
  EXPECT_TRUE(seen);
  context.TryCancel();
  reader->Finish();
  // The server does not wait for connections that do not read their events.
  Growth growth;
  for (int i = 0; i < 3; ++i) {
    v1::BatchSubmitJobsRequest batch;
    for (int k = 0; k < 300; ++k)
      batch.add_manifests(JobText("n" + std::to_string(i) + "-" + std::to_string(k)));
    grpc::ClientContext submit;
    v1::BatchSubmitJobsResponse answer;
    ASSERT_TRUE(jobs_->BatchSubmitJobs(&submit, batch, &answer).ok());
    growth.Look();
  }
  if (!kSanitized) {
    EXPECT_LT(growth.most_mb(), 3 * kGrownMostMb);
  }
  ExpectServed();
}

class GrpcCrowds : public GrpcFloods {
 protected:
  GrpcCrowds() : GrpcFloods(Small()) {}
  static api::front::FrontOptions Small() {
    api::front::FrontOptions options;
    options.max_connections = 50;
    options.max_streams = 200;
    options.preface_ms = 1000;
    return options;
  }
};

TEST_F(GrpcCrowds, SilentConnectionsMakeRoom) {
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 120; ++i) silent.push_back(std::make_unique<RawClient>(server_->port()));
  ExpectServed();
  EXPECT_TRUE(silent.front()->Closed());
  EXPECT_TRUE(silent.back()->Closed()) << "whoever says nothing at all is let go";
}

TEST_F(GrpcCrowds, OfTooManyOpenCallsTheConnectionWithTheMostGoes) {
  RawClient greedy(server_->port()), modest(server_->port());
  greedy.Send(Hello());
  modest.Send(Hello());
  // Calls whose request never arrives.
  for (std::uint32_t i = 0; i < 50; ++i)
    modest.Send(CallOf("/muster.v1.JobService/GetJob", 2 * i + 1, 0));
  for (std::uint32_t i = 0; i < 180; ++i)
    greedy.Send(CallOf("/muster.v1.JobService/GetJob", 2 * i + 1, 0));
  EXPECT_TRUE(ToldToGoAway(greedy, "too many calls are open"));
  ExpectServed();
  EXPECT_FALSE(modest.ReadUntil("too many calls are open", 200));
}

// A name service that does not answer before Open.
class Gate {
 public:
  void Pass(std::function<void()> then) {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    if (!open_) return waiting_.push_back(std::move(then));
    lock.unlock();
    then();
  }
  void WaitFor(int asked) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ >= asked; });
  }
  void Open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    const auto waiting = std::move(waiting_);
    lock.unlock();
    for (const auto& then : waiting) then();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> waiting_;
  int asked_ = 0;
  bool open_ = false;
};

class GrpcUnknownClients : public GrpcFloods {
 protected:
  explicit GrpcUnknownClients(std::shared_ptr<Gate> gate = std::make_shared<Gate>())
      : GrpcFloods(Behind(gate)), gate_(std::move(gate)) {}
  static api::front::FrontOptions Behind(const std::shared_ptr<Gate>& gate) {
    api::front::FrontOptions options;
    options.prepare = [gate](const net::Peer&, std::function<void()> ready) {
      gate->Pass(std::move(ready));
    };
    return options;
  }
  const std::shared_ptr<Gate> gate_;
};

TEST_F(GrpcUnknownClients, AreReadOnceTheyAreKnown_AndOneThatHasGoneHarmsNobody) {
  // gRPC's first frame: SETTINGS of the connection.
  const std::string settings("\x04\x00\x00\x00\x00\x00", 6);
  RawClient early(server_->port());
  early.Send(Hello());
  gate_->WaitFor(1);
  {
    RawClient gone(server_->port());
    gone.Send(Hello());
    gate_->WaitFor(2);
  }
  EXPECT_FALSE(early.ReadUntil(settings, 200));
  gate_->Open();
  EXPECT_TRUE(early.ReadUntil(settings));
  ExpectServed();
}

TEST_F(GrpcUnknownClients, ThatNeverBecomeKnownDoNotKeepTheServerFromStopping) {
  RawClient early(server_->port());
  gate_->WaitFor(1);
  server_->Stop();
  EXPECT_TRUE(early.Closed());
  gate_->Open();
}

}  // namespace
}  // namespace muster::test
