// MungeDecoder: the local munged, as far as this room needs it. One implementation asks it
// (libmunge), tests have their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schedd/base/result.h"

namespace muster::auth {

/// What munged says of a credential.
struct DecodedCredential {
  std::uint32_t uid = 0;  // of the process that made it
  std::string payload;
  std::int64_t expires_s = 0;  // seconds since 1970
};

/// Thread-safe.
class MungeDecoder {
 public:
  virtual ~MungeDecoder() = default;
  /// Blocks while munged works: some 0.1 ms, and up to about ten seconds if munged does not answer
  /// (libmunge sets that time and has no option for it). kUnauthenticated: munged refuses the
  /// credential, also because it has seen it before. kUnavailable: munged does not answer.
  virtual Result<DecodedCredential> Decode(const std::string& credential) = 0;
};

/// Asks the munged that listens on `socket`; "": the default socket.
std::unique_ptr<MungeDecoder> NewMungeDecoder(std::string socket);

}  // namespace muster::auth
