// TestServer: an HTTP server on loopback that answers as a test says, with TLS or without, with a
// thread for each connection.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/k8s_client/test_certificates.h"

namespace muster::k8s::test {

struct SeenRequest {
  std::string method, target, authorization, content_type, body, host;
  int connection = 0;          // from 1, in the order of being accepted
  std::string client_subject;  // of its certificate; "" without one
};

/// Writes the body of a streamed answer; false once the client has gone.
using WriteBody = std::function<bool(const std::string& bytes)>;

struct Reply {
  int status = 200;
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool drop = false;          // close without an answer
  bool close_after = false;   // close although it was kept alive
  std::size_t cut_after = 0;  // > 0: close after so many bytes of the answer
  /// The body, chunk by chunk; the answer ends in order when it returns true, else it is cut off.
  std::function<bool(const WriteBody& write)> stream = {};
};

struct TlsOptions {
  Identity identity;
  std::string client_ca_pem;  // "": asks for no client certificate
  bool requires_client = false;
};

class TestServer {
 public:
  using Handler = std::function<Reply(const SeenRequest&)>;
  explicit TestServer(Handler handler, std::optional<TlsOptions> tls = std::nullopt, int port = 0);
  /// Cuts every connection. What a handler waits for must have been let go.
  ~TestServer();
  int port() const;
  std::string url() const;
  std::vector<SeenRequest> seen() const;
  std::size_t count() const { return seen().size(); }
  int accepted() const;  // connections so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A door that handlers wait at.
class Latch {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace muster::k8s::test
