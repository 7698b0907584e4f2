// The server side of PMI-2 for the tasks of one node, and of PMI-1, which libraries speak on the
// same descriptor: ranks, attributes, a key-value space with fences over all nodes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clients/steps/agent/event_loop.h"
#include "clients/steps/messages.h"

namespace muster::steps {

struct Pmi2Step {
  std::int32_t step = 0, part = 0;
  std::string job;
  std::int32_t size = 0;            // ranks of the step
  std::vector<std::int32_t> ranks;  // of this node
  std::string mapping;
};

/// The fields of a message: "cmd=kvs-put;key=a;value=b;" with ';' doubled in values.
using PmiFields = std::vector<std::pair<std::string, std::string>>;
PmiFields ParsePmi2(std::string_view text);
std::string WritePmi2(const PmiFields& fields);
/// The fields of a PMI-1 line: "cmd=put key=a value=b c"; a value reaches to the line's end.
PmiFields ParsePmi1(std::string_view line);

class Pmi2Server {
 public:
  /// `fence` is called when all tasks of this node wait for the others; `abort` when a task asks
  /// for the end of the step.
  Pmi2Server(EventLoop* loop, Pmi2Step step, std::function<void(const KvsFence&)> fence,
             std::function<void()> abort);
  ~Pmi2Server();
  Pmi2Server(const Pmi2Server&) = delete;
  Pmi2Server& operator=(const Pmi2Server&) = delete;

  /// The task's end of its connection.
  Descriptor AddTask(std::int32_t rank);
  /// All nodes have come to the fence; `pairs` is what they have put.
  void Fenced(const std::vector<std::string>& pairs);

 private:
  struct Peer {
    std::int32_t rank = 0;
    Descriptor socket;
    std::string in;
    int version = 0;  // 0 before the first line
    bool waits = false;
    std::string wanted;  // the node attribute that it waits for
    std::string thread;  // of the message being answered
  };
  void Readable(Peer* peer);
  bool TakeMessage(Peer* peer);
  void Answer1(Peer* peer, const PmiFields& fields);
  void Answer2(Peer* peer, const PmiFields& fields);
  bool AnswerAttribute(Peer* peer, const std::string& command, const std::string& key,
                       const std::string& wait);
  void Reply2(Peer* peer, const std::string& command, PmiFields fields);
  void Send(Peer* peer, const std::string& text);
  void Close(Peer* peer);
  void EnterFence(Peer* peer);
  const std::string* Find(const std::string& key) const;

  EventLoop* loop_;
  Pmi2Step step_;
  std::function<void(const KvsFence&)> fence_;
  std::function<void()> abort_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<std::string, std::string> values_, node_values_;
  std::vector<std::string> unsent_;  // pairs put since the last fence
  std::size_t waiting_ = 0;
};

}  // namespace muster::steps
