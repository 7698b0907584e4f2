#include "backends/k8s/client/io_threads.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>
#include <vector>

namespace muster::k8s {

struct IoThreads::Impl {
  explicit Impl(int count) : context(count), work(context.get_executor()) {
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { context.run(); });
  }
  ~Impl() {
    context.stop();
    threads.clear();  // joins
  }
  boost::asio::io_context context;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::vector<std::jthread> threads;
};

IoThreads::IoThreads(int threads) : impl_(std::make_unique<Impl>(threads)) {}
IoThreads::~IoThreads() = default;
boost::asio::io_context& IoThreads::context() { return impl_->context; }

}  // namespace muster::k8s
