// The only source of the daemon that sees libmunge. A context is used by one thread, so each call
// has its own.
#include "api/auth/munge/munge_decoder.h"

#include <munge.h>

#include <cstdlib>

namespace muster::auth {
namespace {

class LibmungeDecoder final : public MungeDecoder {
 public:
  explicit LibmungeDecoder(std::string socket) : socket_(std::move(socket)) {}

  Result<DecodedCredential> Decode(const std::string& credential) override {
    const std::unique_ptr<munge_ctx, decltype(&munge_ctx_destroy)> context(munge_ctx_create(),
                                                                           &munge_ctx_destroy);
    if (context == nullptr) return Unavailable("munge gives no context");
    if (!socket_.empty() &&
        munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str()) != EMUNGE_SUCCESS) {
      return Unavailable("munge does not take the path of its socket");
    }
    void* payload = nullptr;
    int size = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
    const munge_err_t code =
        munge_decode(credential.c_str(), context.get(), &payload, &size, &uid, &gid);
    // libmunge gives the payload of some credentials that it refuses, too.
    const std::unique_ptr<void, decltype(&std::free)> owned(payload, &std::free);
    if (code != EMUNGE_SUCCESS) return Refusal(code);
    DecodedCredential out{uid, {}, 0};
    if (payload != nullptr && size > 0) {
      out.payload.assign(static_cast<const char*>(payload), static_cast<std::size_t>(size));
    }
    time_t encoded = 0;
    int ttl = 0;
    if (munge_ctx_get(context.get(), MUNGE_OPT_ENCODE_TIME, &encoded) != EMUNGE_SUCCESS ||
        munge_ctx_get(context.get(), MUNGE_OPT_TTL, &ttl) != EMUNGE_SUCCESS) {
      return Unavailable("munge does not say when the credential was made");
    }
    out.expires_s = std::int64_t{encoded} + ttl;
    return out;
  }

 private:
  // Which errors are the credential's fault, and which are munged's.
  static Error Refusal(munge_err_t code) {
    switch (code) {
      case EMUNGE_BAD_CRED:
      case EMUNGE_BAD_VERSION:
      case EMUNGE_BAD_CIPHER:
      case EMUNGE_BAD_MAC:
      case EMUNGE_BAD_ZIP:
      case EMUNGE_BAD_REALM:
      case EMUNGE_BAD_LENGTH:
      case EMUNGE_CRED_INVALID:
      case EMUNGE_CRED_EXPIRED:
      case EMUNGE_CRED_REWOUND:
      case EMUNGE_CRED_REPLAYED:
      case EMUNGE_CRED_UNAUTHORIZED:
        return {Code::kUnauthenticated,
                std::string("munge refused the credential: ") + munge_strerror(code)};
      default:
        return Unavailable(std::string("munge cannot check the credential now: ") +
                           munge_strerror(code));
    }
  }

  const std::string socket_;
};

}  // namespace

std::unique_ptr<MungeDecoder> NewMungeDecoder(std::string socket) {
  return std::make_unique<LibmungeDecoder>(std::move(socket));
}

}  // namespace muster::auth
