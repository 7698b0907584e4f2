// The inside of a FakeMember: state under one mutex, sockets on one thread.
#pragma once

#include <boost/asio.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "tests/support/fake_member/fake_member.h"
#include "tests/support/fake_member/rights.h"

namespace muster::fake {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

struct Loop::Impl {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::thread thread{[this] { io.run(); }};
  /// Waits until nothing is under way; nothing can be begun after that.
  void Finish();
};

/// A connection; its methods run on the loop's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Answer(const fake::Answer& answer) = 0;
  virtual void Watch(WatchOrder order, const Fault* fault) = 0;
  virtual void Log(LogOrder order) = 0;
  /// Breaks with a reset, or ends in order.
  virtual void Break() = 0;
};
using ConnectionPtr = std::shared_ptr<Connection>;

/// A long answer, told of what happens. Called with the mutex held, by whatever thread.
class Stream : public Watcher {
 public:
  virtual void Close() = 0;
  virtual void Bookmark() {}
  /// May have something to say since time has passed or a log has grown.
  virtual void Nudge() = 0;
};

struct FakeMember::Impl : std::enable_shared_from_this<FakeMember::Impl> {
  /// `options` without its loop: what runs on the loop must not own it.
  Impl(FakeMember* face, FakeMemberOptions options, Loop::Impl& loop);

  // Listening and connections.
  void Listen();
  void Accept();
  void StopListening();
  void BreakAll();
  /// Ends everything that the loop does for this member.
  void Shutdown();

  // Requests, from connections, on the loop's thread.
  void Serve(const ConnectionPtr& connection, Request request);
  void Obey(const ConnectionPtr& connection, const Request& request, const Route& route,
            const Fault& fault);
  /// Does it; the answer of what is neither watch nor log.
  Answer Do(const Request& request, const Route& route, const Fault* mutation = nullptr);
  void DoAndAnswer(const ConnectionPtr& connection, const Request& request, const Route& route,
                   const Fault* fault);
  void After(std::int64_t ms, std::function<void()> then);
  Answer Control(const Request& request, const Route& route);
  bool Command(const std::string& command, const json::object& body, std::string* why);

  // With the mutex held.
  void SettleAndArm();
  void Arm();
  Answer CallLocked(const Request& request, Writer who);
  void NudgeLogs();
  void CloseStreams();

  FakeMember* const face;
  const FakeMemberOptions options;
  Loop::Impl& loop;
  mutable std::recursive_mutex mutex;
  std::int64_t skew_ms = 0, start_ms = 0;
  Cluster cluster;
  Api api;
  Faults faults;
  Rights rights;
  std::string token;
  bool paused = false;
  std::deque<std::pair<ConnectionPtr, Request>> waiting;
  std::vector<ConnectionPtr> hung;  // never answered
  std::map<std::string, ObjectStore::Snapshot> saved;
  std::set<Stream*> streams;
  std::set<std::weak_ptr<Connection>, std::owner_less<>> connections;
  int port = 0;
  std::unique_ptr<Tcp::acceptor> acceptor;
  /// Keeps the port while nothing listens: another program would be taken for this member.
  std::unique_ptr<Tcp::acceptor> reserved;
  std::unique_ptr<asio::steady_timer> timer;
  std::int64_t armed_ms = -1;
  std::set<std::shared_ptr<asio::steady_timer>> delays;
  bool over = false;
};

/// A connection that reads requests and hands them to the member until it ends.
void StartSession(std::shared_ptr<FakeMember::Impl> member, Tcp::socket socket);

}  // namespace muster::fake
