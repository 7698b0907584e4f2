// FrameMeter: what one HTTP/2 connection has sent, counted frame by frame from both directions'
// bytes, against the budgets of limits.h. It reads frame headers only: nine bytes each; what is in
// a frame is gRPC's business.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace muster::api::front {

/// A budget that refills with time.
class TokenBucket {
 public:
  TokenBucket(double burst, double per_second)
      : burst_(burst), per_second_(per_second), left_(burst) {}
  /// Takes `n`; what is left then, below 0 if it was more than there was.
  double Take(double n, std::int64_t now_ms);
  /// How long until nothing is owed.
  std::int64_t DebtMs(std::int64_t now_ms);

 private:
  void Refill(std::int64_t now_ms);
  double burst_, per_second_, left_;
  std::int64_t at_ms_ = 0;
};

/// Cuts a stream of bytes into frames.
class FrameReader {
 public:
  struct Frame {
    std::uint32_t length = 0;
    std::uint8_t type = 0, flags = 0;
    std::uint32_t stream = 0;
  };
  /// Reads on in `*bytes`; true when a frame's header is complete. Payloads are skipped.
  bool Next(std::string_view* bytes, Frame* frame);
  /// Bytes of the frame that is under way, 0 at a frame's border.
  std::size_t unfinished() const { return unfinished_; }

 private:
  unsigned char header_[9] = {};
  std::size_t have_ = 0;        // of header_
  std::size_t payload_ = 0;     // still to skip
  std::size_t unfinished_ = 0;  // seen of the frame under way
};

class FrameMeter {
 public:
  FrameMeter();
  /// Bytes of the client on their way to the server. False: over a budget, see `why`; nothing of
  /// these bytes may go on.
  bool FromClient(std::string_view bytes, std::int64_t now_ms);
  /// Bytes of the server on their way to the client.
  bool FromServer(std::string_view bytes, std::int64_t now_ms);

  /// A sentence for the client and the log; "" within budget.
  const std::string& why() const { return why_; }
  bool preface_done() const { return preface_ == kPreface.size(); }
  std::size_t open_streams() const { return open_.size(); }
  std::uint32_t last_stream() const { return last_stream_; }
  /// Calls cancelled since the last time this was asked.
  std::size_t TakeResets();
  /// Bytes at the end of what the server sent that are not a whole frame.
  std::size_t server_unfinished() const { return server_.unfinished(); }
  /// A GOAWAY frame: calm down, and why.
  std::string GoAway(std::string_view why) const;

 private:
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bool Refuse(std::string why);
  bool OnClientFrame(const FrameReader::Frame& frame, std::int64_t now_ms);
  bool OnHeaders(const FrameReader::Frame& frame);
  bool OnReset(std::uint32_t stream, std::int64_t now_ms);

  FrameReader client_, server_;
  std::size_t preface_ = 0;  // bytes of it seen
  std::unordered_set<std::uint32_t> open_;
  std::uint32_t last_stream_ = 0;
  std::uint32_t block_stream_ = 0;  // of a header block that goes on; 0: none
  std::size_t block_bytes_ = 0;
  int block_frames_ = 0;
  std::size_t resets_ = 0;
  TokenBucket reset_budget_, settings_budget_, ping_budget_, empty_budget_;
  std::string why_;
};

}  // namespace muster::api::front
