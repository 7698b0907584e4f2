// Acceptor: a listening socket on a loopback address, and the thread that accepts from it. With no
// descriptor left it refuses whoever waits and pauses; it never spins.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "schedd/base/result.h"

namespace muster::net {

/// The address to bind for `host`: an address of 127.0.0.0/8, ::1 or localhost; "" for any other.
std::string LoopbackAddress(const std::string& host);

/// How many descriptors the process may have open.
int DescriptorLimit();

class Acceptor {
 public:
  /// Takes ownership of `fd`: connected, non-blocking, closed on exec. On the acceptor's thread;
  /// must not block.
  using OnSocket = std::function<void(int fd)>;
  /// There is no descriptor for those who wait: let some go. On the acceptor's thread.
  using OnFull = std::function<void()>;

  Acceptor(OnSocket on_socket, OnFull on_full);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Binds `address` (of LoopbackAddress) and accepts. `port` 0: any free one. Errors: in use.
  Status Start(const std::string& address, int port);
  /// Accepts no more and joins its thread. Idempotent.
  void Stop();
  /// The port bound, 0 before Start.
  int port() const { return port_; }

 private:
  void Run();
  /// False: nobody waits, or there is no descriptor.
  bool AcceptOne(bool* no_descriptor);
  /// Closes a few of those who wait, by means of the spare descriptor.
  void RefuseWaiting();

  const OnSocket on_socket_;
  const OnFull on_full_;
  int listener_ = -1, wake_ = -1, spare_ = -1;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace muster::net
