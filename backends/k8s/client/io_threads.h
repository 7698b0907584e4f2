// IoThreads: the threads that all members' clients do their I/O on. Two serve hundreds of members:
// nothing on them blocks.
#pragma once

#include <memory>

namespace boost::asio {
class io_context;
}

namespace muster::k8s {

/// Thread-safe. Must outlive every client made with it; the destructor drops what is queued and
/// joins.
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
