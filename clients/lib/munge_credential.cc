// The only source of the clients that sees libmunge.
#include "clients/lib/munge_credential.h"

#include <munge.h>

#include <cstdlib>
#include <memory>

#include "schedd/text/request_digest.h"

namespace muster::client {

Result<std::string> MungeAuthorization(std::string_view method, std::string_view target,
                                       std::string_view body, const std::string& socket) {
  const std::unique_ptr<munge_ctx, decltype(&munge_ctx_destroy)> context(munge_ctx_create(),
                                                                         &munge_ctx_destroy);
  if (context == nullptr) return Internal("munge gives no context");
  if (!socket.empty() &&
      munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS) {
    return InvalidArgument("munge does not take the socket " + socket);
  }
  const std::string digest = RequestDigest(method, target, body);
  char* credential = nullptr;
  const munge_err_t code =
      munge_encode(&credential, context.get(), digest.data(), static_cast<int>(digest.size()));
  const std::unique_ptr<char, decltype(&std::free)> owned(credential, &std::free);
  if (code == EMUNGE_SUCCESS) return "Munge " + std::string(credential);
  const char* why = munge_ctx_strerror(context.get());
  return Unavailable(std::string("munge gives no credential: ") +
                     (why == nullptr ? munge_strerror(code) : why));
}

}  // namespace muster::client
