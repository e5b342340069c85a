// Frames by the rules in files: of this thread, beside backtrace(3), and with
// damaged files.
#include "base/code/stack_unwinder.h"

#include <elf.h>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/posix/small_file.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/samples/address_spaces.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

#if defined(__x86_64__)

namespace countrace::runtime {
namespace {

using base::StackUnwinder;
using base::UnwoundStack;

// Registers, the stack above, and who called, as the C library says.
struct Taken {
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> stack;
  std::vector<std::uint64_t> callers;
};

// The address behind the highest one of this thread's stack.
std::uint64_t StackEnd(std::uint64_t inside) {
  const std::string maps = *base::ReadSmallFile("/proc/self/maps");
  for (std::size_t at = 0; at < maps.size(); at = maps.find('\n', at) + 1) {
    std::size_t digits = 0;
    const std::uint64_t begin = std::stoull(maps.substr(at, 40), &digits, 16);
    const std::uint64_t end =
        std::stoull(maps.substr(at + digits + 1, 40), nullptr, 16);
    if (begin <= inside && inside < end) return end;
  }
  return inside;
}

// A sanitizer forbids to read what lies between the objects on a stack.
__attribute__((noinline, no_sanitize_address)) void CopyStack(
    std::uint64_t from, std::vector<std::byte>& to) {
  const auto* const bytes = reinterpret_cast<const volatile std::byte*>(from);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = bytes[i];
}

__attribute__((noinline)) int Take(Taken& out) {
  ucontext_t context;
  getcontext(&context);
  const auto& all = context.uc_mcontext.gregs;
  // In the kernel's order of its perf registers.
  for (const int number : {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                           REG_RBP, REG_RSP, REG_RIP, REG_R8, REG_R9, REG_R10,
                           REG_R11, REG_R12, REG_R13, REG_R14, REG_R15}) {
    out.registers.push_back(static_cast<std::uint64_t>(all[number]));
  }
  const auto stack_pointer = static_cast<std::uint64_t>(all[REG_RSP]);
  out.stack.resize(StackEnd(stack_pointer) - stack_pointer);
  CopyStack(stack_pointer, out.stack);
  std::array<void*, 256> frames{};
  const int count = backtrace(frames.data(), frames.size());
  for (int i = 1; i < count; ++i) {  // without the call in here
    out.callers.push_back(
        reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i)]));
  }
  return count;
}

__attribute__((noinline)) int TakeBelow(Taken& out, int depth) {
  std::array<volatile char, 256> room;
  room[static_cast<std::size_t>(depth)] = 1;
  const int count = depth == 0 ? Take(out) : TakeBelow(out, depth - 1);
  return count + room[static_cast<std::size_t>(depth)];
}

__attribute__((noinline)) int Compare(const void* a, const void* b) {
  auto& out = *const_cast<Taken*>(*static_cast<const Taken* const*>(a));
  if (out.callers.empty()) TakeBelow(out, 20);
  return a < b ? -1 : 1;
}

// Below qsort of the C library.
Taken TakeInSort() {
  Taken taken;
  std::array<Taken*, 2> both = {&taken, &taken};
  qsort(both.data(), both.size(), sizeof(both[0]), Compare);
  return taken;
}

// A sanitizer has a backtrace(3) of its own, with one frame less.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("stack unwinder: the frames of this thread are those of backtrace") {
  const Taken taken = TakeInSort();
  REQUIRE(taken.callers.size() > 25);
  CodeFiles files;
  AddressSpaces spaces(files);
  StackUnwinder unwinder(spaces);
  const std::int32_t pid = getpid();
  for (int i = 0; i < 2; ++i) {  // with what it has kept, too
    const UnwoundStack& found =
        unwinder.Unwind(pid, {taken.registers, taken.stack, false});
    CHECK(found.end == UnwoundStack::End::kWhole);
    REQUIRE(found.frames.size() == taken.callers.size() + 1);
    for (std::size_t frame = 0; frame < taken.callers.size(); ++frame) {
      INFO(frame);
      const CodePlace expected = spaces.Find(pid, taken.callers[frame] - 1);
      CHECK(found.frames[frame + 1].file == expected.file);
      CHECK(found.frames[frame + 1].address == expected.address);
    }
  }
}

TEST_CASE("stack unwinder: a shorter copy has the inner frames") {
  const Taken taken = TakeInSort();
  CodeFiles files;
  AddressSpaces spaces(files);
  StackUnwinder unwinder(spaces);
  std::size_t before = 0;
  bool whole = false;
  for (std::size_t bytes = 0; bytes < taken.stack.size(); bytes += 8) {
    const UnwoundStack& found = unwinder.Unwind(
        getpid(), {taken.registers, std::span(taken.stack).first(bytes), true});
    INFO(bytes << " bytes");
    REQUIRE(found.frames.size() >= std::max<std::size_t>(before, 1));
    before = found.frames.size();
    whole |= found.end == UnwoundStack::End::kWhole;
    if (!whole) REQUIRE(found.end == UnwoundStack::End::kTruncated);
    if (whole) REQUIRE(before == taken.callers.size() + 1);
  }
  CHECK(whole);
}

#endif

TEST_CASE("stack unwinder: an address without code is the only frame") {
  Taken taken = TakeInSort();
  taken.registers[8] = 16;  // the program counter
  CodeFiles files;
  AddressSpaces spaces(files);
  StackUnwinder unwinder(spaces);
  const UnwoundStack& found =
      unwinder.Unwind(getpid(), {taken.registers, {}, false});
  REQUIRE(found.frames.size() == 1);
  CHECK(found.frames[0].file == spaces.unknown());
  CHECK(found.end == UnwoundStack::End::kNotUnwound);
}

// The bytes of a section: begin and size.
std::pair<std::size_t, std::size_t> SectionOf(const std::string& elf,
                                              const std::string& name) {
  Elf64_Ehdr head;
  std::memcpy(&head, elf.data(), sizeof(head));
  const auto section = [&](std::size_t number) {
    Elf64_Shdr out;
    std::memcpy(&out, elf.data() + head.e_shoff + number * sizeof(out),
                sizeof(out));
    return out;
  };
  const Elf64_Shdr names = section(head.e_shstrndx);
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (name == elf.data() + names.sh_offset + one.sh_name) {
      return {one.sh_offset, one.sh_size};
    }
  }
  return {0, 0};
}

TEST_CASE("stack unwinder: damaged rules cost frames, nothing else") {
  const Taken taken = TakeInSort();
  // The C library: it is small, and in the middle of the stack.
  CodeFiles real_files;
  AddressSpaces real(real_files);
  std::uint64_t caller_in_libc = 0;
  CodePlace place;
  for (const std::uint64_t caller : taken.callers) {
    place = real.Find(getpid(), caller - 1);
    if (real_files[place.file].path.find("libc.so") != std::string::npos) {
      caller_in_libc = caller;
      break;
    }
  }
  REQUIRE(caller_in_libc != 0);
  std::vector<std::string> messages;
  real.EndIdentities(messages);
  REQUIRE(messages.empty());
  // As if it had been sampled when the call returned: the stack begins behind
  // the return address. (Of the other registers its rules need none.)
  const std::size_t words = taken.stack.size() / 8;
  std::vector<std::uint64_t> values(words);
  std::memcpy(values.data(), taken.stack.data(), words * 8);
  // Below it may lie what backtrace(3) found for an earlier test.
  const auto slot = std::find(values.rbegin(), values.rend(), caller_in_libc);
  REQUIRE(slot != values.rend());
  const auto skipped = static_cast<std::size_t>(values.rend() - slot) * 8;
  const auto stack = std::span(taken.stack).subspan(skipped);
  std::ifstream in(real_files[place.file].path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const test_support::TempDirectory folder(
      test_support::TempDirectory::Place::kMemory);
  const std::string path = folder / "libc.so.6";
  std::vector<std::uint64_t> registers = taken.registers;
  registers[7] += skipped;
  registers[8] = caller_in_libc;
  std::size_t fewer = 0, whole_frames = 0;
  for (unsigned seed = 0; seed < test_support::PropertyRuns(60u); ++seed) {
    std::mt19937 random(seed);
    std::string damaged = whole;
    for (const char* section : {".eh_frame", ".eh_frame_hdr"}) {
      const auto [begin, size] = SectionOf(whole, section);
      REQUIRE(size != 0);
      // The first one is not damaged.
      const std::size_t bytes = seed == 0       ? 0
                                : seed % 3 == 0 ? size
                                                : size / 50;
      for (std::size_t i = 0; i < bytes; ++i) {
        damaged[begin + random() % size] = static_cast<char>(random());
      }
    }
    if (seed % 7 == 1) damaged.resize(random() % damaged.size());
    std::ofstream(path, std::ios::binary) << damaged;
    CodeFiles files;
    AddressSpaces spaces(files);
    StackUnwinder unwinder(spaces);
    spaces.Map(getpid(), caller_in_libc & ~std::uint64_t{4095}, 4096,
               place.address & ~std::uint64_t{4095}, path,
               real_files[place.file].build_id);
    INFO("seed " << seed);
    const UnwoundStack& found =
        unwinder.Unwind(getpid(), {registers, stack, true});
    REQUIRE(!found.frames.empty());
    REQUIRE(found.frames.size() <= StackUnwinder::kMostFrames);
    if (seed == 0) {
      whole_frames = found.frames.size();
      REQUIRE(whole_frames >= 2);
    }
    if (found.frames.size() < whole_frames) ++fewer;
  }
  CHECK(fewer != 0);
}

}  // namespace
}  // namespace countrace::runtime

#endif
