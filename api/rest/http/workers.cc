// Four Asio thread pools: one thread that writes, several that may block on the store, several that
// may wait for members, and one of low priority that looks at all jobs. PostWriter has a queue in
// front of Asio: only the task that finds it empty wakes the writer, which then takes the whole
// queue.
#include "api/rest/http/workers.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "schedd/base/mutex.h"

namespace muster::rest {

namespace asio = boost::asio;

namespace {

// Of the thread of tables, on Linux a value of each thread: it gets a tenth of what others get when
// all want the processor.
constexpr int kTableNice = 10;
// It is not protected from threads that wake for longer than this: the kernel's shortest slice
// (since Linux 6.12; earlier ones ignore it). With the usual one of about 3 ms each step of a
// submission could wait as long for a table.
constexpr std::uint64_t kTableSliceNs = 100'000;

// The kernel's struct sched_attr (sched_setattr(2)). The C library has none, and the kernel's own
// header cannot be included beside sched.h.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_BATCH;
  std::uint64_t flags = 0;
  std::int32_t nice = kTableNice;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = kTableSliceNs, deadline_ns = 0, period_ns = 0;
};

// Of the calling thread.
void StayBehindOthers() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
    ::setpriority(PRIO_PROCESS, 0, kTableNice);
}

}  // namespace

struct Workers::Impl {
  Impl(int pool_threads, int member_threads)
      : pool(std::make_unique<asio::thread_pool>(static_cast<std::size_t>(pool_threads))),
        member(std::make_unique<asio::thread_pool>(static_cast<std::size_t>(member_threads))),
        table(std::make_unique<asio::thread_pool>(1)),
        writer(std::make_unique<asio::thread_pool>(1)) {
    asio::post(*table, StayBehindOthers);
  }
  Mutex mutex;
  // Null once stopped: destroying the pools destroys the tasks that never ran.
  std::unique_ptr<asio::thread_pool> pool MUSTER_GUARDED_BY(mutex);
  std::unique_ptr<asio::thread_pool> member MUSTER_GUARDED_BY(mutex);
  std::unique_ptr<asio::thread_pool> table MUSTER_GUARDED_BY(mutex);
  std::unique_ptr<asio::thread_pool> writer MUSTER_GUARDED_BY(mutex);
  bool stopped MUSTER_GUARDED_BY(mutex) = false;
  std::vector<Task> queue MUSTER_GUARDED_BY(mutex);  // tasks of the writer

  // Runs all queued tasks, without the lock.
  void Drain() {
    std::vector<Task> tasks;
    {
      const MutexLock lock(mutex);
      tasks.swap(queue);
    }
    for (Task& task : tasks) {
      task();
      task = nullptr;
    }
  }
};

Workers::Workers(int pool_threads, int member_threads)
    : impl_(std::make_unique<Impl>(pool_threads, member_threads)) {}
Workers::~Workers() { Stop(); }

void Workers::Post(Task task) {
  const MutexLock lock(impl_->mutex);
  if (!impl_->stopped) asio::post(*impl_->pool, std::move(task));
}

void Workers::PostMember(Task task) {
  const MutexLock lock(impl_->mutex);
  if (!impl_->stopped) asio::post(*impl_->member, std::move(task));
}

void Workers::PostTable(Task task) {
  const MutexLock lock(impl_->mutex);
  if (!impl_->stopped) asio::post(*impl_->table, std::move(task));
}

void Workers::PostWriter(Task task) {
  const MutexLock lock(impl_->mutex);
  if (impl_->stopped) return;
  // With tasks in the queue the writer has been woken already.
  const bool wake = impl_->queue.empty();
  impl_->queue.push_back(std::move(task));
  if (wake) asio::post(*impl_->writer, [impl = impl_.get()] { impl->Drain(); });
}

void Workers::After(std::int64_t delay_ms, Task task) {
  const MutexLock lock(impl_->mutex);
  if (impl_->stopped) return;
  auto timer =
      std::make_shared<asio::steady_timer>(*impl_->writer, std::chrono::milliseconds(delay_ms));
  timer->async_wait([timer, task = std::move(task)](const boost::system::error_code& error) {
    if (!error) task();
  });
}

void Workers::Stop() {
  {
    const MutexLock lock(impl_->mutex);
    if (impl_->stopped) return;
    impl_->stopped = true;
  }
  const auto pools = {&impl_->pool, &impl_->member, &impl_->table, &impl_->writer};
  for (auto* pool : pools) (*pool)->stop();
  for (auto* pool : pools) (*pool)->join();
  for (auto* pool : pools) pool->reset();
  // Tasks are destroyed without the lock, since their destructors may post further ones.
  std::vector<Task> dropped;
  const MutexLock lock(impl_->mutex);
  dropped.swap(impl_->queue);
}

std::int64_t Workers::NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             asio::steady_timer::clock_type::now().time_since_epoch())
      .count();
}

struct Workers::Writable::Impl {
  explicit Impl(asio::thread_pool& pool) : descriptor(pool) {}
  asio::posix::stream_descriptor descriptor;
};

Workers::Writable::Writable(Workers& workers)
    : impl_(std::make_unique<Impl>(*workers.impl_->writer)) {}
Workers::Writable::~Writable() { Cancel(); }

void Workers::Writable::Wait(int fd, Task ready) {
  Cancel();
  impl_->descriptor.assign(fd);
  impl_->descriptor.async_wait(asio::posix::stream_descriptor::wait_write,
                               [ready = std::move(ready)](const boost::system::error_code& error) {
    if (!error) ready();
  });
}

// The descriptor is registered only while the socket is full. If it stayed registered, this loop
// would wake at every byte that Pistache reads from the same socket.
void Workers::Writable::Cancel() {
  if (impl_->descriptor.is_open()) impl_->descriptor.release();
}

}  // namespace muster::rest
