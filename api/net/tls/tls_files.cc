// A change is seen by the times, size and inode of a file, also through a symbolic link, as
// certificate managers replace files. The stamps are taken before the files are read: a file that
// is replaced meanwhile is read again at the next Refresh. If certificate and key are replaced one
// after the other, the first read may find a pair that does not fit; it is reported, and the change
// of the second file mends it. What no stamp shows, such as a process without a free descriptor, is
// mended by reading again: a new list of revocations must not be missed for ever.
#include "api/net/tls/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace muster::net {
namespace {

// Certificates and keys are a few kilobytes; lists of revoked certificates may grow.
constexpr std::size_t kPemBytes = 16 << 20;

// The content of a file, which `key` names in sentences. `secret`: group and others may have no
// right to it. The mode is that of the open file, so it cannot be exchanged in between.
Result<std::string> ReadPem(const std::string& key, const std::string& path, bool secret) {
  const auto failed = [&](const std::string& why) {
    return InvalidArgument(key + ": " + path + " " + why);
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(std::string("cannot be read: ") + std::strerror(errno));
  struct stat info {};
  std::string text;
  char piece[16 << 10];
  ssize_t n = 0;
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  while (regular && text.size() <= kPemBytes && (n = ::read(fd, piece, sizeof piece)) > 0)
    text.append(piece, static_cast<std::size_t>(n));
  ::close(fd);
  if (!regular) return failed("is not a file");
  if (n < 0) return failed("cannot be read");
  if (text.size() > kPemBytes) return failed("is over 16 MiB");
  if (secret && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return failed("may be accessed by others than its owner; run chmod 600 on it");
  return text;
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::shared_ptr<TlsFiles>> TlsFiles::Load(TlsPaths paths, Report report) {
  const std::shared_ptr<TlsFiles> made(new TlsFiles(std::move(paths), std::move(report)));
  const MutexLock alone(made->refresh_);
  made->seen_ = made->Look();
  auto context = made->Read();
  if (!context.ok()) return context.error();
  const MutexLock lock(made->mutex_);
  made->current_ = std::move(context).value();
  return made;
}

TlsContextPtr TlsFiles::Current() const {
  const MutexLock lock(mutex_);
  return current_;
}

void TlsFiles::Refresh() {
  const MutexLock one_at_a_time(refresh_);
  const Stamps now = Look();
  const bool changed = now != seen_;
  if (!changed && problem_.empty()) return;
  seen_ = now;
  auto context = Read();
  const std::string problem = context.ok() ? "" : context.error().detail;
  const bool known = !changed && problem == problem_;
  problem_ = problem;
  if (known) return;
  if (context.ok()) {
    const MutexLock lock(mutex_);
    current_ = *context;
  }
  if (report_) report_(context);
}

TlsFiles::Stamps TlsFiles::Look() const {
  Stamps out;
  std::size_t at = 0;
  for (const std::string* path :
       {&paths_.certificate, &paths_.key, &paths_.client_ca, &paths_.client_crl}) {
    struct stat info {};
    Stamp& stamp = out[at++];
    if (path->empty() || ::stat(path->c_str(), &info) != 0) continue;
    stamp = {Nanoseconds(info.st_ctim), Nanoseconds(info.st_mtim), std::int64_t{info.st_size},
             info.st_ino};
  }
  return out;
}

Result<TlsContextPtr> TlsFiles::Read() const {
  struct Part {
    const char* key;
    const std::string& path;
    bool secret;
    std::string TlsMaterial::*into;
  };
  const Part parts[] = {
      {"tls-cert", paths_.certificate, false, &TlsMaterial::certificate_pem},
      {"tls-key", paths_.key, true, &TlsMaterial::key_pem},
      {"client-ca", paths_.client_ca, false, &TlsMaterial::client_ca_pem},
      {"client-crl", paths_.client_crl, false, &TlsMaterial::client_crl_pem},
  };
  TlsMaterial material;
  material.names = paths_.names;
  for (const Part& part : parts) {
    if (part.path.empty()) continue;
    auto text = ReadPem(part.key, part.path, part.secret);
    if (!text.ok()) return text.error();
    // A file that has become empty must not switch its check off.
    if (text->empty())
      return InvalidArgument(std::string(part.key) + ": " + part.path + " is empty");
    material.*part.into = std::move(text).value();
  }
  return TlsContext::Make(material);
}

}  // namespace muster::net
