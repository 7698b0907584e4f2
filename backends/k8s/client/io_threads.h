// IoThreads: the threads on which the clients of all members do their I/O. Two of them serve
// hundreds of members, because no callback on them blocks.
#pragma once

#include <memory>

namespace boost::asio {
class io_context;
}

namespace muster::k8s {

/// Thread-safe. Must outlive every client made with it. The destructor drops queued work and joins.
class IoThreads {
 public:
  explicit IoThreads(int threads = 2);
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;
  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::k8s
