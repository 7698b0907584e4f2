// ResponseReader: turns a connection's bytes into one HTTP/1.1 response (Boost.Beast's parser), in
// whole or as it comes. No I/O; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::k8s {

class ResponseReader {
 public:
  /// `max_body`: a longer one is refused (0: any length, for streams that take it as it comes).
  explicit ResponseReader(std::size_t max_body);
  ~ResponseReader();

  /// The next bytes. kUnavailable if they are not HTTP or too long: the connection is of no more
  /// use.
  Status Feed(std::string_view bytes);
  /// The peer sends no more: that may be the body's regular end.
  Status FeedEnd();
  bool head_done() const;
  bool done() const;
  int status() const;
  std::int64_t retry_after_ms() const;
  bool keep_alive() const;
  /// The body so far, since the last call.
  std::string TakeBody();

 private:
  struct Parser;
  void Begin();
  Result<std::size_t> Parse(std::string_view bytes);

  const std::size_t max_body_;
  std::unique_ptr<Parser> parser_;
  std::string unread_;  // an incomplete piece of syntax, to be read again with what follows
};

}  // namespace muster::k8s
