// PMI-2: after a first line as in PMI-1, messages of six digits of length and fields between
// semicolons. PMI-1: lines of fields between blanks.
#include "clients/steps/agent/pmi2_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdio>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr std::size_t kMostPmiMessage = 1 << 20;
constexpr std::size_t kMostValues = 1'000'000;

std::string Field(const PmiFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace

PmiFields ParsePmi2(std::string_view text) {
  PmiFields out;
  std::string part;
  const auto take = [&] {
    const auto sign = part.find('=');
    if (sign != std::string::npos) out.emplace_back(part.substr(0, sign), part.substr(sign + 1));
    part.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ';') {
      part += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ';') {
      part += text[i++];
    } else {
      take();
    }
  }
  if (!part.empty()) take();
  return out;
}

std::string WritePmi2(const PmiFields& fields) {
  std::string body;
  for (const auto& [key, value] : fields) {
    body += key + '=';
    for (const char c : value) body += c == ';' ? std::string(";;") : std::string(1, c);
    body += ';';
  }
  char length[16];
  std::snprintf(length, sizeof(length), "%6zu", body.size());
  return length + body;
}

PmiFields ParsePmi1(std::string_view line) {
  PmiFields out;
  while (!line.empty()) {
    const auto sign = line.find('=');
    if (sign == std::string_view::npos) break;
    const std::string key(line.substr(0, sign));
    line.remove_prefix(sign + 1);
    const auto end = key == "value" ? std::string_view::npos : line.find(' ');
    out.emplace_back(key, line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return out;
}

Pmi2Server::Pmi2Server(EventLoop* loop, Pmi2Step step, std::function<void(const KvsFence&)> fence,
                       std::function<void()> abort)
    : loop_(loop), step_(std::move(step)), fence_(std::move(fence)), abort_(std::move(abort)) {
  values_["PMI_process_mapping"] = step_.mapping;
}

Pmi2Server::~Pmi2Server() {
  for (const auto& peer : peers_) Close(peer.get());
}

Descriptor Pmi2Server::AddTask(std::int32_t rank) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  auto peer = std::make_unique<Peer>();
  peer->rank = rank;
  peer->socket.reset(ends[0]);
  Peer* raw = peer.get();
  peers_.push_back(std::move(peer));
  loop_->Watch(ends[0], [this, raw] { Readable(raw); });
  return Descriptor(ends[1]);
}

void Pmi2Server::Close(Peer* peer) {
  if (!peer->socket) return;
  loop_->Forget(peer->socket.get());
  peer->socket.reset();
}

// A task that does not read its answers is dropped.
void Pmi2Server::Send(Peer* peer, const std::string& text) {
  if (!peer->socket) return;
  const ssize_t sent =
      ::send(peer->socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(text.size())) Close(peer);
}

void Pmi2Server::Readable(Peer* peer) {
  char buffer[16 << 10];
  const ssize_t got = ::recv(peer->socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return Close(peer);
  peer->in.append(buffer, static_cast<std::size_t>(got));
  while (peer->socket && TakeMessage(peer)) {
  }
  if (peer->in.size() > kMostPmiMessage) Close(peer);
}

// One message of the input, if there is a whole one.
bool Pmi2Server::TakeMessage(Peer* peer) {
  if (peer->version == 2) {
    if (peer->in.size() < 6) return false;
    std::string digits = peer->in.substr(0, 6);
    digits.erase(0, digits.find_first_not_of(' '));
    const auto length = WholeNumber(digits);
    if (!length) return Close(peer), false;
    const auto size = static_cast<std::size_t>(*length);
    if (peer->in.size() < 6 + size) return false;
    const PmiFields fields = ParsePmi2(std::string_view(peer->in).substr(6, size));
    peer->in.erase(0, 6 + size);
    Answer2(peer, fields);
    return true;
  }
  const auto end = peer->in.find('\n');
  if (end == std::string::npos) return false;
  const PmiFields fields = ParsePmi1(std::string_view(peer->in).substr(0, end));
  peer->in.erase(0, end + 1);
  Answer1(peer, fields);
  return true;
}

const std::string* Pmi2Server::Find(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? nullptr : &at->second;
}

void Pmi2Server::Answer1(Peer* peer, const PmiFields& fields) {
  const std::string command = Field(fields, "cmd");
  const std::string size = std::to_string(step_.size);
  if (command == "init") {
    const bool second = Field(fields, "pmi_version") == "2";
    peer->version = second ? 2 : 1;
    return Send(peer, std::string("cmd=response_to_init pmi_version=") + (second ? "2" : "1") +
                          " pmi_subversion=" + (second ? "0" : "1") + " rc=0\n");
  }
  if (command == "get_maxes")
    return Send(peer, "cmd=maxes kvsname_max=256 keylen_max=256 vallen_max=16384\n");
  if (command == "get_appnum") return Send(peer, "cmd=appnum appnum=0\n");
  if (command == "get_my_kvsname")
    return Send(peer,
                "cmd=my_kvsname kvsname=" + step_.job + "." + std::to_string(step_.step) + "\n");
  if (command == "get_universe_size") return Send(peer, "cmd=universe_size size=" + size + "\n");
  if (command == "get_ranks2hosts") return Send(peer, "cmd=put_ranks2hosts 0 0 \n");
  if (command == "put") {
    if (values_.size() > kMostValues) return Close(peer);
    const std::string key = Field(fields, "key");
    values_[key] = Field(fields, "value");
    unsent_.push_back(key);
    unsent_.push_back(values_[key]);
    return Send(peer, "cmd=put_result rc=0 msg=success\n");
  }
  if (command == "get") {
    const std::string* value = Find(Field(fields, "key"));
    return Send(peer, value != nullptr ? "cmd=get_result rc=0 msg=success value=" + *value + "\n"
                                       : std::string("cmd=get_result rc=-1 msg=key_not_found "
                                                     "value=unknown\n"));
  }
  if (command == "barrier_in") return EnterFence(peer);
  if (command == "finalize") return Send(peer, "cmd=finalize_ack\n");
  if (command == "abort") return abort_();
  Send(peer, "cmd=" + command + " rc=-1 msg=not_supported\n");
}

void Pmi2Server::Reply2(Peer* peer, const std::string& command, PmiFields fields) {
  PmiFields all{{"cmd", command + "-response"}};
  if (!peer->thread.empty()) all.emplace_back("thrid", peer->thread);
  all.insert(all.end(), fields.begin(), fields.end());
  Send(peer, WritePmi2(all));
}

// Attributes of the job and of the node; false if the command is another one.
bool Pmi2Server::AnswerAttribute(Peer* peer, const std::string& command, const std::string& key,
                                 const std::string& wait) {
  if (command == "info-getjobattr") {
    const std::string size = std::to_string(step_.size);
    const std::string* value = key == "universeSize" ? &size : Find(key);
    Reply2(peer, command,
           value == nullptr ? PmiFields{{"found", "FALSE"}, {"rc", "0"}}
                            : PmiFields{{"found", "TRUE"}, {"value", *value}, {"rc", "0"}});
    return true;
  }
  if (command != "info-getnodeattr") return false;
  const auto at = node_values_.find(key);
  if (at == node_values_.end() && wait == "TRUE") {
    peer->wanted = key;
    return true;
  }
  Reply2(peer, command,
         at == node_values_.end()
             ? PmiFields{{"found", "FALSE"}, {"rc", "0"}}
             : PmiFields{{"found", "TRUE"}, {"value", at->second}, {"rc", "0"}});
  return true;
}

void Pmi2Server::Answer2(Peer* peer, const PmiFields& fields) {
  const std::string command = Field(fields, "cmd");
  const std::string key = Field(fields, "key");
  const std::string value = Field(fields, "value");
  peer->thread = Field(fields, "thrid");
  if (AnswerAttribute(peer, command, key, Field(fields, "wait"))) return;
  if (values_.size() + node_values_.size() > kMostValues) return Close(peer);
  if (command == "fullinit") {
    Reply2(peer, command,
           {{"pmi-version", "2"},
            {"pmi-subversion", "0"},
            {"rank", std::to_string(peer->rank)},
            {"size", std::to_string(step_.size)},
            {"appnum", "0"},
            {"debugged", "FALSE"},
            {"pmiverbose", "FALSE"},
            {"rc", "0"}});
  } else if (command == "job-getid") {
    Reply2(peer, command, {{"jobid", step_.job + "." + std::to_string(step_.step)}, {"rc", "0"}});
  } else if (command == "info-putnodeattr") {
    node_values_[key] = value;
    Reply2(peer, command, {{"rc", "0"}});
    for (const auto& other : peers_) {
      if (other->wanted != key) continue;
      other->wanted.clear();
      Reply2(other.get(), "info-getnodeattr", {{"found", "TRUE"}, {"value", value}, {"rc", "0"}});
    }
  } else if (command == "kvs-put") {
    values_[key] = value;
    unsent_.push_back(key);
    unsent_.push_back(value);
    Reply2(peer, command, {{"rc", "0"}});
  } else if (command == "kvs-get") {
    const std::string* found = Find(key);
    Reply2(peer, command,
           found == nullptr ? PmiFields{{"found", "FALSE"}, {"rc", "0"}}
                            : PmiFields{{"found", "TRUE"}, {"value", *found}, {"rc", "0"}});
  } else if (command == "kvs-fence") {
    EnterFence(peer);
  } else if (command == "finalize") {
    Reply2(peer, command, {{"rc", "0"}});
  } else if (command == "abort") {
    abort_();
  } else {
    Reply2(peer, command, {{"rc", "-1"}, {"errmsg", "not supported: " + command}});
  }
}

void Pmi2Server::EnterFence(Peer* peer) {
  if (peer->waits) return;
  peer->waits = true;
  if (++waiting_ < step_.ranks.size()) return;
  fence_({step_.step, step_.part, std::exchange(unsent_, {})});
}

void Pmi2Server::Fenced(const std::vector<std::string>& pairs) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) values_[pairs[i]] = pairs[i + 1];
  waiting_ = 0;
  for (const auto& peer : peers_) {
    if (!std::exchange(peer->waits, false)) continue;
    if (peer->version == 1) {
      Send(peer.get(), "cmd=barrier_out\n");
    } else {
      Reply2(peer.get(), "kvs-fence", {{"rc", "0"}});
    }
  }
}

}  // namespace muster::steps
