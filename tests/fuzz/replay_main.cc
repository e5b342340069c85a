// Runs a fuzz entry point over files or directories of inputs, so that each
// build checks again, without libFuzzer, what a fuzzer once found. Each input
// is also run cut short and with single bytes changed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

void Run(const std::vector<char>& bytes) {
  // A copy of exactly this size: a sanitizer detects a read one byte beyond.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> input{std::istreambuf_iterator<char>(file), {}};
  Run(input);
  std::mt19937 random(1);
  for (int round = 0; round < 200 && !input.empty(); ++round) {
    std::vector<char> changed = input;
    changed[random() % changed.size()] = static_cast<char>(random());
    Run(changed);
    changed.resize(random() % changed.size());
    Run(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      Replay(argv[i]);
      ++inputs;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      Replay(entry.path());
      ++inputs;
    }
  }
  std::printf("replayed %d inputs\n", inputs);
  return inputs == 0 ? 1 : 0;  // an empty corpus tests nothing
}
