// Runs a fuzz target over its kept corpus, and over random changes of it: `fuzz_NAME DIRECTORY
// CHANGES`. The generator is seeded, so every run sees the same inputs. The sanitizers' presets
// run the same program; libFuzzer brings a main of its own.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t bound) { return random() % bound; }

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One to four changes: a byte flipped, a piece removed, repeated, or taken from another input.
std::string Changed(const std::vector<std::string>& corpus, Random& random) {
  std::string text = corpus[Below(random, corpus.size())];
  for (std::size_t left = 1 + Below(random, 4); left > 0; --left) {
    const std::size_t at = Below(random, text.size() + 1);
    const std::size_t length = Below(random, 24) + 1;
    switch (Below(random, 4)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(Below(random, text.size() + 1), length));
        break;
      default: {
        const std::string& other = corpus[Below(random, corpus.size())];
        text.insert(at, other.substr(Below(random, other.size() + 1), length));
      }
    }
  }
  return text;
}

// The input under way: it is kept if the target ends the process.
const std::string* running = nullptr;

void KeepInput(int signal) {
  const int file = ::open("fuzz-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && running != nullptr && ::write(file, running->data(), running->size()) >= 0)
    std::fputs("the input is in fuzz-input\n", stderr);
  std::signal(signal, SIG_DFL);
}

void Run(const std::string& input) {
  running = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DIRECTORY CHANGES\n", argv[0]);
    return 2;
  }
  std::signal(SIGABRT, KeepInput);
  std::signal(SIGSEGV, KeepInput);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    corpus.push_back(ReadAll(path));
    Run(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s has no inputs\n", argv[1]);
    return 1;
  }
  Random random(1);
  const long changes = std::atol(argv[2]);
  for (long i = 0; i < changes; ++i) Run(Changed(corpus, random));
  std::printf("%zu inputs, %ld changed ones\n", corpus.size(), changes);
  return 0;
}
