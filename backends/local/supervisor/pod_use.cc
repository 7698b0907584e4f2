// The numbers of rusage count blocks of 512 bytes and kilobytes.
#include "backends/local/supervisor/pod_use.h"

#include <algorithm>

#include "backends/local/process/process_tree.h"

namespace muster::local {
namespace {

constexpr std::int64_t kBlockBytes = 512, kKilobyte = 1024;

std::int64_t Micros(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

// Adds a number that may be unknown (-1) to a sum that may be.
void AddKnown(std::int64_t more, std::int64_t* sum) {
  if (more >= 0) *sum = std::max<std::int64_t>(*sum, 0) + more;
}

std::int64_t Known(std::int64_t number, std::int64_t otherwise) {
  return number >= 0 ? number : otherwise;
}

}  // namespace

void PodUse::AddReaped(const rusage& usage) {
  user_us_ += Micros(usage.ru_utime);
  system_us_ += Micros(usage.ru_stime);
  peak_bytes_ = std::max<std::int64_t>(peak_bytes_, usage.ru_maxrss * kKilobyte);
  read_bytes_ += usage.ru_inblock * kBlockBytes;
  written_bytes_ += usage.ru_oublock * kBlockBytes;
}

void PodUse::Sample(pid_t root) {
  std::int64_t sum = 0;
  for (const pid_t pid : Descendants(root)) sum += ResidentBytes(pid);
  peak_bytes_ = std::max(peak_bytes_, sum);
}

void PodUse::TakeFrom(const PodCgroups& groups, const std::vector<std::string>& containers) {
  for (const std::string& container : containers) {
    const PodCgroups::Use one = groups.Used(container);
    AddKnown(one.user_cpu_us, &groups_.user_cpu_us);
    AddKnown(one.system_cpu_us, &groups_.system_cpu_us);
    AddKnown(one.memory_peak_bytes, &groups_.memory_peak_bytes);
    AddKnown(one.read_bytes, &groups_.read_bytes);
    AddKnown(one.written_bytes, &groups_.written_bytes);
  }
}

boost::json::object PodUse::ToJson() const {
  return {{"userCpuUs", Known(groups_.user_cpu_us, user_us_)},
          {"systemCpuUs", Known(groups_.system_cpu_us, system_us_)},
          {"maxRssBytes", Known(groups_.memory_peak_bytes, peak_bytes_)},
          {"readBytes", Known(groups_.read_bytes, read_bytes_)},
          {"writtenBytes", Known(groups_.written_bytes, written_bytes_)}};
}

}  // namespace muster::local
