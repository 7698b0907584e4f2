// The connection as Beast's synchronous algorithms see it: plain, or through TLS.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>
#include <memory>

#include "clients/lib/socket_stream.h"
#include "clients/lib/tls_client.h"

namespace muster::client {

/// Not thread-safe.
class WireStream {
 public:
  using ErrorCode = SocketStream::ErrorCode;

  explicit WireStream(int fd) : socket(fd) {}

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, ErrorCode& ec) {
    if (tls == nullptr) return socket.read_some(buffers, ec);
    const boost::asio::mutable_buffer part = *boost::asio::buffer_sequence_begin(buffers);
    return tls->Read(part.data(), part.size(), ec);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    ErrorCode ec;
    const std::size_t n = read_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }
  /// With TLS: of the first part that has bytes.
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, ErrorCode& ec) {
    if (tls == nullptr) return socket.write_some(buffers, ec);
    ec = {};
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers); ++it) {
      const boost::asio::const_buffer part(*it);
      if (part.size() > 0) return tls->Write(part.data(), part.size(), ec);
    }
    return 0;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    ErrorCode ec;
    const std::size_t n = write_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }

  SocketStream socket;
  std::unique_ptr<TlsStream> tls;  // null: plain; it uses `socket`
};

}  // namespace muster::client
