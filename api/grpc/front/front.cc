// The list of relays and the bounds on all of them together: connections, open calls, cancelled
// calls per second. Everything runs on one Asio thread; the acceptor's thread only posts to it.
//
// When a bound is exceeded the front cuts a relay: for connections the one that has been quiet
// longest and has no open call, for open calls the one with the most. A relay that cancels too much
// is not cut but read more slowly (PauseMs), since the budget for all relays may be used up by
// others. A relay that is cut lingers for two seconds so that its client can read the reason; at
// most kLingering do so at once.
#include "api/grpc/front/front.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "api/grpc/front/relay.h"
#include "api/net/acceptor.h"
#include "schedd/telemetry/log.h"

namespace muster::api::front {
namespace {

namespace asio = boost::asio;

// The kernel memory that a slow reader may hold.
constexpr int kSendBufferBytes = 256 << 10;
constexpr std::int64_t kTickMs = 1000;
// Connections that were cut and stay open so that their clients can read the reason.
constexpr int kLingering = 64;
// Cut connections are logged at most this often, so that a flood of them does not flood the log.
constexpr std::int64_t kLogEveryMs = 1000;

}  // namespace

struct Front::Impl final : RelayHost {
  Impl(SocketAdopter adopt_in, FrontOptions options_in)
      : adopt(std::move(adopt_in)),
        options(options_in),
        work(asio::make_work_guard(io)),
        ticker(io),
        acceptor([this](int fd) { asio::post(io, [this, fd] { OnSocket(fd); }); },
                 [this] { asio::post(io, [this] { MakeRoom(); }); }) {}

  // RelayHost.
  asio::io_context& context() override { return io; }
  std::int64_t PauseMs(std::size_t resets) override {
    const std::int64_t now = NowMs();
    if (resets > 0) reset_budget.Take(static_cast<double>(resets), now);
    return reset_budget.DebtMs(now);
  }
  void OnStreams(std::ptrdiff_t more) override {
    streams += more;
    if (streams <= static_cast<std::ptrdiff_t>(options.max_streams)) return;
    const auto busiest = std::max_element(
        relays.begin(), relays.end(),
        [](const auto& a, const auto& b) { return a->open_streams() < b->open_streams(); });
    if (busiest != relays.end()) Cut(**busiest, "too many calls are open");
  }
  // One log line for all connections that were cut since the last line.
  void OnCut(const std::string& why) override {
    ++cut_since_log;
    if (NowMs() < next_log) return;
    next_log = NowMs() + kLogEveryMs;
    Log(LogLevel::kWarning, "grpc", "connection_cut",
        {{"reason", why}, {"connections", std::int64_t{cut_since_log}}});
    cut_since_log = 0;
  }
  void OnLeft(Relay* relay) override {
    std::erase_if(relays, [relay](const auto& one) { return one.get() == relay; });
  }
  bool BeginLinger() override {
    if (stopping || lingering >= kLingering) return false;
    ++lingering;
    return true;
  }
  void EndLinger() override { --lingering; }

  void OnSocket(int fd);
  void MakeRoom();
  // Holds the relay while it leaves the list, which has the only other pointer to it.
  static void Cut(Relay& relay, const char* why) {
    const auto held = relay.shared_from_this();
    held->Cut(why);
  }
  void Tick();

  const SocketAdopter adopt;
  const FrontOptions options;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::steady_timer ticker;
  std::vector<std::shared_ptr<Relay>> relays;
  TokenBucket reset_budget{limits::kAllResetBurst, limits::kAllResetsPerS};
  std::ptrdiff_t streams = 0;
  std::int64_t next_log = 0;
  int cut_since_log = 0;
  int lingering = 0;
  bool stopping = false;
  net::Acceptor acceptor;
  std::thread thread;
};

// A new connection. Refused if there is no place even after MakeRoom.
void Front::Impl::OnSocket(int fd) {
  if (relays.size() >= options.max_connections) MakeRoom();
  int ends[2] = {-1, -1};
  if (stopping || relays.size() >= options.max_connections ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    ::close(fd);
    return;
  }
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  auto relay = std::make_shared<Relay>(*this, fd, ends[0]);
  relays.push_back(relay);
  adopt(ends[1]);
  relay->Begin();
}

// Cuts the connection that has been quiet longest among those without an open call; if all have
// calls, the one that has been quiet longest.
void Front::Impl::MakeRoom() {
  const auto before = [](const auto& a, const auto& b) {
    const bool idle_a = a->open_streams() == 0, idle_b = b->open_streams() == 0;
    return idle_a != idle_b ? idle_a : a->heard_ms() < b->heard_ms();
  };
  const auto quiet = std::min_element(relays.begin(), relays.end(), before);
  if (quiet != relays.end()) Cut(**quiet, "others need the connection's place");
}

void Front::Impl::Tick() {
  ticker.expires_after(std::chrono::milliseconds(kTickMs));
  ticker.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (const auto& relay : std::vector(relays))
      relay->OnTick(options.preface_ms, options.stall_ms);
    Tick();
  });
}

Front::Front(SocketAdopter adopt, FrontOptions options)
    : impl_(std::make_shared<Impl>(std::move(adopt), options)) {}
Front::~Front() { Stop(); }

Status Front::Start(const std::string& address, int port) {
  Status started = impl_->acceptor.Start(address, port);
  if (!started.ok()) return started;
  impl_->Tick();
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
  return started;
}

void Front::StopAccepting() {
  impl_->acceptor.Stop();
  asio::post(impl_->io, [impl = impl_.get()] { impl->stopping = true; });
}

void Front::Stop() {
  if (!impl_->thread.joinable()) return;
  impl_->acceptor.Stop();
  asio::post(impl_->io, [impl = impl_.get()] {
    impl->stopping = true;
    impl->ticker.cancel();
    for (const auto& relay : std::vector(impl->relays)) relay->Close();
    impl->io.stop();  // relays that still linger are destroyed with the io_context
  });
  impl_->thread.join();
}

int Front::port() const { return impl_->acceptor.port(); }

}  // namespace muster::api::front
