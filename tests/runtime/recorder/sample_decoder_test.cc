// Records of samples as the kernel lays them out (perf_event_open(2),
// PERF_RECORD_SAMPLE), made by hand: no PMU is needed.
#include "runtime/recorder/samples/sample_decoder.h"

#include <linux/perf_event.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "base/code/user_registers.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"

namespace countrace::runtime {
namespace {

using logformat::SampleData;

constexpr std::uint64_t kIp = 0x401000, kAddress = 0x7fff0010, kPeriod = 97,
                        kCaller = 0x402000, kStackPointer = 0x7ffe8000,
                        kWeight = 321, kSource = 0x68100142;

// The fields of a record, in the order of the manual.
class Fields {
 public:
  Fields& Add(std::uint64_t word) {
    words_.push_back(word);
    return *this;
  }
  Fields& Head(std::uint32_t pid, std::uint32_t tid, std::uint64_t time_ns) {
    Add(kIp);
    const std::uint32_t ids[2] = {pid, tid};
    std::uint64_t word;
    std::memcpy(&word, ids, sizeof(word));
    return Add(word).Add(time_ns);
  }
  Fields& Chain() {
    return Add(3)
        .Add(static_cast<std::uint64_t>(PERF_CONTEXT_USER))
        .Add(kIp)
        .Add(kCaller);
  }
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(words_));
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct Decoded {
  std::uint64_t idle = 0;
  std::size_t entries = 0;
  std::uint64_t period = 0;
  SampleSizes sizes;
  SampleDataWords data{};
  std::vector<std::uint64_t> chain;
};

Decoded Decode(const SampleFormat& format, const Fields& fields) {
  RecordBatch batch;
  Decoded out;
  out.idle = AddSample(format, fields.bytes(), /*own_pid=*/1, batch);
  out.entries = batch.records().size();
  if (out.entries == 0) return out;
  const KernelRecord& entry = batch.records().front();
  const std::uint64_t* const words = batch.Words(entry);
  CHECK(entry.event_id == kSampleEntry);
  CHECK(words[0] == (5ull | 4ull << 24 | 2ull << 48));
  out.period = words[1];
  out.sizes = std::bit_cast<SampleSizes>(words[2]);
  out.chain.assign(words + kSampleHeadWords,
                   words + kSampleHeadWords + out.sizes.chain);
  if (out.sizes.data != 0) {
    std::memcpy(&out.data, words + entry.body_words - kSampleDataWords,
                sizeof(out.data));
  }
  return out;
}

TEST_CASE("sample decoder: an address, and the stack pointer beside it") {
  Fields fields;
  fields.Head(4, 5, 1000).Add(kAddress).Chain();
  if (base::StackPointerMask() != 0) {
    fields.Add(PERF_SAMPLE_REGS_ABI_64).Add(kStackPointer);
  }
  const Decoded sample = Decode(
      {.event = 2, .period = kPeriod, .data = SampleData::kAddress}, fields);
  REQUIRE(sample.entries == 1);
  CHECK(sample.period == kPeriod);
  CHECK(sample.data.address == kAddress);
  CHECK(sample.data.stack_pointer ==
        (base::StackPointerMask() != 0 ? kStackPointer : 0));
  CHECK(sample.data.source == 0);
  CHECK(sample.chain.size() == 3);
  CHECK(sample.chain.back() == kCaller);
}

TEST_CASE("sample decoder: what a PMU says, with periods that the kernel set") {
  for (const bool user : {false, true}) {
    Fields fields;
    fields.Head(4, 5, 1000).Add(kAddress).Add(kPeriod).Chain();
    if (base::StackPointerMask() != 0) {
      // A kernel thread has no registers of user code.
      fields.Add(user ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
      if (user) fields.Add(kStackPointer);
    }
    fields.Add(kWeight).Add(kSource);
    const Decoded sample =
        Decode({.event = 2, .period = 0, .data = SampleData::kSource}, fields);
    REQUIRE(sample.entries == 1);
    CHECK(sample.period == kPeriod);
    CHECK(sample.data.address == kAddress);
    CHECK(sample.data.weight == kWeight);
    CHECK(sample.data.source == kSource);
    CHECK((sample.data.stack_pointer == kStackPointer) ==
          (user && base::StackPointerMask() != 0));
  }
}

TEST_CASE("sample decoder: with a copy of the stack between") {
  if (base::UserRegisterMask() == 0) return;
  Fields fields;
  fields.Head(4, 5, 1000).Add(kAddress).Chain().Add(PERF_SAMPLE_REGS_ABI_64);
  std::vector<std::uint64_t> registers(
      static_cast<std::size_t>(std::popcount(base::UserRegisterMask())));
  for (std::size_t i = 0; i < registers.size(); ++i) registers[i] = 100 + i;
  const std::uint64_t stack_pointer =
      base::ToUserRegisters(registers).stack_pointer;
  for (const std::uint64_t value : registers) fields.Add(value);
  fields.Add(16).Add(0xaa).Add(0xbb).Add(8);  // room, bytes, used
  fields.Add(kWeight).Add(kSource);
  const Decoded sample = Decode({.event = 2,
                                 .period = kPeriod,
                                 .has_stacks = true,
                                 .data = SampleData::kSource},
                                fields);
  REQUIRE(sample.entries == 1);
  CHECK(sample.sizes.registers == registers.size());
  CHECK(sample.sizes.stack_bytes == 8);
  CHECK_FALSE(sample.sizes.stack_is_cut);
  CHECK(sample.data.address == kAddress);
  CHECK(sample.data.stack_pointer == stack_pointer);
  CHECK(sample.data.weight == kWeight);
  CHECK(sample.data.source == kSource);
}

TEST_CASE("sample decoder: samples without data are as they were") {
  const Decoded sample = Decode({.event = 2, .period = kPeriod},
                                Fields().Head(4, 5, 1000).Chain());
  REQUIRE(sample.entries == 1);
  CHECK(sample.sizes.data == 0);
  CHECK(sample.chain.size() == 3);
}

TEST_CASE("sample decoder: the idle CPU, and records that end early") {
  const SampleFormat format{
      .event = 2, .period = kPeriod, .data = SampleData::kAddress};
  const Decoded idle = Decode(format, Fields().Head(0, 0, 1000).Add(0).Chain());
  CHECK(idle.entries == 0);
  CHECK(idle.idle == kPeriod);
  CHECK(Decode(format, Fields().Head(4, 5, 1000)).entries == 0);
  CHECK(Decode(format, Fields().Head(4, 5, 1000).Add(kAddress)).entries == 0);
  CHECK(Decode(format, Fields().Add(kIp)).entries == 0);
}

}  // namespace
}  // namespace countrace::runtime
