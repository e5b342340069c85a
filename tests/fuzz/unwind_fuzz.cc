// Any bytes as the file of sampled code (.eh_frame) and as a copied stack.
// Input: two bytes of the program counter, two of the number of words on the
// stack, two for each word, the file. A word below 0x8000 is a place in the
// code, another one an address on the stack.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/code/stack_unwinder.h"
#include "base/code/user_registers.h"
#include "tests/fuzz/input_file.h"

namespace {

using countrace::base::CodePlace;
using countrace::base::StackUnwinder;
using countrace::base::UnwindFile;

constexpr std::int32_t kPid = 1;
constexpr std::uint32_t kUnknown = 0, kFile = 1;
constexpr std::uint64_t kCode = 0x5000'0000'0000, kCodeBytes = 0x8000;
constexpr std::uint64_t kStack = 0x7000'0000'0000;

class OneFile final : public countrace::base::CodeMap {
 public:
  explicit OneFile(const std::string& path) : path_(path) {}
  CodePlace Find(std::int32_t, std::uint64_t address) override {
    if (address - kCode < kCodeBytes) return {kFile, address - kCode};
    return {kUnknown, address};
  }
  std::uint32_t unknown() const override { return kUnknown; }
  bool Open(std::int32_t, std::uint32_t file, UnwindFile& out) override {
    return file == kFile && out.Take(path_, "");
  }
  bool OpenOwn(UnwindFile& out) override {
    return out.Take("/proc/self/exe", "");
  }

 private:
  const std::string& path_;
};

// Removes a number of two bytes from the front; 0 at the end.
std::uint64_t TakeNumber(std::span<const std::uint8_t>& input) {
  if (input.size() < 2) return 0;
  const std::uint64_t number = input[0] | std::uint64_t{input[1]} << 8;
  input = input.subspan(2);
  return number;
}

std::uint64_t ToAddress(std::uint64_t word) {
  return word < kCodeBytes ? kCode + word : kStack + (word - kCodeBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static countrace::fuzz::InputFile file;
  std::span<const std::uint8_t> input(data, size);
  const std::uint64_t counter = ToAddress(TakeNumber(input));
  std::vector<std::uint64_t> stack(TakeNumber(input) % 2048);
  for (std::uint64_t& word : stack) word = ToAddress(TakeNumber(input));
  // In the kernel's order: the stack pointer and the program counter are those
  // of UserRegisters.
  std::vector<std::uint64_t> registers(
      static_cast<std::size_t>(
          __builtin_popcountll(countrace::base::UserRegisterMask())),
      kStack);
  for (std::uint64_t& value : registers) {
    value = counter;
    if (countrace::base::ToUserRegisters(registers).program_counter ==
        counter) {
      break;
    }
    value = kStack;
  }
  OneFile map(file.Write(input));
  StackUnwinder unwinder(map);
  const auto first = unwinder.Unwind(
      kPid, {registers, std::as_bytes(std::span(stack)), false});
  if (first.frames.empty() ||
      first.frames.size() > StackUnwinder::kMostFrames) {
    std::abort();
  }
  if (first.frames.front() != map.Find(kPid, counter)) std::abort();
  // What no code is mapped at is no caller.
  if (std::any_of(first.frames.begin() + 1, first.frames.end(),
                  [](const CodePlace& place) { return place.file != kFile; })) {
    std::abort();
  }
  // With what it has kept, the same.
  const auto& again = unwinder.Unwind(
      kPid, {registers, std::as_bytes(std::span(stack)), false});
  if (again.frames != first.frames || again.end != first.end) std::abort();
  return 0;
}
