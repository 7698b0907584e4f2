// A small HTTP server on loopback for tests of the clients: it gives scripted answers and records
// the requests.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace muster::testing {

struct FakeRequest {
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
  /// The value of a header by its lower-case name; "" if absent.
  std::string Header(const std::string& name) const;
};

struct FakeAnswer {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::string extra_headers = {};  // complete lines
  bool close = false;              // close the connection after it
  bool drop = false;               // close the connection instead of answering
  bool stream =
      false;  // chunked: the body as one chunk, then the stream stays open until the server stops
};

/// Listens on a free port from its construction to its destruction.
class FakeServer {
 public:
  using Handler = std::function<FakeAnswer(const FakeRequest&)>;
  explicit FakeServer(Handler handler);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<FakeRequest> requests() const;

 private:
  void AcceptLoop();
  void Serve(int fd);

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<FakeRequest> requests_;
  std::vector<int> open_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

/// A port on which no process listens, and no process can while this object lives.
class ClosedPort {
 public:
  ClosedPort();
  ~ClosedPort();
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  int port() const { return port_; }

 private:
  int port_ = 0;
  const int fd_;
};

/// A port at which connections are accepted and nothing is ever answered, as by a process that is
/// stopped.
class SilentPort {
 public:
  SilentPort();
  ~SilentPort();
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  int port() const { return port_; }

 private:
  int port_ = 0;
  const int fd_;
};

/// A 4xx/5xx answer as problem+json.
FakeAnswer Problem(int status, const std::string& detail, const std::string& field = "");

/// Sets an environment variable for the life of the object; "" unsets it.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value);
  ~ScopedEnv();
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  std::string name_, old_;
  bool had_ = false;
};

/// The exit status and the output of a command.
struct CommandResult {
  int exit = 0;
  std::string out, err;
};
/// Calls `run` with stdout and stderr captured.
CommandResult Capture(const std::function<int()>& run);

}  // namespace muster::testing
