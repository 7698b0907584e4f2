// How srun, the step manager and the agents of a job's nodes talk: frames over Unix stream sockets.
// A frame is a length, a type, a number of descriptors that travel with it, and a payload of
// numbers and texts. Everything that is read is bounded: a frame by kMostPayload, a text or a list
// by what is left of its frame.
//
// Not thread-safe; the programs of this room have one thread each.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "clients/steps/descriptor.h"

namespace muster::steps {

inline constexpr std::uint32_t kMostPayload = 16u << 20;
/// The kernel takes 253 in one message.
inline constexpr std::size_t kMostDescriptors = 250;
/// What may wait to be sent over one connection before it counts as broken.
inline constexpr std::size_t kMostUnsent = 64u << 20;

/// Between two tries of a channel that is stalled.
inline constexpr int kStalledMs = 10;

enum class MessageType : std::uint16_t {
  // srun to manager
  kCreateStep = 1,
  kDescriptors,  // belong to the frame of another type that follows
  kLaunch,
  kSignal,
  kAttach,
  // manager to srun
  kPending,
  kCreated,
  kRefused,
  kExited,
  kNotice,
  kTerminal,
  kCopyOutput,
  kEnded,
  // agent to manager
  kNodeHello,
  kNodeExited,
  kNodeDone,
  kKvsFence,
  // manager to agent
  kNodeLaunch,
  kNodeSignal,
  kKvsFenced,
  // agent of an allocation and its client
  kAllocation,
  kRelinquish,
};

/// Appends values to a payload.
class PayloadWriter {
 public:
  template <class T>
  PayloadWriter& operator()(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      Number(static_cast<std::int64_t>(value.size()));
      out_ += value;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      Number(static_cast<std::int64_t>(value));
    } else {
      // Fields() lists the members of a message for writing and reading alike.
      const_cast<T&>(value).Fields(*this);
    }
    return *this;
  }
  template <class T>
  PayloadWriter& operator()(const std::vector<T>& list) {
    Number(static_cast<std::int64_t>(list.size()));
    for (const T& item : list) (*this)(item);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  void Number(std::int64_t value);
  std::string out_;
};

/// Reads a payload. After an error every value is empty and ok() is false.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : rest_(payload) {}
  bool ok() const { return ok_; }
  template <class T>
  PayloadReader& operator()(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      const std::int64_t size = Number();
      if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) return Fail();
      value.assign(rest_.substr(0, static_cast<std::size_t>(size)));
      rest_.remove_prefix(static_cast<std::size_t>(size));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = Number() != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t number = Number();
      value = static_cast<T>(number);
      if (static_cast<std::int64_t>(value) != number) return Fail();
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(Number());
    } else {
      value.Fields(*this);
    }
    return *this;
  }
  template <class T>
  PayloadReader& operator()(std::vector<T>& list) {
    const std::int64_t size = Number();
    // Every item takes at least one byte.
    if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) return Fail();
    list.clear();
    for (std::int64_t i = 0; i < size && ok_; ++i) (*this)(list.emplace_back());
    return *this;
  }

 private:
  std::int64_t Number();
  PayloadReader& Fail();
  std::string_view rest_;
  bool ok_ = true;
};

template <class T>
std::string Encode(const T& message) {
  PayloadWriter writer;
  writer(message);
  return writer.Take();
}

/// nullopt if the payload is malformed.
template <class T>
std::optional<T> Decode(std::string_view payload) {
  T message;
  PayloadReader reader(payload);
  reader(message);
  if (!reader.ok()) return std::nullopt;
  return message;
}

struct Frame {
  MessageType type{};
  std::string payload;
  std::vector<Descriptor> descriptors;  // those of the kDescriptors frames before it, too
};

/// One connection. The socket is made non-blocking; sending queues what the kernel does not take.
class Channel {
 public:
  explicit Channel(Descriptor socket);
  int fd() const { return socket_.get(); }
  bool broken() const { return broken_; }
  bool unsent() const { return !out_.empty(); }
  /// What is unsent waits for others to take descriptors that are on their way (ETOOMANYREFS): that
  /// the socket can be written says nothing, so it is tried again after kStalledMs.
  bool stalled() const { return stalled_ && unsent(); }
  bool wants_write() const { return unsent() && !stalled_; }

  /// Takes the descriptors over. Errors show in broken().
  void Send(MessageType type, std::string payload, std::vector<Descriptor> descriptors = {});
  void Flush();
  /// Reads what has arrived. False once the other side has closed or broken the protocol; frames
  /// that arrived before are still in Next().
  bool Receive();
  std::optional<Frame> Next();

 private:
  struct Unsent {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<Descriptor> descriptors;
  };
  void Queue(MessageType type, std::string_view payload, std::vector<Descriptor> descriptors);
  bool SendOne(Unsent* unsent);

  Descriptor socket_;
  std::deque<Unsent> out_;
  std::size_t unsent_bytes_ = 0;
  std::string in_;
  std::size_t read_ = 0;  // bytes of in_ that Next() has used
  std::deque<Descriptor> arrived_;
  std::vector<Descriptor> held_;  // of kDescriptors frames
  bool broken_ = false, stalled_ = false;
};

/// The user of the other side of a Unix socket may use this program: the same user or root.
bool PeerIsOwner(int socket);

/// Listens at, or connects to, the socket `name` of a directory. Paths may be longer than a socket
/// address allows, so the directory is named by its descriptor. The result is empty on errors,
/// with errno.
Descriptor ListenIn(int directory, const std::string& name);
Descriptor ConnectIn(int directory, const std::string& name);

}  // namespace muster::steps
