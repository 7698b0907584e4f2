// PermittedSocket: over a real connection on loopback.
#include "backends/k8s/client/permitted_socket.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <vector>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s {
namespace {

namespace asio = boost::asio;

class PermittedSocketTest : public ::testing::Test {
 protected:
  PermittedSocketTest() {
    socket_.tcp().connect(acceptor_.local_endpoint());
    socket_.tcp().non_blocking(true);
    acceptor_.accept(peer_);
    peer_.non_blocking(true);
  }
  // Writes all of it; the outcome is in error_ and sent_ once ended_.
  void Write() {
    asio::async_write(socket_, asio::buffer(bytes_),
                      [this](PermittedSocket::ErrorCode error, std::size_t sent) {
      ended_ = true;
      error_ = error;
      sent_ = sent;
    });
  }
  // How many bytes have come so far.
  std::size_t Receive() {
    std::vector<char> room(1 << 16);
    PermittedSocket::ErrorCode error;
    while (const std::size_t came = peer_.read_some(asio::buffer(room), error)) received_ += came;
    return received_;
  }

  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  asio::ip::tcp::socket peer_{context_};
  PermittedSocket socket_{asio::make_strand(context_)};
  // More than the kernel takes at once.
  std::string bytes_ = std::string(32 << 20, 'x');
  bool ended_ = false;
  PermittedSocket::ErrorCode error_;
  std::size_t sent_ = 0, received_ = 0;
};

TEST_F(PermittedSocketTest, WithAPermitEverythingIsSentHoweverSlowlyItIsRead) {
  int asked = 0;
  socket_.Permit([&asked] { return ++asked > 0; });
  Write();
  while (!ended_) {
    context_.run_one();
    Receive();
  }
  EXPECT_FALSE(error_) << error_.message();
  EXPECT_EQ(sent_, bytes_.size());
  EXPECT_EQ(Receive(), bytes_.size());
  EXPECT_GT(asked, 1) << "once for each send";
}

TEST_F(PermittedSocketTest, WithoutAPermitNothingIsSent) {
  socket_.Permit([] { return false; });
  Write();
  EXPECT_FALSE(ended_) << "an asynchronous call returns before it ends";
  context_.run();
  EXPECT_EQ(error_, asio::error::operation_aborted);
  EXPECT_EQ(Receive(), 0u);
}

TEST_F(PermittedSocketTest, WhatWaitsForRoomInTheKernelIsNotSentOnceThePermitIsOver) {
  bool may = true;
  socket_.Permit([&may] { return may; });
  Write();
  while (context_.poll() > 0) continue;
  ASSERT_FALSE(ended_) << "the kernel is full";
  may = false;
  const std::size_t taken = Receive();
  EXPECT_GT(taken, 0u);
  context_.run();
  EXPECT_EQ(error_, asio::error::operation_aborted);
  EXPECT_LT(sent_, bytes_.size());
  EXPECT_TRUE(test::Eventually([this] { return Receive() == sent_; }));
}

TEST_F(PermittedSocketTest, WithNobodyToAskEverythingIsSent) {
  bytes_ = "x";
  Write();
  context_.run();
  EXPECT_FALSE(error_);
  EXPECT_EQ(sent_, 1u);
}

}  // namespace
}  // namespace muster::k8s
