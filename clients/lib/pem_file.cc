#include "clients/lib/pem_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace muster::client {

Result<std::string> ReadPemFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return InvalidArgument(path + ": cannot be read: " + std::strerror(errno));
  return text.str();
}

}  // namespace muster::client
