// Acceptor: a listening socket on a TCP address or on a Unix socket's path, and the thread that
// accepts from it. If the process has no descriptor left, it refuses the waiting clients and
// pauses; it never spins.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <thread>

#include "schedd/base/result.h"

namespace muster::net {

/// The address to bind for `host`: an address of 127.0.0.0/8, ::1 or localhost; "" for any other
/// host.
std::string LoopbackAddress(const std::string& host);

/// How many descriptors the process may have open.
int DescriptorLimit();

/// Start and Stop are called from one thread.
class Acceptor {
 public:
  /// Takes ownership of `fd`: connected, non-blocking, closed on exec. On the acceptor's thread;
  /// must not block.
  using SocketCallback = std::function<void(int fd)>;
  /// Clients wait and no descriptor is left: the owner should close idle connections. Called on the
  /// acceptor's thread.
  using FullCallback = std::function<void()>;

  Acceptor(SocketCallback on_socket, FullCallback on_full);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Binds `address` (from ListenAddress) and accepts. `port` 0: any free port. Errors: the
  /// address is in use.
  Status Start(const std::string& address, int port);
  /// Listens on a Unix socket at the absolute `path` with the permissions `mode`, and makes its
  /// directory (0755) if it is missing. A socket that nobody answers at is replaced. Errors:
  /// somebody answers there, the path is no socket, or it is longer than the kernel takes (107
  /// bytes). Stop removes the socket if it is still this one.
  Status StartUnix(const std::string& path, mode_t mode);
  /// Stops accepting and joins the thread. Idempotent.
  void Stop();
  /// The port bound, 0 before Start.
  int port() const { return port_; }

 private:
  /// Waits on `listener_`, which listens, from a thread of its own.
  Status Begin();
  void Run();
  /// Accepts one connection. False if no client waits, or if there is no descriptor for it.
  bool AcceptOne(bool* no_descriptor);
  /// Closes a few of the waiting connections, by means of the spare descriptor.
  void RefuseWaiting();

  const SocketCallback on_socket_;
  const FullCallback on_full_;
  int listener_ = -1, wake_ = -1, spare_ = -1;
  int port_ = 0;
  // Of the Unix socket, to know it again; "" for TCP.
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::thread thread_;
};

}  // namespace muster::net
