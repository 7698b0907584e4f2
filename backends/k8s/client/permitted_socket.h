// PermittedSocket: a TCP socket that asks for a permit right before each send.
//
// It is the layer below TLS. Encryption takes long enough for a thread to be stopped in it and to
// go on after the lead has ended; between the question here and the system call nothing is left to
// do. Asio's own send would also wait for room in the kernel and send without a new question.
//
// A layer of Asio (AsyncReadStream and AsyncWriteStream of its manual). Used on the strand only.
#pragma once

#include <boost/asio/append.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <utility>

#include "backends/k8s/client/strand_gate.h"

namespace muster::k8s {

using Endpoint = boost::asio::ip::tcp::endpoint;

class PermittedSocket {
 public:
  using ErrorCode = boost::system::error_code;
  using Tcp = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;
  using executor_type = Tcp::executor_type;
  using lowest_layer_type = Tcp::lowest_layer_type;

  explicit PermittedSocket(const Strand& strand) : tcp_(strand) {}

  /// The socket itself. It must be made non-blocking before the first write.
  Tcp& tcp() { return tcp_; }
  executor_type get_executor() { return tcp_.get_executor(); }
  lowest_layer_type& lowest_layer() { return tcp_.lowest_layer(); }

  /// From now on nothing is sent unless `may` is true; empty: everything may be sent.
  void Permit(std::function<bool()> may) { may_ = std::move(may); }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return tcp_.async_read_some(buffers, std::forward<Token>(token));
  }

  /// Ends with operation_aborted, and nothing sent, if there is no permit.
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_compose<Token, void(ErrorCode, std::size_t)>(
        Send<Buffers>{*this, buffers}, token, tcp_);
  }

 private:
  // One write: asked for and tried at once, and again whenever the kernel has room.
  template <typename Buffers>
  struct Send {
    PermittedSocket& socket;
    Buffers buffers;

    template <typename Self>
    void operator()(Self& self) {
      ErrorCode error = boost::asio::error::operation_aborted;
      std::size_t sent = 0;
      if (!socket.may_ || socket.may_()) sent = socket.tcp_.write_some(buffers, error);
      Tcp& tcp = socket.tcp_;
      if (error == boost::asio::error::would_block || error == boost::asio::error::try_again)
        return tcp.async_wait(Tcp::wait_write, std::move(self));
      // An asynchronous call may not end before it has returned.
      boost::asio::post(tcp.get_executor(), boost::asio::append(std::move(self), error, sent));
    }
    template <typename Self>
    void operator()(Self& self, ErrorCode error) {
      if (error) return self.complete(error, 0);
      (*this)(self);
    }
    template <typename Self>
    void operator()(Self& self, ErrorCode error, std::size_t sent) {
      self.complete(error, sent);
    }
  };

  Tcp tcp_;
  std::function<bool()> may_;
};

}  // namespace muster::k8s
