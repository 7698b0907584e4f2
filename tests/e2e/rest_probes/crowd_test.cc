// Probes: more connections than there is room for. Idle ones make room, the oldest first, so that
// whoever comes is answered; without a descriptor the server refuses and does not spin.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "schedd/base/limits.h"
#include "tests/e2e/rest_probes/probe_server.h"
#include "tests/e2e/rest_probes/raw_client.h"

namespace muster::rest_probes {
namespace {

const std::string kHost = "Host: localhost:1\r\n";
std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\n" + kHost + "\r\n";
}
using Clients = std::vector<std::unique_ptr<RawClient>>;

// Whether a new client gets an answer, and its status (0: none).
int StatusOfANewClient(int port) {
  RawClient client(port);
  client.Send(Get("/hello"));
  return client.Read().status;
}

TEST(CrowdProbes, IdleConnectionsMakeRoomTheOldestFirst) {
  // A client may have its answer before the thread that wrote it has left the connection. With one
  // such thread, an answer to a later client says that the earlier connections are idle.
  ProbeServer server(10, 0, 1);
  ASSERT_TRUE(server.Start().ok());
  Clients clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->Send(Get("/hello"));
    ASSERT_EQ(clients.back()->Read().status, 200);
  }
  clients[0]->Send(Get("/hello"));  // of use again: now the second is the longest idle
  ASSERT_EQ(clients[0]->Read().status, 200);
  EXPECT_EQ(StatusOfANewClient(server.port()), 200);
  EXPECT_TRUE(clients[1]->Closed());
  clients[0]->Send(Get("/hello"));
  EXPECT_EQ(clients[0]->Read().status, 200);
}

TEST(CrowdProbes, ConnectionsInUseAreKeptAndTheNewOneIsToldToComeAgain) {
  ProbeServer server(10);
  ASSERT_TRUE(server.Start().ok());
  Clients busy;
  for (int i = 0; i < 10; ++i) {
    busy.push_back(std::make_unique<RawClient>(server.port()));
    busy.back()->Send("POST /never HTTP/1.1\r\n" + kHost + "Content-Length: 0\r\n\r\n");
  }
  while (server.Kept().size() < 10) std::this_thread::yield();
  RawClient eleventh(server.port());
  const Answer refused = eleventh.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(refused.body.back(), '}') << "the length is right: " << refused.body;
  EXPECT_TRUE(eleventh.Closed());
  for (const auto& responder : server.Kept()) responder([] { return rest::Response{}; });
  for (const auto& client : busy) EXPECT_EQ(client->Read().status, 200);
  EXPECT_EQ(StatusOfANewClient(server.port()), 200);
}

TEST(CrowdProbes, FiveThousandSilentConnectionsLeaveAnAnswerForEverybody) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  {
    // Each takes a descriptor here and two there.
    const auto affordable = static_cast<std::size_t>((raised.rlim_cur - 256) / 3);
    const std::size_t crowd = std::min<std::size_t>(5000, affordable);
    ProbeServer server(static_cast<int>(crowd * 4 / 5));
    ASSERT_TRUE(server.Start().ok());
    Clients silent;
    for (std::size_t i = 0; i < crowd; ++i) {
      silent.push_back(std::make_unique<RawClient>(server.port()));
      if (i % 1000 != 999) continue;
      EXPECT_EQ(StatusOfANewClient(server.port()), 200) << i;
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(StatusOfANewClient(server.port()), 200);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// What earlier tests left open may lie anywhere.
int HighestDescriptor() {
  int highest = 0;
  for (int fd = 0; fd < 65'536; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) highest = fd;
  }
  return highest;
}

TEST(CrowdProbes, NearTheDescriptorLimitIdleConnectionsMakeRoomToo) {
  const int highest = HighestDescriptor();
  std::vector<int> fill;
  do fill.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  while (fill.back() >= 0 && fill.back() < highest);
  // The server keeps a quarter for everything else, at most kReservedDescriptors.
  const int for_clients = highest + 150;
  ProbeServer server(4096, for_clients + std::min(for_clients / 3, limits::kReservedDescriptors));
  ASSERT_TRUE(server.Start().ok());
  Clients silent;
  // Each takes a descriptor here and two there: more than there are for clients.
  for (int i = 0; i < 60; ++i) silent.push_back(std::make_unique<RawClient>(server.port()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(StatusOfANewClient(server.port()), 200);
  EXPECT_TRUE(silent.front()->Closed());
  for (const int fd : fill) ::close(fd);
}

double CpuSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

TEST(CrowdProbes, WithoutADescriptorItRefusesAndDoesNotSpin) {
  ProbeServer server;
  ASSERT_TRUE(server.Start().ok());
  EXPECT_EQ(StatusOfANewClient(server.port()), 200);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(HighestDescriptor()) + 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<int> fill;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY))
    fill.push_back(fd);
  ASSERT_FALSE(fill.empty());
  {
    ::close(fill.back());
    fill.pop_back();
    RawClient client(server.port());  // takes the last one
    const double used = CpuSeconds();
    EXPECT_TRUE(client.Closed()) << "whoever waits is refused at once";
    ::close(fill.back());
    fill.pop_back();
    RawClient other(server.port());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(CpuSeconds() - used, 0.5) << "a spinning thread takes a core";
    EXPECT_TRUE(other.Closed());
  }
  for (const int fd : fill) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(StatusOfANewClient(server.port()), 200);
}

}  // namespace
}  // namespace muster::rest_probes
