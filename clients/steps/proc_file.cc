#include "clients/steps/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "clients/steps/descriptor.h"

namespace muster::steps {

std::string ReadProc(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char buffer[16 << 10];
  while (file && out.size() < (4u << 20)) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

}  // namespace muster::steps
