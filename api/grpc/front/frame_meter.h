// FrameMeter: counts what one HTTP/2 connection sends, frame by frame and in both directions,
// against the budgets of limits.h. It reads only the nine-byte headers of frames and never their
// payloads.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace muster::api::front {

/// A budget that refills with time: `burst` tokens at most, `per_second` new ones.
class TokenBucket {
 public:
  TokenBucket(double burst, double per_second)
      : burst_(burst), per_second_(per_second), left_(burst) {}
  /// Takes `n` tokens. Returns what is left, which is negative if the bucket had fewer.
  double Take(double n, std::int64_t now_ms);
  /// Milliseconds until the bucket is no longer negative.
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
  /// Reads on in `*bytes` and removes what it has read. True when a frame's header is complete;
  /// payloads are skipped.
  bool Next(std::string_view* bytes, Frame* frame);
  /// Bytes seen so far of a frame that is not complete; 0 between two frames.
  std::size_t unfinished() const { return unfinished_; }

 private:
  unsigned char header_[9] = {};
  std::size_t have_ = 0;     // bytes in header_
  std::size_t payload_ = 0;  // bytes still to skip
  std::size_t unfinished_ = 0;
};

/// The state and the budgets of one connection.
class FrameMeter {
 public:
  FrameMeter();
  /// Counts bytes that the client sends to the server. False if the connection is over a budget
  /// (see `why`); then none of these bytes may be passed on.
  bool FromClient(std::string_view bytes, std::int64_t now_ms);
  /// Counts bytes that the server sends to the client. False as above.
  bool FromServer(std::string_view bytes, std::int64_t now_ms);

  /// The exceeded budget in a sentence for the client and the log; "" within budget.
  const std::string& why() const { return why_; }
  bool preface_done() const { return preface_ == kPreface.size(); }
  std::size_t open_streams() const { return open_.size(); }
  std::uint32_t last_stream() const { return last_stream_; }
  /// The number of calls cancelled since the last call of this function.
  std::size_t TakeResets();
  /// Bytes at the end of what the server sent that are not a complete frame.
  std::size_t server_unfinished() const { return server_.unfinished(); }
  /// A GOAWAY frame with the code ENHANCE_YOUR_CALM and the text `why`.
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
  std::uint32_t block_stream_ = 0;  // stream of an unfinished header block; 0: none
  std::size_t block_bytes_ = 0;
  int block_frames_ = 0;
  std::size_t resets_ = 0;
  TokenBucket reset_budget_, settings_budget_, ping_budget_, empty_budget_;
  std::string why_;
};

}  // namespace muster::api::front
