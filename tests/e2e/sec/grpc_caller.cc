// muster-grpc-caller TARGET METHOD...: calls each method once with an empty message, without
// credentials or with the token of MUSTER_TOKEN, and prints "METHOD CODE". With --follow after the
// target the one call is kept open, and its code is printed when it ends.
//
// muster-grpc-caller --list prints every method of muster.v1's descriptors. TARGET --ask reads
// lines "TOKEN METHOD MESSAGE..." with tabs between, TOKEN "-" for none and messages in JSON, and
// prints "CODE ANSWER" for each, with a tab: the answer in JSON, or the error's text. Of a stream
// of answers it takes the first; a stream without any is 4 after kSilence.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "muster/v1/clusters.pb.h"
#include "muster/v1/jobs.pb.h"
#include "muster/v1/queues.pb.h"
#include "muster/v1/quota.pb.h"

namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

constexpr std::chrono::seconds kSilence(2), kOneCall(30), kFollowed(120);

// True if the next step of the call has come about.
bool Came(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue->Next(&tag, &ok) && ok;
}

struct Ask {
  std::string method, token;
  std::vector<std::string> messages;  // on the wire
  std::chrono::seconds patience = kOneCall;
  bool follow = false;  // says so for each message
  bool first = false;   // ends the call after the first answer
};
struct Told {
  grpc::Status status;
  std::string answer;  // the last one, on the wire
  bool any = false;
};

Told Call(const std::shared_ptr<grpc::Channel>& channel, const Ask& ask) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + ask.patience);
  if (!ask.token.empty()) context.AddMetadata("authorization", "Bearer " + ask.token);
  grpc::CompletionQueue queue;
  Told told;
  const auto call = stub.PrepareCall(&context, ask.method, &queue);
  call->StartCall(nullptr);
  bool more = Came(&queue);
  for (std::size_t i = 0; more && i < ask.messages.size(); ++i) {
    const grpc::Slice slice(ask.messages[i]);
    const grpc::ByteBuffer message(&slice, 1);
    const bool last = i + 1 == ask.messages.size();
    last ? call->WriteLast(message, {}, nullptr) : call->Write(message, nullptr);
    more = Came(&queue) || last;
  }
  while (more) {
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    more = Came(&queue);
    if (!more) break;
    grpc::Slice whole;
    if (answer.DumpToSingleSlice(&whole).ok())
      told.answer.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    told.any = true;
    if (ask.follow) std::printf("message\n"), std::fflush(stdout);
    if (ask.first) context.TryCancel();
  }
  call->Finish(&told.status, nullptr);
  Came(&queue);
  return told;
}

std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> out;
  for (const FileDescriptor* file :
       {muster::v1::Job::descriptor()->file(), muster::v1::QueueObject::descriptor()->file(),
        muster::v1::Cluster::descriptor()->file(), muster::v1::Quota::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m)
        out.push_back(file->service(s)->method(m));
    }
  }
  return out;
}

std::string PathOf(const MethodDescriptor& method) {
  return method.service()->full_name() + "/" + method.name();
}

// The line's answer; exits with 2 if the line is wrong.
void Answer(const std::shared_ptr<grpc::Channel>& channel, const std::vector<std::string>& words) {
  const MethodDescriptor* method = nullptr;
  for (const MethodDescriptor* one : Methods()) {
    if (words.size() > 2 && PathOf(*one) == words[1]) method = one;
  }
  if (method == nullptr) std::exit(2);
  google::protobuf::DynamicMessageFactory factory;
  Ask ask{"/" + words[1], words[0] == "-" ? "" : words[0], {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::unique_ptr<google::protobuf::Message> message(
        factory.GetPrototype(method->input_type())->New());
    if (!google::protobuf::util::JsonStringToMessage(words[i], message.get()).ok()) std::exit(2);
    ask.messages.push_back(message->SerializeAsString());
  }
  ask.first = method->server_streaming();
  if (ask.first) ask.patience = kSilence;
  const Told told = Call(channel, ask);
  std::string text = told.status.error_message();
  const std::unique_ptr<google::protobuf::Message> answer(
      factory.GetPrototype(method->output_type())->New());
  const bool answered = told.status.ok() || (ask.first && told.any);
  if (answered && answer->ParseFromString(told.answer)) {
    text.clear();
    (void)google::protobuf::util::MessageToJsonString(*answer, &text);
  }
  for (char& c : text) c = c == '\n' || c == '\t' ? ' ' : c;
  std::printf("%d\t%s\n", answered ? 0 : static_cast<int>(told.status.error_code()), text.c_str());
  std::fflush(stdout);
}

std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == '\t') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const MethodDescriptor* method : Methods()) std::printf("%s\n", PathOf(*method).c_str());
    return 0;
  }
  if (argc < 3) return 2;
  const auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
  const std::string mode = argv[2];
  if (mode == "--ask") {
    for (std::string line; std::getline(std::cin, line);) Answer(channel, WordsOf(line));
    return 0;
  }
  const bool follow = mode == "--follow";
  const char* token = std::getenv("MUSTER_TOKEN");
  for (int i = follow ? 3 : 2; i < argc; ++i) {
    const Ask ask{
        argv[i], token == nullptr ? "" : token, {""}, follow ? kFollowed : kOneCall, follow, false};
    std::printf("%s %d\n", argv[i], static_cast<int>(Call(channel, ask).status.error_code()));
    std::fflush(stdout);
  }
  return 0;
}
