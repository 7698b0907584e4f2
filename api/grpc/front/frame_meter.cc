// Cuts the byte stream of each direction into frames (FrameReader) and charges each frame to a
// budget: RST_STREAM, SETTINGS and unknown types, PING, frames that carry nothing. The size of a
// header block is counted over its HEADERS and CONTINUATION frames. Frames that gRPC bounds by
// itself, such as DATA with content, cost nothing. Open calls are counted by stream id: a client's
// HEADERS opens one, a reset by either side or the server's END_STREAM closes it.
//
// The budgets exist because gRPC 1.51 predates the fixes for HTTP/2's "rapid reset" and
// CONTINUATION floods: a call that the client cancels stays in memory until its handler has run.
#include "api/grpc/front/frame_meter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api::front {
namespace {

// Frame types and flags of RFC 9113, sections 6 and 7.
enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr unsigned char kEnhanceYourCalm = 0xb;
constexpr std::size_t kSettingBytes = 6;

// Appends `value` in network byte order.
void AppendNumber(std::uint32_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out->push_back(static_cast<char>((value >> shift) & 0xff));
}

}  // namespace

void TokenBucket::Refill(std::int64_t now_ms) {
  if (now_ms <= at_ms_) return;
  left_ = std::min(burst_, left_ + static_cast<double>(now_ms - at_ms_) * per_second_ / 1000);
  at_ms_ = now_ms;
}

double TokenBucket::Take(double n, std::int64_t now_ms) {
  Refill(now_ms);
  return left_ -= n;
}

std::int64_t TokenBucket::DebtMs(std::int64_t now_ms) {
  Refill(now_ms);
  return left_ >= 0 ? 0 : static_cast<std::int64_t>(std::ceil(-left_ / per_second_ * 1000));
}

// A header may come in several pieces of the stream; `have_` says how much of it there is.
bool FrameReader::Next(std::string_view* bytes, Frame* frame) {
  const auto skip = [&](std::size_t most) {
    const std::size_t n = std::min(most, bytes->size());
    bytes->remove_prefix(n);
    unfinished_ += n;
    return n;
  };
  for (;;) {
    payload_ -= skip(payload_);
    if (payload_ > 0) return false;
    if (have_ == 0) unfinished_ = 0;
    if (bytes->empty()) return false;
    const std::size_t n = std::min(sizeof header_ - have_, bytes->size());
    std::memcpy(header_ + have_, bytes->data(), n);
    skip(n);
    have_ += n;
    if (have_ < sizeof header_) return false;
    have_ = 0;
    frame->length = static_cast<std::uint32_t>(header_[0] << 16 | header_[1] << 8 | header_[2]);
    frame->type = header_[3];
    frame->flags = header_[4];
    frame->stream = static_cast<std::uint32_t>((header_[5] & 0x7f) << 24 | header_[6] << 16 |
                                               header_[7] << 8 | header_[8]);
    payload_ = frame->length;
    if (payload_ == 0) unfinished_ = 0;
    return true;
  }
}

FrameMeter::FrameMeter()
    : reset_budget_(limits::kStreamResetBurst, limits::kStreamResetsPerS),
      settings_budget_(limits::kSettingsBurst, limits::kSettingsPerS),
      ping_budget_(limits::kPingBurst, limits::kPingsPerS),
      empty_budget_(limits::kEmptyFrameBurst, limits::kEmptyFramesPerS) {}

bool FrameMeter::Refuse(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  return false;
}

// A connection begins with HTTP/2's preface, 24 fixed bytes.
bool FrameMeter::FromClient(std::string_view bytes, std::int64_t now_ms) {
  if (!why_.empty()) return false;
  if (!preface_done()) {
    const std::size_t n = std::min(kPreface.size() - preface_, bytes.size());
    if (bytes.substr(0, n) != kPreface.substr(preface_, n)) return Refuse("this is not HTTP/2");
    preface_ += n;
    bytes.remove_prefix(n);
  }
  FrameReader::Frame frame;
  while (client_.Next(&bytes, &frame)) {
    if (!OnClientFrame(frame, now_ms)) return false;
  }
  return true;
}

bool FrameMeter::OnClientFrame(const FrameReader::Frame& frame, std::int64_t now_ms) {
  if (block_stream_ != 0 && frame.type != kContinuation)
    return Refuse("a block of headers is interrupted");
  switch (frame.type) {
    case kHeaders:
      if (frame.stream > last_stream_) {
        last_stream_ = frame.stream;
        open_.insert(frame.stream);
      }
      block_bytes_ = 0;
      block_frames_ = 0;
      return OnHeaders(frame);
    // Any other type inside a header block was refused above.
    case kContinuation:
      return block_stream_ == frame.stream ? OnHeaders(frame)
                                           : Refuse("headers go on that have not begun");
    case kReset:
      return OnReset(frame.stream, now_ms);
    case kSettings:
      // A SETTINGS frame may have many entries, and each costs the server time: eight entries
      // count like one more frame.
      if ((frame.flags & kAck) != 0 ||
          settings_budget_.Take(1 + static_cast<double>(frame.length / kSettingBytes) / 8,
                                now_ms) >= 0) {
        return true;
      }
      return Refuse("too many SETTINGS");
    case kPing:
      return (frame.flags & kAck) != 0 || ping_budget_.Take(1, now_ms) >= 0 ||
             Refuse("too many pings");
    case kData:
      return frame.length > 0 || (frame.flags & kEndStream) != 0 ||
             empty_budget_.Take(1, now_ms) >= 0 || Refuse("too many empty frames");
    case kPriority:
      return empty_budget_.Take(1, now_ms) >= 0 || Refuse("too many empty frames");
    case kGoAway:
    case kWindowUpdate:
      return true;
    default:
      return settings_budget_.Take(1, now_ms) >= 0 || Refuse("too many unknown frames");
  }
}

// A frame of a header block, HEADERS or CONTINUATION.
bool FrameMeter::OnHeaders(const FrameReader::Frame& frame) {
  block_bytes_ += frame.length;
  ++block_frames_;
  block_stream_ = (frame.flags & kEndHeaders) != 0 ? 0 : frame.stream;
  if (block_bytes_ > limits::kHeaderBlockBytes || block_frames_ > limits::kHeaderBlockFrames)
    return Refuse("a block of headers is too long");
  return true;
}

// A cancelled call, whichever side cancelled it.
bool FrameMeter::OnReset(std::uint32_t stream, std::int64_t now_ms) {
  open_.erase(stream);
  ++resets_;
  return reset_budget_.Take(1, now_ms) >= 0 || Refuse("too many calls were cancelled");
}

bool FrameMeter::FromServer(std::string_view bytes, std::int64_t now_ms) {
  FrameReader::Frame frame;
  while (server_.Next(&bytes, &frame)) {
    const bool ends =
        (frame.type == kHeaders || frame.type == kData) && (frame.flags & kEndStream) != 0;
    if (ends) open_.erase(frame.stream);
    // A client can make the server cancel calls, for example by a protocol error in each; that
    // costs as much as a cancellation by the client.
    if (frame.type == kReset && open_.contains(frame.stream) && !OnReset(frame.stream, now_ms))
      return false;
  }
  return why_.empty();
}

std::size_t FrameMeter::TakeResets() { return std::exchange(resets_, 0); }

// Length, type, flags, stream 0; last stream id, error code, text (RFC 9113, 6.8).
std::string FrameMeter::GoAway(std::string_view why) const {
  std::string out;
  AppendNumber(static_cast<std::uint32_t>(8 + why.size()), 3, &out);
  out.push_back(static_cast<char>(kGoAway));
  out.push_back(0);
  AppendNumber(0, 4, &out);
  AppendNumber(last_stream_, 4, &out);
  AppendNumber(kEnhanceYourCalm, 4, &out);
  return out.append(why);
}

}  // namespace muster::api::front
