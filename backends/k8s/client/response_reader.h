// ResponseReader: turns a connection's bytes into one HTTP/1.1 response (Boost.Beast's parser), as
// a whole or as it comes. No I/O; not thread-safe.
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
  /// A body of more than `max_body` bytes is refused. 0: any length, for streams that take the body
  /// as it comes.
  explicit ResponseReader(std::size_t max_body);
  ~ResponseReader();

  /// The next bytes. kUnavailable if they are not HTTP or too long: the connection must be closed.
  Status Feed(std::string_view bytes);
  /// The peer sends no more, which may be the regular end of the body.
  Status FeedEnd();
  bool head_done() const;
  bool done() const;
  int status() const;
  std::int64_t retry_after_ms() const;
  bool keep_alive() const;
  /// The body that has come since the last call.
  std::string TakeBody();

 private:
  struct Parser;
  void Begin();
  Result<std::size_t> Parse(std::string_view bytes);

  const std::size_t max_body_;
  std::unique_ptr<Parser> parser_;
  // An incomplete piece of syntax that is parsed again with the bytes that follow.
  std::string unread_;
};

}  // namespace muster::k8s
